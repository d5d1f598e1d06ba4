import type { Digest } from "../core/ids.ts";
import { UpheldError } from "../core/errors.ts";
import type { Blob } from "./layout.ts";
import { envelopeMessage, type Signature } from "./dsse.ts";
import { derOfSignature } from "./ecdsa.ts";
import type { EvidenceSealer } from "./statement.ts";

/**
 * Signs with ECDSA over P-256 and SHA-256. Node's crypto, Web Crypto and a signing service all fit.
 * Guarantees a signature over exactly the given bytes.
 */
export interface Signer {
  /** The digest of the public key as SPKI in DER. */
  readonly keyId: Digest;
  /** r and s, 32 bytes each. */
  sign(message: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

/** A public key that the caller trusts. A bundle never brings one. */
export interface VerifyingKey {
  /** The digest of the key as SPKI in DER. */
  readonly keyId: Digest;
  /** Whether r and s, 32 bytes each, are a signature over the message by this key. */
  verify(message: Uint8Array, signature: Uint8Array): boolean | Promise<boolean>;
}

/** Signs the bytes of a statement. Throws "key_invalid" when the signer returns what is no P-256 signature. */
export async function signStatement({ bytes }: Blob, signer: Signer): Promise<Signature> {
  const der = derOfSignature(await signer.sign(envelopeMessage(bytes)));
  if (der === null)
    throw new UpheldError("key_invalid", "the signer returned no ECDSA signature over P-256");
  return { keyId: signer.keyId, der };
}

/** Who seals, for a statement; nothing where neither a side nor a key is given. Whose side is not said is the guest's. */
export function sealerOf(
  by: EvidenceSealer["by"] | undefined,
  signer: Signer | undefined,
): { readonly sealer?: EvidenceSealer } {
  if (by === undefined && signer === undefined) return {};
  const keyId = signer === undefined ? {} : { keyId: signer.keyId };
  return { sealer: { by: by ?? "guest", ...keyId } };
}
