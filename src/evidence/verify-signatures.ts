import type { Digest } from "../core/ids.ts";
import { envelopeMessage, type Signature } from "./dsse.ts";
import { rawOfSignature } from "./ecdsa.ts";
import { fault } from "./faults.ts";
import type { Fault } from "./faults.ts";
import type { ReadStatement } from "./read-statement.ts";
import type { VerifyingKey } from "./signer.ts";
import { blobName } from "./layout.ts";
import type { EvidenceSealer } from "./statement.ts";

/**
 * A signature over the statement. `by` is what the signed bytes say of the key that sealed; a key that signed later is a
 * "countersigner", and who that is only its owner knows. `isVerified` is true where the caller trusted the key.
 */
export interface CheckedSignature {
  readonly keyId: Digest;
  readonly by: EvidenceSealer["by"] | "countersigner";
  readonly isVerified: boolean;
}

/** Whether somebody vouches for the bundle: nobody, somebody whose key was not given, or every key that was given. */
export type SignatureState = "absent" | "unchecked" | "verified";

/** Verifies the signatures by the given keys: each must have signed. Faults: signature_missing, signer_unexpected, signature_wrong. */
export async function checkSignatures(
  {
    blob,
    statement,
    signatures,
  }: ReadStatement<{
    readonly predicate: { readonly sealer?: EvidenceSealer | undefined };
  }>,
  keys: readonly VerifyingKey[],
): Promise<readonly CheckedSignature[] | Fault> {
  const [first] = keys;
  if (first !== undefined && signatures.length === 0)
    return fault("signature_missing", blobName(blob.digest));
  const message = envelopeMessage(blob.bytes);
  for (const key of keys) {
    const signature = signatures.find(({ keyId }) => keyId === key.keyId);
    if (signature === undefined) return fault("signer_unexpected", key.keyId);
    if (!(await isBy(key, signature, message))) return fault("signature_wrong", key.keyId);
  }
  const { sealer } = statement.predicate;
  return signatures.map(({ keyId }) => ({
    keyId,
    by: sealer !== undefined && sealer.keyId === keyId ? sealer.by : "countersigner",
    isVerified: keys.some((key) => key.keyId === keyId),
  }));
}

/** What the signatures come to. */
export function stateOf(signatures: readonly CheckedSignature[]): SignatureState {
  if (signatures.length === 0) return "absent";
  return signatures.some(({ isVerified }) => isVerified) ? "verified" : "unchecked";
}

async function isBy(key: VerifyingKey, { der }: Signature, message: Uint8Array): Promise<boolean> {
  const raw = rawOfSignature(der);
  return raw !== null && (await key.verify(message, raw));
}
