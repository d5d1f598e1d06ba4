import { z } from "zod";
import { isUpheldError } from "../core/errors.ts";
import { Digest } from "../core/ids.ts";
import { parseStrictJsonBytes } from "../core/strict-json.ts";
import { equalBytes } from "./bytes.ts";
import { fault } from "./faults.ts";
import type { Fault } from "./faults.ts";
import type { Hasher } from "./hasher.ts";
import { blobName, blobOf, digestOfBlobName, INDEX_FILE, layoutOf } from "./layout.ts";
import type { Blob, Layout } from "./layout.ts";
import { BUNDLE_LIMITS } from "./limits.ts";
import type { BundleLimits } from "./limits.ts";
import type { BundleReader, ListedFile } from "./reader.ts";
import { EvidenceStatement, STATEMENT_MEDIA_TYPE, storedParts, subjectsOf } from "./statement.ts";

/** An intact bundle. `signature` says that nobody vouches for it: it is what `digest` names, and no more. */
export interface IntactBundle {
  readonly ok: true;
  readonly digest: Digest;
  readonly statement: EvidenceStatement;
  readonly signature: "absent";
}

/** The answer of `verifyBundle`. */
export type Verification = IntactBundle | Fault;

export interface VerifyOptions {
  readonly hasher: Hasher;
  /** A digest recorded elsewhere, which the bundle must have. Without it, only changes to parts of a bundle show. */
  readonly expectedDigest?: Digest;
  readonly limits?: BundleLimits;
  readonly signal?: AbortSignal;
}

/**
 * Says whether a bundle is what its statement says, byte for byte. Bad evidence is an answer, never an exception.
 * Rejects when the machine cannot read (the reader's error), and with the signal's reason when aborted.
 */
export async function verifyBundle(
  reader: BundleReader,
  options: VerifyOptions,
): Promise<Verification> {
  options.signal?.throwIfAborted();
  const listing = await reader.list();
  if (!listing.ok) return listing;
  const stored: StoredFiles = {
    reader,
    files: new Map(listing.files.map((file) => [file.name, file])),
    limits: options.limits ?? BUNDLE_LIMITS,
  };
  const found = await findStatement(stored, options.hasher);
  if ("reason" in found) return found;
  const { blob, statement } = found;
  const wrong =
    (await firstFault(stored, found, options)) ?? wrongDigest(blob, options.expectedDigest);
  return wrong ?? { ok: true, digest: blob.digest, statement, signature: "absent" };
}

/** What in the bundle is not as the statement says. */
async function firstFault(
  stored: StoredFiles,
  { blob, statement }: FoundStatement,
  { hasher, signal }: VerifyOptions,
): Promise<Fault | null> {
  const layout = await layoutOf(statement.predicate.parts, blob, hasher);
  return (
    wrongSubjects(statement, layout) ??
    wrongNames(stored, layout) ??
    wrongSizes(stored, statement) ??
    (await wrongDerived(stored, layout)) ??
    (await wrongBlob(stored, layout, { hasher, signal }))
  );
}

function wrongDigest({ digest }: Blob, expected: Digest | undefined): Fault | null {
  return expected === undefined || expected === digest ? null : fault("digest_unexpected", digest);
}

interface StoredFiles {
  readonly reader: BundleReader;
  readonly files: ReadonlyMap<string, ListedFile>;
  readonly limits: BundleLimits;
}

interface FoundStatement {
  readonly blob: Blob;
  readonly statement: EvidenceStatement;
}

async function findStatement(stored: StoredFiles, hasher: Hasher): Promise<FoundStatement | Fault> {
  const digest = await statementDigest(stored);
  if (typeof digest !== "string") return digest;
  const name = blobName(digest);
  const bytes = await readSmall(stored, name);
  if ("reason" in bytes) return bytes;
  const blob = await blobOf(bytes, hasher);
  if (blob.digest !== digest) return fault("blob_changed", name);
  const statement = parseStatement(bytes, name);
  if ("reason" in statement) return statement;
  return statement.predicate.parts.length > stored.limits.maxParts
    ? fault("limit_exceeded", name)
    : { blob, statement };
}

const StatementIndex = z.object({
  manifests: z.array(z.object({ mediaType: z.string(), digest: z.string() })),
});

/** Which blob the index says is the statement. That the index says nothing else is compared later. */
async function statementDigest(stored: StoredFiles): Promise<Digest | Fault> {
  const bytes = await readSmall(stored, INDEX_FILE);
  if ("reason" in bytes) return bytes;
  const index = StatementIndex.safeParse(parsed(bytes));
  if (!index.success) return fault("index_invalid", INDEX_FILE);
  const [entry, ...more] = index.data.manifests.filter(
    ({ mediaType }) => mediaType === STATEMENT_MEDIA_TYPE,
  );
  if (entry === undefined) return fault("statement_missing", INDEX_FILE);
  if (more.length > 0) return fault("statement_ambiguous", INDEX_FILE);
  const digest = Digest.safeParse(entry.digest);
  return digest.success ? digest.data : fault("index_invalid", INDEX_FILE);
}

function parseStatement(bytes: Uint8Array, name: string): EvidenceStatement | Fault {
  const statement = EvidenceStatement.safeParse(parsed(bytes));
  if (statement.success) return statement.data;
  const place = statement.error.issues[0]?.path.join("/") ?? "";
  return fault("statement_invalid", place === "" ? name : `/${place}`);
}

/** The JSON of a file, or undefined when it is none: no schema accepts that. */
function parsed(bytes: Uint8Array): unknown {
  try {
    return parseStrictJsonBytes(bytes);
  } catch (error) {
    if (isUpheldError(error)) return undefined;
    throw error;
  }
}

function wrongSubjects(statement: EvidenceStatement, layout: Layout): Fault | null {
  const { subject, predicate } = statement;
  const wanted = subjectsOf(layout.manifest, predicate.parts);
  const at = wanted.findIndex(({ name, digest }, index) => {
    const is = subject[index];
    return is?.name !== name || is.digest.sha256 !== digest.sha256;
  });
  if (at !== -1) return fault("subjects_wrong", `/subject/${at}`);
  return subject.length > wanted.length
    ? fault("subjects_wrong", `/subject/${wanted.length}`)
    : null;
}

function wrongNames({ files }: StoredFiles, layout: Layout): Fault | null {
  const missing = layout.names.find((name) => !files.has(name));
  if (missing !== undefined) return fault("file_missing", missing);
  const known = new Set(layout.names);
  const extra = [...files.keys()].find((name) => !known.has(name));
  return extra === undefined ? null : fault("file_unexpected", extra);
}

function wrongSizes({ files, limits }: StoredFiles, statement: EvidenceStatement): Fault | null {
  for (const part of storedParts(statement.predicate.parts)) {
    const file = files.get(blobName(part.digest));
    if (part.state === "withheld" || file === undefined) continue;
    if (file.sizeBytes > limits.maxBlobBytes) return fault("limit_exceeded", part.title);
    if (file.sizeBytes !== part.sizeBytes) return fault("size_wrong", part.title);
  }
  return null;
}

/** Compares the files that follow from the statement. */
async function wrongDerived({ reader, files }: StoredFiles, layout: Layout): Promise<Fault | null> {
  for (const { name, bytes } of layout.derived) {
    const file = files.get(name);
    const isSame = file?.sizeBytes === bytes.length && equalBytes(await reader.read(file), bytes);
    if (!isSame) return fault(name === INDEX_FILE ? "index_invalid" : "derived_changed", name);
  }
  return null;
}

/** Digests the parts, each blob once. */
async function wrongBlob(
  { reader, files }: StoredFiles,
  layout: Layout,
  { hasher, signal }: { readonly hasher: Hasher; readonly signal: AbortSignal | undefined },
): Promise<Fault | null> {
  const compared = new Set(layout.derived.map(({ name }) => name));
  for (const file of files.values()) {
    if (compared.has(file.name)) continue;
    signal?.throwIfAborted();
    const digest = await hasher.sha256(await reader.read(file));
    if (digest !== digestOfBlobName(file.name)) return fault("blob_changed", file.name);
  }
  return null;
}

/** Reads the index or the statement. */
async function readSmall(
  { reader, files, limits }: StoredFiles,
  name: string,
): Promise<Uint8Array | Fault> {
  const file = files.get(name);
  if (file === undefined) return fault("file_missing", name);
  return file.sizeBytes > limits.maxStatementBytes
    ? fault("limit_exceeded", name)
    : reader.read(file);
}
