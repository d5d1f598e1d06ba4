import type { ExpectationFile } from "../core/expectation.ts";
import { BUNDLE_FAULTS, type Fault } from "../evidence/faults.ts";
import { verifyBundle } from "../evidence/verify.ts";
import type { JudgedEvidence } from "../judge/evidence.ts";
import { judgmentFileOf, readJudgments, type StoredJudgments } from "../judge/judgment-file.ts";
import { readRunRecord } from "../evidence/record/read-run.ts";
import { nodeHasher } from "../store/hasher.ts";
import { openBundle } from "../store/open-bundle.ts";
import type { RunRecord } from "../evidence/record/run-record.ts";

/** A bundle to judge over, with what was judged before. */
export interface BundleToJudge {
  readonly path: string;
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

/** Reads a bundle for judging. One that is not intact is an answer; throws "file_unreadable" and "bundle_invalid". */
export async function readBundleToJudge(
  path: string,
  claims: ExpectationFile | undefined,
  signal: AbortSignal,
): Promise<BundleToJudge | BrokenBundle> {
  await using bundle = await openBundle(path);
  const answer = await verifyBundle(bundle, { hasher: nodeHasher, signal });
  if (!answer.ok) return { path, fault: answer };
  const record = await readRunRecord(bundle, answer.statement, { hasher: nodeHasher });
  const judgmentFile = judgmentFileOf(path);
  const { judgments, unread } = await readJudgments(judgmentFile);
  const own = judgments.filter(({ bundle: digest }) => digest === answer.digest);
  return {
    path,
    evidence: {
      bundle: answer.digest,
      parts: answer.statement.predicate.parts,
      roots: record.roots,
      observations: [...record.deltas, ...record.observations],
    },
    record,
    claims: claims ?? record.claims,
    judgmentFile,
    stored: { judgments: own, unread },
    foreign: judgments.length - own.length,
  };
}

/** What is wrong with it, in one line. */
export function brokenText({ fault }: BrokenBundle): string {
  return `not intact: ${fault.reason} at ${fault.at}. ${BUNDLE_FAULTS[fault.reason]}`;
}
