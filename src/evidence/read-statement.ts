import { z } from "zod";
import { Digest } from "../core/ids.ts";
import { equalBytes } from "./bytes.ts";
import { bytesOfBase64 } from "./base64.ts";
import { sigstoreBytes, type Signature } from "./dsse.ts";
import { rawOfSignature } from "./ecdsa.ts";
import { fault } from "./faults.ts";
import type { Fault } from "./faults.ts";
import type { Hasher } from "./hasher.ts";
import { blobName, type Blob } from "./layout.ts";
import { parsedJson, readBlob, type IndexedStatement, type StoredFiles } from "./stored-bundle.ts";

/** A statement, its bytes, and the signatures over them, of which none is verified yet. */
export interface ReadStatement<T> {
  readonly blob: Blob;
  readonly statement: T;
  readonly signatures: readonly Signature[];
}

/**
 * Reads a statement and its signatures. Faults: file_missing, limit_exceeded, blob_changed, statement_invalid and
 * signature_invalid.
 */
export async function readStatement<T>(
  stored: StoredFiles,
  { digest, signatures: named }: IndexedStatement,
  { schema, hasher }: { readonly schema: z.ZodType<T>; readonly hasher: Hasher },
): Promise<ReadStatement<T> | Fault> {
  const { maxStatementBytes } = stored.limits;
  const blob = await readBlob(stored, digest, { hasher, maxBytes: maxStatementBytes });
  if ("reason" in blob) return blob;
  const statement = parseStatement(schema, blob);
  if ("reason" in statement) return statement;
  const signatures: Signature[] = [];
  for (const each of named) {
    // A signature holds the statement once more, as base64.
    const file = await readBlob(stored, each, { hasher, maxBytes: 2 * maxStatementBytes });
    if ("reason" in file) return file;
    const signature = signatureIn(file, blob.bytes);
    if ("reason" in signature) return signature;
    const before = signatures.at(-1);
    if (before !== undefined && before.keyId >= signature.keyId)
      return fault("signature_invalid", `${blobName(each)} order`);
    signatures.push(signature);
  }
  return { blob, statement: statement.value, signatures };
}

function parseStatement<T>(
  schema: z.ZodType<T>,
  { digest, bytes }: Blob,
): { readonly value: T } | Fault {
  const statement = schema.safeParse(parsedJson(bytes));
  if (statement.success) return { value: statement.data };
  const place = statement.error.issues[0]?.path.join("/") ?? "";
  return fault("statement_invalid", place === "" ? blobName(digest) : `/${place}`);
}

/** What has to be read of a signature's file; everything else follows from it. */
const SigstoreFile = z.object({
  dsseEnvelope: z.object({
    signatures: z.tuple([z.object({ keyid: Digest, sig: z.string() })]),
  }),
});

/** Reads a signature. Its file must be the one that we would write for it: another type, payload or key in it does not pass. */
function signatureIn({ digest, bytes }: Blob, statement: Uint8Array): Signature | Fault {
  const name = blobName(digest);
  const parsed = SigstoreFile.safeParse(parsedJson(bytes));
  if (!parsed.success) {
    const place = parsed.error.issues[0]?.path.join("/") ?? "";
    return fault("signature_invalid", `${name} /${place}`);
  }
  const [{ keyid: keyId, sig }] = parsed.data.dsseEnvelope.signatures;
  const der = bytesOfBase64(sig);
  if (der === null || rawOfSignature(der) === null)
    return fault("signature_invalid", `${name} /dsseEnvelope/signatures/0/sig`);
  const signature = { keyId, der };
  return equalBytes(sigstoreBytes(statement, signature), bytes)
    ? signature
    : fault("signature_invalid", name);
}
