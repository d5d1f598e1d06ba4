import { UpheldError } from "../core/errors.ts";
import { gap, type Gap } from "../core/gap.ts";
import { JudgmentId } from "../core/ids.ts";
import type { Timestamp } from "../core/timestamp.ts";
import { undetermined, type Verdict } from "../core/verdict.ts";
import { answeredVerdict } from "./answered-verdict.ts";
import { ask, type Asked, type AskingMeans } from "./ask.ts";
import { citationsOf } from "./citation.ts";
import { claimDigest, type JudgedClaim } from "./claim.ts";
import type { JudgedEvidence } from "./evidence.ts";
import type { Judge } from "./judge.ts";
import {
  judgeDigest,
  type Asking,
  type JudgeIdentity,
  type Judgment,
  type JudgmentOutcome,
} from "./judgment.ts";
import { questionBytes } from "./prompt.ts";
import { planJudging, type AskedClaim, type Question } from "./plan.ts";

/** What may be spent. It is asked before each question, and told what the question took. */
export interface JudgingBudget {
  /** True where there is room for a question of so many bytes; the room is then taken. */
  take(promptBytes: number): boolean;
  /** What was really used in place of what was taken. */
  settle(promptBytes: number, asking: Asking): void;
}

export interface JudgingOptions extends AskingMeans {
  readonly now: () => Timestamp;
  /** Judgments that are there already: what this judge has answered is not asked again. */
  readonly earlier?: readonly Judgment[] | undefined;
  readonly budget?: JudgingBudget | undefined;
  /** Keeps a judgment as soon as it is made. */
  readonly record: (judgments: readonly Judgment[]) => Promise<void>;
}

/** A claim and what this judge came to, now or earlier; without a judgment where the budget was spent before it was asked. */
export interface ClaimJudgment {
  readonly claim: JudgedClaim;
  readonly judgment?: Judgment | undefined;
  readonly isNew: boolean;
}

/**
 * Judges claims over one bundle, in their order. What a judge fails at is a judgment that says so, with no verdict; it is asked
 * again the next time. Rejects with the signal's reason: what was recorded until then stays.
 */
export async function judgeBundle(
  evidence: JudgedEvidence,
  claims: readonly JudgedClaim[],
  judge: Judge,
  options: JudgingOptions,
): Promise<readonly ClaimJudgment[]> {
  const earlier = earlierOf(evidence, judge.identity, options.earlier ?? []);
  const open = claims.filter((claim) => !earlier.has(claimDigest(claim)));
  const { questions, insufficient } = planJudging(evidence, open, options.limits);
  const make = recordMaker(evidence, judge.identity, options);
  const unasked = insufficient.map(({ claim, gaps }) =>
    make({ claim, outcome: { kind: "not_asked" }, verdict: undetermined(gaps) }),
  );
  if (unasked.length > 0) await options.record(unasked);
  const asked = await Promise.all(
    questions.map((question) => judgeQuestion(judge, question, { options, make })),
  );
  const made = new Map([...unasked, ...asked.flat()].map((each) => [each.claim.digest, each]));
  return claims.map((claim) => {
    const digest = claimDigest(claim);
    const old = earlier.get(digest);
    return { claim, judgment: old ?? made.get(digest), isNew: old === undefined };
  });
}

/** What this judge has come to, by the claim. A failure is none, nor is what it cited nothing for; else the first answer stands. */
function earlierOf(
  { bundle }: JudgedEvidence,
  identity: JudgeIdentity,
  judgments: readonly Judgment[],
): ReadonlyMap<string, Judgment> {
  const judge = judgeDigest(identity);
  const own = judgments.filter(
    (each) => each.bundle === bundle && isSettled(each) && judgeDigest(each.judge) === judge,
  );
  return new Map(own.toReversed().map((each) => [each.claim.digest, each]));
}

function isSettled({ outcome, verdict }: Judgment): boolean {
  if (outcome.kind === "failed") return false;
  return (
    verdict.value !== "undetermined" ||
    verdict.gaps.every(({ code }) => code !== "citation_missing")
  );
}

type NewJudgment = Pick<Judgment, "outcome" | "verdict"> & {
  readonly claim: JudgedClaim;
  readonly asking?: Asking;
};

/** Fills in what is the same for every judgment of a judge over a bundle. */
export function recordMaker(
  { bundle }: JudgedEvidence,
  judge: JudgeIdentity,
  { newId, now }: Pick<JudgingOptions, "newId" | "now">,
): (judgment: NewJudgment) => Judgment {
  return ({ claim, outcome, verdict, asking }) => ({
    schemaVersion: 1,
    id: JudgmentId.parse(newId()),
    bundle,
    claim: { name: claim.name, digest: claimDigest(claim), text: claim.text },
    judge,
    outcome,
    verdict,
    ...(asking === undefined ? {} : { asking }),
    at: now(),
  });
}

async function judgeQuestion(
  judge: Judge,
  question: Question,
  {
    options,
    make,
  }: { readonly options: JudgingOptions; readonly make: (judgment: NewJudgment) => Judgment },
): Promise<readonly Judgment[]> {
  const promptBytes = questionBytes(question, options.limits);
  if (options.budget?.take(promptBytes) === false) return [];
  const asked = await ask(judge, question, options);
  options.budget?.settle(promptBytes, asked.asking);
  const judgments = question.claims.map((claim) =>
    make({ claim: claim.claim, asking: asked.asking, ...conclusionOf(asked, claim, question) }),
  );
  await options.record(judgments);
  return judgments;
}

function conclusionOf(
  asked: Asked,
  { claim, lacks }: AskedClaim,
  { selection }: Question,
): { readonly outcome: JudgmentOutcome; readonly verdict: Verdict } {
  if (!asked.ok) {
    const { code, detail } = asked;
    return { outcome: { kind: "failed", code, detail }, verdict: notJudged(claim, code) };
  }
  const answer = asked.answers.get(claim.name);
  // Every claim that was asked is among the answers, else they were not accepted.
  if (answer === undefined) throw new UpheldError("internal", `no answer for ${claim.name}`);
  const { held, reason } = answer;
  const cites = citationsOf(answer, selection.exhibits);
  return {
    outcome: { kind: "answered", held, reason, cites },
    verdict: answeredVerdict(claim, { held, cites }, lacks),
  };
}

function notJudged({ name }: JudgedClaim, code: string): Verdict {
  const told: Gap = gap("not_judged", name, {
    detail: `the judge failed: ${code}`,
    remedy: "Run upheld judge again.",
  });
  return undetermined([told]);
}
