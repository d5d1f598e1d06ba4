import { gap } from "../core/gap.ts";
import type { Digest } from "../core/ids.ts";
import { undetermined, type Verdict } from "../core/verdict.ts";
import { claimDigest, type JudgedClaim } from "./claim.ts";
import { judgeDigest, type Judgment } from "./judgment.ts";

/** What judges came to about a claim, and who they are. */
export interface SettledClaim {
  readonly verdict: Verdict;
  readonly judges: readonly string[];
  readonly judgments: readonly Judgment[];
}

/**
 * What all judgments of a claim over a bundle come to: of each judge the last that is no failure, a person before a panel, a panel
 * before its members and other judges. Judges that contradict each other settle nothing. Undefined where nobody answered.
 */
export function settledClaim(
  bundle: Digest,
  claim: JudgedClaim,
  judgments: readonly Judgment[],
): SettledClaim | undefined {
  const digest = claimDigest(claim);
  const about = judgments.filter(
    (each) =>
      each.bundle === bundle && each.claim.digest === digest && each.outcome.kind !== "failed",
  );
  const ofJudge = new Map(about.map((each) => [judgeDigest(each.judge), each]));
  const last = [...ofJudge.values()];
  const decided = last.filter(({ verdict }) => verdict.value !== "undetermined");
  const [first, ...others] = foremost(decided.length > 0 ? decided : last);
  if (first === undefined) return undefined;
  const all = [first, ...others];
  const isOne = others.every(({ verdict }) => verdict.value === first.verdict.value);
  return {
    verdict: isOne ? first.verdict : contradiction(claim, all),
    judges: all.map(({ judge }) => judge.name),
    judgments: all,
  };
}

function foremost(judgments: readonly Judgment[]): readonly Judgment[] {
  for (const kind of ["person", "panel"] as const) {
    const ofKind = judgments.filter(({ judge }) => judge.kind === kind);
    if (ofKind.length > 0) return ofKind;
  }
  return judgments;
}

function contradiction({ name }: JudgedClaim, judgments: readonly Judgment[]): Verdict {
  const told = judgments.map(({ judge, verdict }) => `${judge.name}: ${verdict.value}`).join(", ");
  return undetermined([
    gap("not_judged", name, {
      detail: `judges contradict each other: ${told}`,
      remedy: "Let a panel or a person decide.",
    }),
  ]);
}
