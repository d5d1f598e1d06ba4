import type { ExpectationFile } from "../core/expectation.ts";
import type { Digest } from "../core/ids.ts";
import { BUNDLE_FAULTS, type Fault } from "../evidence/faults.ts";
import type { EvidenceStatement } from "../evidence/statement.ts";
import type { JudgedEvidence } from "../judge/evidence.ts";
import { judgmentFileOf, readJudgments, type StoredJudgments } from "../judge/judgment-file.ts";
import { readRunRecord } from "../evidence/record/read-run.ts";
import { nodeHasher } from "../store/hasher.ts";
import { openBundle } from "../store/open-bundle.ts";
import type { RunRecord } from "../evidence/record/run-record.ts";
import { isSuite, verifyEither, type VerifiedBundle } from "./verified-bundle.ts";

/** A bundle to judge over, with what was judged before. */
export interface BundleToJudge {
  readonly path: string;
  /** Which scenario of the suite run that the bundle holds. */
  readonly scenario?: string;
  readonly evidence: JudgedEvidence;
  readonly record: RunRecord;
  readonly claims: ExpectationFile | undefined;
  readonly judgmentFile: string;
  readonly stored: StoredJudgments;
  /** Judgments in the file that are over another bundle: they bear on nothing here. */
  readonly foreign: number;
}

/** A bundle that is not what was sealed. */
export interface BrokenBundle {
  readonly path: string;
  readonly fault: Fault;
}

/**
 * Reads a bundle for judging; of a suite run, each scenario that has evidence. One that is not intact is an answer; throws
 * "file_unreadable" and "bundle_invalid".
 */
export async function readBundlesToJudge(
  path: string,
  claims: ExpectationFile | undefined,
  signal: AbortSignal,
): Promise<readonly (BundleToJudge | BrokenBundle)[]> {
  await using bundle = await openBundle(path);
  const answer = await verifyEither(bundle, { keys: [], signal });
  if (!answer.ok) return [{ path, fault: answer }];
  const judgmentFile = judgmentFileOf(path);
  const stored = await readJudgments(judgmentFile);
  const digests = new Set(statementsOf(answer).map(({ digest }) => digest));
  const foreign = stored.judgments.filter((each) => !digests.has(each.bundle)).length;
  const read: BundleToJudge[] = [];
  for (const { digest, statement, scenario } of statementsOf(answer)) {
    const record = await readRunRecord(bundle, statement, { hasher: nodeHasher });
    read.push({
      path,
      ...(scenario === undefined ? {} : { scenario }),
      evidence: {
        bundle: digest,
        parts: statement.predicate.parts,
        roots: record.roots,
        observations: [...record.deltas, ...record.observations],
      },
      record,
      claims: claims ?? record.claims,
      judgmentFile,
      stored: {
        judgments: stored.judgments.filter((each) => each.bundle === digest),
        unread: stored.unread,
      },
      foreign,
    });
  }
  return read;
}

interface FoundStatement {
  readonly digest: Digest;
  readonly statement: EvidenceStatement;
  readonly scenario?: string;
}

function statementsOf(answer: VerifiedBundle): readonly FoundStatement[] {
  if (!isSuite(answer)) return [answer];
  return answer.scenarios.map(({ scenario, statement }) => ({
    digest: scenario.statement,
    statement,
    scenario: scenario.scenarioKey,
  }));
}

/** One of each file: what is told of a file of judgments is told once. */
export function ofFiles(bundles: readonly BundleToJudge[]): readonly BundleToJudge[] {
  return [...new Map(bundles.map((each) => [each.path, each])).values()];
}

/** How a bundle is named to a person. */
export function bundleName({ path, scenario }: BundleToJudge): string {
  return scenario === undefined ? path : `${path}  ${scenario}`;
}

/** What is wrong with it, in one line. */
export function brokenText({ fault }: BrokenBundle): string {
  return `not intact: ${fault.reason} at ${fault.at}. ${BUNDLE_FAULTS[fault.reason]}`;
}
