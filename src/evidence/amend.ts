import { UpheldError } from "../core/errors.ts";
import type { Digest } from "../core/ids.ts";
import type { BundleFile } from "./bundle.ts";
import { fault, type Fault } from "./faults.ts";
import type { Hasher } from "./hasher.ts";
import { INDEX_FILE, layoutOf, type StatementFiles } from "./layout.ts";
import { twinTitle } from "./record/part-titles.ts";
import { RUN_REFERENCE, scenarioReference, SUITE_REFERENCE } from "./reference.ts";
import { BUNDLE_LIMITS } from "./limits.ts";
import { readStatement } from "./read-statement.ts";
import type { BundleReader } from "./reader.ts";
import { signStatement, type Signer } from "./signer.ts";
import { EvidenceStatement, storedParts } from "./statement.ts";
import {
  readIndex,
  storedFiles,
  type IndexedStatement,
  type StoredFiles,
  type StoredIndex,
} from "./stored-bundle.ts";
import { SuiteStatement } from "./suite-statement.ts";
import { wrongDigest } from "./verify.ts";

/** Bytes of a file that are copied at once. */
const CHUNK_BYTES = 1024 * 1024;

/** A file of a stored bundle as it is, read when it is written. */
export interface StoredFile {
  readonly name: string;
  readonly sizeBytes: number;
  pieces(): AsyncIterable<Uint8Array>;
}

/** A bundle that says the same as a stored one, to be written: the digest of its statement stays. */
export interface AmendedBundle {
  readonly digest: Digest;
  /** In canonical order. */
  readonly files: readonly (BundleFile | StoredFile)[];
}

/**
 * Adds a signature to an intact bundle of a run or a suite; one by the same key is replaced. Verify first, and give the digest
 * that was verified as `expectedDigest`: a file can be changed in between. Throws "bundle_invalid" where it cannot be read as a
 * bundle, or is another.
 */
export async function countersign(
  reader: BundleReader,
  signer: Signer,
  { hasher, expectedDigest }: { readonly hasher: Hasher; readonly expectedDigest?: Digest },
): Promise<AmendedBundle> {
  const read = await readFiles(reader, hasher);
  const last = read.statements.at(-1);
  if (last === undefined) throw unreadable(fault("statement_missing", INDEX_FILE));
  const wrong = wrongDigest(last.statement.digest, expectedDigest);
  if (wrong !== null) throw unreadable(wrong);
  const signature = await signStatement(last.statement, signer);
  const others = last.signatures.filter(({ keyId }) => keyId !== signature.keyId);
  const signatures = [...others, signature].toSorted((left, right) =>
    left.keyId < right.keyId ? -1 : 1,
  );
  const statements = [...read.statements.slice(0, -1), { ...last, signatures }];
  return amended({ ...read, statements }, hasher);
}

/**
 * Leaves parts out of an intact bundle of a run: the statement and its signatures stay, and the index names what is withheld.
 * Another part with the same bytes is withheld with it, and so is the one that holds the same rows (`contents/` and `world/` of a
 * root). Throws "argument_invalid" for a title that names no part with bytes.
 */
export async function withholdParts(
  reader: BundleReader,
  titles: readonly string[],
  { hasher }: { readonly hasher: Hasher },
): Promise<AmendedBundle & { readonly withheld: readonly string[] }> {
  const read = await readFiles(reader, hasher);
  const parts = storedParts(read.statements.flatMap((each) => each.parts ?? [])).filter(
    ({ state, digest }) => state !== "withheld" && !read.index.withheld.has(digest),
  );
  for (const title of titles) {
    const named = parts.filter((part) => part.title === title);
    if (named.length === 0)
      throw new UpheldError(
        "argument_invalid",
        `${title} is no part that can be withheld (there are: ${parts.map((part) => part.title).join(", ")})`,
      );
  }
  const all = new Set(titles.flatMap((title) => [title, twinTitle(title) ?? title]));
  const gone = parts.filter(({ title }) => all.has(title));
  const withheld = new Set([...read.index.withheld, ...gone.map(({ digest }) => digest)]);
  const copy = await amended({ ...read, index: { ...read.index, withheld } }, hasher);
  return { ...copy, withheld: [...new Set(gone.map(({ title }) => title))] };
}

interface ReadFiles {
  readonly stored: StoredFiles;
  readonly index: StoredIndex;
  readonly statements: readonly StatementFiles[];
}

async function amended(
  { stored, index, statements }: ReadFiles,
  hasher: Hasher,
): Promise<AmendedBundle> {
  const { derived, names } = await layoutOf(statements, index.withheld, hasher);
  const own = new Map(derived.map((file) => [file.name, file]));
  const files = names.map((name) => own.get(name) ?? storedFile(stored, name));
  const digest = statements.at(-1)?.statement.digest;
  if (digest === undefined) throw unreadable(fault("statement_missing", INDEX_FILE));
  return { digest, files };
}

function storedFile({ reader, files }: StoredFiles, name: string): StoredFile {
  const file = files.get(name);
  if (file === undefined) throw unreadable(fault("file_missing", name));
  return {
    ...file,
    async *pieces() {
      for (let at = 0; at < file.sizeBytes; at += CHUNK_BYTES)
        yield await reader.read(file, at, CHUNK_BYTES);
    },
  };
}

async function readFiles(reader: BundleReader, hasher: Hasher): Promise<ReadFiles> {
  const stored = await storedFiles(reader, BUNDLE_LIMITS);
  if ("reason" in stored) throw unreadable(stored);
  const index = await readIndex(stored);
  if ("reason" in index) throw unreadable(index);
  const statements: StatementFiles[] = [];
  for (const [at, each] of index.statements.entries()) {
    const isLast = at === index.statements.length - 1;
    const read =
      index.isSuite && isLast
        ? await readSuite(stored, each, hasher)
        : await readRun(stored, each, hasher);
    if ("reason" in read) throw unreadable(read);
    const reference = index.isSuite ? scenarioReference(at + 1) : RUN_REFERENCE;
    statements.push({ ...read, reference: read.parts === undefined ? SUITE_REFERENCE : reference });
  }
  return { stored, index, statements };
}

type ReadOne = Omit<StatementFiles, "reference">;

async function readRun(
  stored: StoredFiles,
  indexed: IndexedStatement,
  hasher: Hasher,
): Promise<ReadOne | Fault> {
  const read = await readStatement(stored, indexed, { schema: EvidenceStatement, hasher });
  if ("reason" in read) return read;
  const { blob, statement, signatures } = read;
  return { statement: blob, parts: statement.predicate.parts, signatures };
}

async function readSuite(
  stored: StoredFiles,
  indexed: IndexedStatement,
  hasher: Hasher,
): Promise<ReadOne | Fault> {
  const read = await readStatement(stored, indexed, { schema: SuiteStatement, hasher });
  if ("reason" in read) return read;
  return { statement: read.blob, parts: undefined, signatures: read.signatures };
}

function unreadable({ reason, at }: Fault): UpheldError {
  return new UpheldError(
    "bundle_invalid",
    `it is no bundle that can be amended: ${reason} at ${at}`,
  );
}
