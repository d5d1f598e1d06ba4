import type { Digest } from "../core/ids.ts";
import { fault } from "./faults.ts";
import type { Fault } from "./faults.ts";
import { blobName, INDEX_FILE, type StatementFiles } from "./layout.ts";
import { scenarioReference, SUITE_REFERENCE } from "./reference.ts";
import { BUNDLE_LIMITS } from "./limits.ts";
import { readStatement, type ReadStatement } from "./read-statement.ts";
import type { BundleReader } from "./reader.ts";
import { EvidenceStatement } from "./statement.ts";
import {
  readIndex,
  storedFiles,
  type IndexedStatement,
  type StoredFiles,
  type StoredIndex,
} from "./stored-bundle.ts";
import {
  repeatedScenario,
  sealedScenarios,
  SuiteStatement,
  suiteSubjectsOf,
  type SealedScenario,
} from "./suite-statement.ts";
import { withheldTitles, wrongDigest, type VerifyOptions } from "./verify.ts";
import { wrongFiles, wrongRunSubjects, wrongSubjects } from "./verify-files.ts";
import { checkSignatures, stateOf } from "./verify-signatures.ts";
import type { CheckedSignature, SignatureState } from "./verify-signatures.ts";

/** A scenario with evidence in an intact suite. Its own signatures are not verified: the suite's statement covers its bytes. */
export interface IntactScenario {
  readonly scenario: SealedScenario;
  readonly statement: EvidenceStatement;
  readonly withheld: readonly string[];
}

/** The bundle of a suite run of which every scenario is there. */
export interface IntactSuite {
  readonly ok: true;
  readonly digest: Digest;
  readonly statement: SuiteStatement;
  readonly signature: SignatureState;
  readonly signatures: readonly CheckedSignature[];
  /** Those with evidence, in order. */
  readonly scenarios: readonly IntactScenario[];
}

/** The answer of `verifySuite`. */
export type SuiteVerification = IntactSuite | Fault;

/**
 * Says whether the bundle of a suite run is what its statement says: every scenario that it counts, in its order, and each byte
 * of each. Keys and the expected digest are those of the suite's statement. Bad evidence is an answer, as for `verifyBundle`.
 */
export async function verifySuite(
  reader: BundleReader,
  options: VerifyOptions,
): Promise<SuiteVerification> {
  options.signal?.throwIfAborted();
  const found = await findStatements(reader, options);
  if ("reason" in found) return found;
  const { suite, read, index } = found;
  const wrong =
    (await wrongSuite(found, options)) ?? wrongDigest(suite.blob.digest, options.expectedDigest);
  if (wrong !== null) return wrong;
  const checked = await checkSignatures(suite, options.keys ?? []);
  if ("reason" in checked) return checked;
  return {
    ok: true,
    digest: suite.blob.digest,
    statement: suite.statement,
    signature: stateOf(checked),
    signatures: checked,
    scenarios: sealedScenarios(suite.statement.predicate).flatMap((scenario, at) => {
      const statement = read[at]?.statement;
      if (statement === undefined) return [];
      return [{ scenario, statement, withheld: withheldTitles(statement, index.withheld) }];
    }),
  };
}

interface FoundStatements {
  readonly stored: StoredFiles;
  readonly index: StoredIndex;
  readonly suite: ReadStatement<SuiteStatement>;
  readonly read: readonly ReadScenario[];
}

async function findStatements(
  reader: BundleReader,
  options: VerifyOptions,
): Promise<FoundStatements | Fault> {
  const { hasher, limits = BUNDLE_LIMITS } = options;
  const stored = await storedFiles(reader, limits);
  if ("reason" in stored) return stored;
  const index = await readIndex(stored);
  if ("reason" in index) return index;
  const last = index.statements.at(-1);
  if (!index.isSuite || last === undefined) return fault("kind_unexpected", INDEX_FILE);
  const large = tooLarge(stored, index.statements);
  if (large !== null) return large;
  const suite = await readStatement(stored, last, { schema: SuiteStatement, hasher });
  if ("reason" in suite) return suite;
  const read = await readScenarios(stored, index.statements.slice(0, -1), options);
  return "reason" in read ? read : { stored, index, suite, read };
}

/** What in the bundle is not as the suite's statement says. */
async function wrongSuite(
  { stored, index, suite, read }: FoundStatements,
  options: VerifyOptions,
): Promise<Fault | null> {
  const { statement } = suite;
  const files = { withheld: index.withheld, statements: filesOf(suite, read) };
  return (
    wrongScenarios(statement, read) ??
    wrongSubjects(statement.subject, suiteSubjectsOf(statement.predicate)) ??
    (await wrongScenarioSubjects(read, options)) ??
    (await wrongFiles(stored, files, options))
  );
}

type ReadScenario = ReadStatement<EvidenceStatement>;

/** All statements are in memory together. */
function tooLarge(
  { files, limits }: StoredFiles,
  statements: readonly IndexedStatement[],
): Fault | null {
  let total = 0;
  for (const { digest } of statements) {
    total += files.get(blobName(digest))?.sizeBytes ?? 0;
    if (total > limits.maxJsonBytes) return fault("limit_exceeded", blobName(digest));
  }
  return null;
}

async function readScenarios(
  stored: StoredFiles,
  statements: readonly IndexedStatement[],
  { hasher, signal }: VerifyOptions,
): Promise<readonly ReadScenario[] | Fault> {
  const read: ReadScenario[] = [];
  for (const each of statements) {
    signal?.throwIfAborted();
    const one = await readStatement(stored, each, { schema: EvidenceStatement, hasher });
    if ("reason" in one) return one;
    if (one.statement.predicate.parts.length > stored.limits.maxParts)
      return fault("limit_exceeded", blobName(each.digest));
    read.push(one);
  }
  return read;
}

/** Whether the statements are those that the suite counts, in its order, and no attempt at a scenario has two. */
function wrongScenarios(
  { predicate }: SuiteStatement,
  read: readonly ReadScenario[],
): Fault | null {
  const repeated = repeatedScenario(predicate.scenarios);
  if (repeated !== null) return fault("scenario_ambiguous", `/predicate/scenarios/${repeated}`);
  const sealed = sealedScenarios(predicate);
  const there = new Set(read.map(({ blob }) => blob.digest));
  const missing = sealed.find(({ statement }) => !there.has(statement));
  if (missing !== undefined) return fault("scenario_missing", missing.scenarioKey);
  if (read.length > sealed.length) return fault("scenario_ambiguous", INDEX_FILE);
  const other = sealed.findIndex((scenario, at) => !isOf(scenario, read[at]));
  return other === -1 ? null : fault("scenario_missing", sealed[other]?.scenarioKey ?? "");
}

function isOf(scenario: SealedScenario, read: ReadScenario | undefined): boolean {
  if (read?.blob.digest !== scenario.statement) return false;
  const { run } = read.statement.predicate;
  return (
    run.runId === scenario.runId &&
    run.attemptId === scenario.attemptId &&
    (run.scenarioKey ?? scenario.scenarioKey) === scenario.scenarioKey &&
    (run.scenarioAttempt ?? scenario.scenarioAttempt) === scenario.scenarioAttempt &&
    read.statement.subject[0]?.digest.sha256 === scenario.manifest.slice("sha256:".length)
  );
}

async function wrongScenarioSubjects(
  read: readonly ReadScenario[],
  { hasher }: VerifyOptions,
): Promise<Fault | null> {
  for (const [at, { statement }] of read.entries()) {
    const wrong = await wrongRunSubjects(statement, hasher);
    if (wrong !== null) return fault(wrong.reason, `${scenarioReference(at + 1)} ${wrong.at}`);
  }
  return null;
}

function filesOf(
  suite: ReadStatement<SuiteStatement>,
  read: readonly ReadScenario[],
): readonly StatementFiles[] {
  const runs = read.map(({ blob, statement, signatures }, at) => ({
    reference: scenarioReference(at + 1),
    statement: blob,
    parts: statement.predicate.parts,
    signatures,
  }));
  const own = { reference: SUITE_REFERENCE, statement: suite.blob, parts: undefined };
  return [...runs, { ...own, signatures: suite.signatures }];
}
