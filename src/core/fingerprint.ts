import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { canonicalJsonBytes } from "./canonical-json.ts";
import { Digest } from "./ids.ts";

/** SHA-256 over the canonical JSON of a small value. Throws "json_invalid" where the value has none. */
export function fingerprint(value: unknown): Digest {
  return digestOf(canonicalJsonBytes(value));
}

/** SHA-256 of bytes, synchronous and the same everywhere. For bulk work a source hashes natively. */
export function digestOf(bytes: Uint8Array): Digest {
  return Digest.parse(`sha256:${bytesToHex(sha256(bytes))}`);
}
