import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { digestOf } from "../core/fingerprint.ts";
import { Digest } from "../core/ids.ts";

/**
 * Digests bytes. Node's own, Web Crypto's and a plain JavaScript one all fit: a caller awaits the answer.
 * Guarantees the SHA-256 of exactly the given bytes, and does not keep or change them.
 */
export interface Hasher {
  sha256(bytes: Uint8Array): Digest | Promise<Digest>;
  /** Digests bytes that come in pieces. Without it, a blob of any size is held in memory. */
  begin?(): RunningDigest;
  /** Up to this size a blob is given to `sha256` whole, also where there is `begin`. Default 1 MiB. */
  readonly wholeBytes?: number;
}

/** A digest that is being taken. */
export interface RunningDigest {
  update(bytes: Uint8Array): void;
  digest(): Digest;
}

/** SHA-256 in plain JavaScript: runs everywhere, at a tenth of the speed of a native one. */
export const plainHasher: Hasher = { sha256: digestOf, begin: plainDigest };

function plainDigest(): RunningDigest {
  const running = sha256.create();
  return {
    update: (bytes) => void running.update(bytes),
    digest: () => Digest.parse(`sha256:${bytesToHex(running.digest())}`),
  };
}

/** What is used of Web Crypto. */
export interface WebDigest {
  digest(algorithm: "SHA-256", bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer>;
}

/** Bytes of a blob that Web Crypto digests: it takes a blob only whole. */
const WEB_WHOLE_BYTES = 64 * 1024 * 1024;

/** SHA-256 by Web Crypto (`crypto.subtle`) up to 64 MiB a blob, beyond that in plain JavaScript and in pieces. */
export function webHasher(subtle: WebDigest): Hasher {
  return {
    sha256: async (bytes) => {
      const sum = await subtle.digest("SHA-256", Uint8Array.from(bytes));
      return Digest.parse(`sha256:${bytesToHex(new Uint8Array(sum))}`);
    },
    begin: plainDigest,
    wholeBytes: WEB_WHOLE_BYTES,
  };
}
