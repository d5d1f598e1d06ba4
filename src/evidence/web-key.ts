import { UpheldError } from "../core/errors.ts";
import { bytesOfBase64 } from "./base64.ts";
import type { Hasher } from "./hasher.ts";
import type { VerifyingKey } from "./signer.ts";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256" } as const;
const SIGNATURE = { name: "ECDSA", hash: "SHA-256" } as const;

/** What is used of Web Crypto to verify. `Key` is its own kind of key. */
export interface WebVerify<Key> {
  importKey(
    format: "spki",
    key: Uint8Array<ArrayBuffer>,
    algorithm: typeof ALGORITHM,
    extractable: boolean,
    uses: ["verify"],
  ): Promise<Key>;
  verify(
    algorithm: typeof SIGNATURE,
    key: Key,
    signature: Uint8Array<ArrayBuffer>,
    message: Uint8Array<ArrayBuffer>,
  ): Promise<boolean>;
}

/** A public key in PEM, by Web Crypto (`crypto.subtle`). Throws "key_invalid" for anything but a P-256 key as SPKI. */
export async function webKey<Key>(
  pem: string,
  { subtle, hasher }: { readonly subtle: WebVerify<Key>; readonly hasher: Hasher },
): Promise<VerifyingKey> {
  const spki = spkiOfPem(pem);
  if (spki === null) throw invalid();
  const key = await subtle.importKey("spki", spki, ALGORITHM, false, ["verify"]).catch((cause) => {
    throw invalid(cause);
  });
  return {
    keyId: await hasher.sha256(spki),
    verify: (message, signature) =>
      subtle.verify(SIGNATURE, key, Uint8Array.from(signature), Uint8Array.from(message)),
  };
}

function spkiOfPem(pem: string): Uint8Array<ArrayBuffer> | null {
  const found =
    /^\s*-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----\s*$/.exec(pem);
  const bytes = bytesOfBase64((found?.[1] ?? "").replaceAll(/\s/g, ""));
  return bytes === null || bytes.length === 0 ? null : Uint8Array.from(bytes);
}

function invalid(cause?: unknown): UpheldError {
  return new UpheldError("key_invalid", "expected a public key of P-256 as PEM", { cause });
}
