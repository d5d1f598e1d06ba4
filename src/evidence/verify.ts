import type { Digest } from "../core/ids.ts";
import { fault } from "./faults.ts";
import type { Fault } from "./faults.ts";
import type { Hasher } from "./hasher.ts";
import { blobName, INDEX_FILE } from "./layout.ts";
import { RUN_REFERENCE } from "./reference.ts";
import { BUNDLE_LIMITS } from "./limits.ts";
import type { BundleLimits } from "./limits.ts";
import { readStatement, type ReadStatement } from "./read-statement.ts";
import type { BundleReader } from "./reader.ts";
import type { VerifyingKey } from "./signer.ts";
import { EvidenceStatement, storedParts } from "./statement.ts";
import { readIndex, storedFiles, type StoredFiles, type StoredIndex } from "./stored-bundle.ts";
import { wrongFiles, wrongRunSubjects } from "./verify-files.ts";
import { checkSignatures, stateOf } from "./verify-signatures.ts";
import type { CheckedSignature, SignatureState } from "./verify-signatures.ts";

/** An intact bundle. `signature` "absent" or "unchecked" says that nobody vouches for it: it is what `digest` names, and no more. */
export interface IntactBundle {
  readonly ok: true;
  readonly digest: Digest;
  readonly statement: EvidenceStatement;
  readonly signature: SignatureState;
  readonly signatures: readonly CheckedSignature[];
  /** The titles of parts that were sealed with their bytes and are withheld from this copy. */
  readonly withheld: readonly string[];
}

/** The answer of `verifyBundle`. */
export type Verification = IntactBundle | Fault;

export interface VerifyOptions {
  readonly hasher: Hasher;
  /** A digest recorded elsewhere, which the bundle must have. Without it or a key, only changes to parts of a bundle show. */
  readonly expectedDigest?: Digest;
  /** Keys that the caller trusts; each must have signed. A key inside a bundle is never believed. */
  readonly keys?: readonly VerifyingKey[];
  readonly limits?: BundleLimits;
  readonly signal?: AbortSignal;
}

/**
 * Says whether the bundle of a run is what its statement says, byte for byte, and what the given keys signed. Bad evidence is an
 * answer, never an exception. Rejects when the machine cannot read (the reader's error), and with the signal's reason when aborted.
 */
export async function verifyBundle(
  reader: BundleReader,
  options: VerifyOptions,
): Promise<Verification> {
  options.signal?.throwIfAborted();
  const found = await findStatement(reader, options);
  if ("reason" in found) return found;
  const { read, index } = found;
  const wrong =
    (await wrongRun(found, options)) ?? wrongDigest(read.blob.digest, options.expectedDigest);
  if (wrong !== null) return wrong;
  const checked = await checkSignatures(read, options.keys ?? []);
  if ("reason" in checked) return checked;
  return {
    ok: true,
    digest: read.blob.digest,
    statement: read.statement,
    signature: stateOf(checked),
    signatures: checked,
    withheld: withheldTitles(read.statement, index.withheld),
  };
}

interface FoundStatement {
  readonly stored: StoredFiles;
  readonly index: StoredIndex;
  readonly read: ReadStatement<EvidenceStatement>;
}

async function findStatement(
  reader: BundleReader,
  { hasher, limits = BUNDLE_LIMITS }: VerifyOptions,
): Promise<FoundStatement | Fault> {
  const stored = await storedFiles(reader, limits);
  if ("reason" in stored) return stored;
  const index = await readIndex(stored);
  if ("reason" in index) return index;
  if (index.isSuite) return fault("kind_unexpected", INDEX_FILE);
  const [only, ...more] = index.statements;
  if (only === undefined || more.length > 0) return fault("statement_ambiguous", INDEX_FILE);
  const read = await readStatement(stored, only, { schema: EvidenceStatement, hasher });
  return "reason" in read ? read : { stored, index, read };
}

/** What in the bundle is not as the statement says. */
async function wrongRun(
  { stored, index, read: { blob, statement, signatures } }: FoundStatement,
  { hasher, signal }: VerifyOptions,
): Promise<Fault | null> {
  const { parts } = statement.predicate;
  if (parts.length > stored.limits.maxParts) return fault("limit_exceeded", blobName(blob.digest));
  const own = { reference: RUN_REFERENCE, statement: blob, parts, signatures };
  const files = { statements: [own], withheld: index.withheld };
  return (
    (await wrongRunSubjects(statement, hasher)) ??
    (await wrongFiles(stored, files, { hasher, signal }))
  );
}

/** Whether it is another bundle than the one that was asked for. */
export function wrongDigest(digest: Digest, expected: Digest | undefined): Fault | null {
  return expected === undefined || expected === digest ? null : fault("digest_unexpected", digest);
}

/** The parts of a statement whose bytes a copy lacks. */
export function withheldTitles(
  { predicate }: EvidenceStatement,
  withheld: ReadonlySet<Digest>,
): readonly string[] {
  return storedParts(predicate.parts)
    .filter(({ state, digest }) => state !== "withheld" && withheld.has(digest))
    .map(({ title }) => title);
}
