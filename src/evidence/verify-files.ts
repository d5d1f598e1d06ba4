import type { Digest } from "../core/ids.ts";
import { equalBytes } from "./bytes.ts";
import { fault } from "./faults.ts";
import type { Fault } from "./faults.ts";
import type { Hasher } from "./hasher.ts";
import {
  blobName,
  digestOfBlobName,
  INDEX_FILE,
  layoutOf,
  manifestBytes,
  type Layout,
  type StatementFiles,
} from "./layout.ts";
import type { ListedFile } from "./reader.ts";
import { storedParts, subjectsOf } from "./statement.ts";
import type { EvidenceStatement, Subject } from "./statement.ts";
import type { StoredFiles } from "./stored-bundle.ts";

/** Bytes of a blob that are read at once. */
const CHUNK_BYTES = 1024 * 1024;

export interface DigestOptions {
  readonly hasher: Hasher;
  readonly signal?: AbortSignal | undefined;
}

/** What in the bundle is not as its statements say: another file, size or byte anywhere. */
export async function wrongFiles(
  stored: StoredFiles,
  {
    statements,
    withheld,
  }: {
    readonly statements: readonly StatementFiles[];
    readonly withheld: ReadonlySet<Digest>;
  },
  options: DigestOptions,
): Promise<Fault | null> {
  const layout = await layoutOf(statements, withheld, options.hasher);
  return (
    wrongWithheld(statements, withheld, layout) ??
    wrongNames(stored, layout) ??
    wrongSizes(stored, statements) ??
    (await wrongDerived(stored, layout)) ??
    (await wrongBlob(stored, layout, options))
  );
}

/** Whether the subjects are the manifest and every part, in order. */
export async function wrongRunSubjects(
  { subject, predicate }: EvidenceStatement,
  hasher: Hasher,
): Promise<Fault | null> {
  const manifest = await hasher.sha256(manifestBytes(predicate.parts));
  return wrongSubjects(subject, subjectsOf(manifest, predicate.parts));
}

/** The first place at which subjects are not those that are wanted. */
export function wrongSubjects(
  subject: readonly Subject[],
  wanted: readonly Subject[],
): Fault | null {
  const at = wanted.findIndex(({ name, digest }, index) => {
    const is = subject[index];
    return is?.name !== name || is.digest.sha256 !== digest.sha256;
  });
  if (at !== -1) return fault("subjects_wrong", `/subject/${at}`);
  return subject.length > wanted.length
    ? fault("subjects_wrong", `/subject/${wanted.length}`)
    : null;
}

/** Only parts can be withheld, and only those that are part of nothing else. */
function wrongWithheld(
  statements: readonly StatementFiles[],
  withheld: ReadonlySet<Digest>,
  { derived }: Layout,
): Fault | null {
  if (withheld.size === 0) return null;
  const parts = new Set(
    statements
      .flatMap((each) => storedParts(each.parts ?? []))
      .filter(({ state }) => state !== "withheld")
      .map(({ digest }) => digest),
  );
  const own = new Set(derived.map(({ name }) => name));
  for (const digest of withheld)
    if (!parts.has(digest) || own.has(blobName(digest))) return fault("index_invalid", INDEX_FILE);
  return null;
}

function wrongNames({ files }: StoredFiles, layout: Layout): Fault | null {
  const missing = layout.names.find((name) => !files.has(name));
  if (missing !== undefined) return fault("file_missing", missing);
  const known = new Set(layout.names);
  const extra = [...files.keys()].find((name) => !known.has(name));
  return extra === undefined ? null : fault("file_unexpected", extra);
}

function wrongSizes(
  { files, limits }: StoredFiles,
  statements: readonly StatementFiles[],
): Fault | null {
  for (const part of statements.flatMap((each) => storedParts(each.parts ?? []))) {
    const file = files.get(blobName(part.digest));
    if (part.state === "withheld" || file === undefined) continue;
    if (file.sizeBytes > limits.maxBlobBytes) return fault("limit_exceeded", part.title);
    if (file.sizeBytes !== part.sizeBytes) return fault("size_wrong", part.title);
  }
  return null;
}

/** Compares the files that follow from the statements. */
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
  stored: StoredFiles,
  layout: Layout,
  options: DigestOptions,
): Promise<Fault | null> {
  const compared = new Set(layout.derived.map(({ name }) => name));
  for (const file of stored.files.values()) {
    if (compared.has(file.name)) continue;
    options.signal?.throwIfAborted();
    const digest = await digestOfFile(stored, file, options);
    if (digest !== digestOfBlobName(file.name)) return fault("blob_changed", file.name);
  }
  return null;
}

async function digestOfFile(
  { reader }: StoredFiles,
  file: ListedFile,
  { hasher, signal }: DigestOptions,
): Promise<Digest> {
  const running =
    file.sizeBytes > (hasher.wholeBytes ?? CHUNK_BYTES) ? hasher.begin?.() : undefined;
  if (running === undefined) return hasher.sha256(await reader.read(file));
  let next = reader.read(file, 0, CHUNK_BYTES);
  for (let at = CHUNK_BYTES; ; at += CHUNK_BYTES) {
    const piece = await next;
    signal?.throwIfAborted();
    if (at >= file.sizeBytes || piece.length < CHUNK_BYTES) {
      running.update(piece);
      return running.digest();
    }
    // The next piece is read while this one is digested.
    next = reader.read(file, at, CHUNK_BYTES);
    running.update(piece);
  }
}
