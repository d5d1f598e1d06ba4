import { canonicalJson, canonicalJsonBytes } from "../core/canonical-json.ts";
import type { Digest } from "../core/ids.ts";
import { base64Of } from "./base64.ts";
import { STATEMENT_MEDIA_TYPE } from "./statement.ts";

/** A signature over a statement: by which key it says it is, and r and s in their one DER form. */
export interface Signature {
  readonly keyId: Digest;
  readonly der: Uint8Array;
}

export const SIGSTORE_MEDIA_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json";
export const ENVELOPES_MEDIA_TYPE = "application/x-ndjson";

/** What is signed for a statement: DSSE's pre-authentication encoding of its type and bytes. */
export function envelopeMessage(statement: Uint8Array): Uint8Array {
  const head = new TextEncoder().encode(
    `DSSEv1 ${STATEMENT_MEDIA_TYPE.length} ${STATEMENT_MEDIA_TYPE} ${statement.length} `,
  );
  const message = new Uint8Array(head.length + statement.length);
  message.set(head);
  message.set(statement, head.length);
  return message;
}

function envelopeOf(payload: string, { keyId, der }: Signature): object {
  return {
    payload,
    payloadType: STATEMENT_MEDIA_TYPE,
    signatures: [{ keyid: keyId, sig: base64Of(der) }],
  };
}

/** A signature as a Sigstore bundle v0.3: a hint at the key, never the key. */
export function sigstoreBytes(statement: Uint8Array, signature: Signature): Uint8Array {
  return canonicalJsonBytes({
    mediaType: SIGSTORE_MEDIA_TYPE,
    verificationMaterial: { publicKey: { hint: signature.keyId } },
    dsseEnvelope: envelopeOf(base64Of(statement), signature),
  });
}

/** The signatures as DSSE envelopes, one a line. */
export function envelopeLines(statement: Uint8Array, signatures: readonly Signature[]): Uint8Array {
  const payload = base64Of(statement);
  const lines = signatures.map((each) => `${canonicalJson(envelopeOf(payload, each))}\n`);
  return new TextEncoder().encode(lines.join(""));
}
