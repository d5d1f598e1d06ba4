import type { Polarity } from "../core/condition.ts";
import type { EvidenceKind } from "../core/evidence-kind.ts";
import type { ExpectationFile, SubGoal } from "../core/expectation.ts";
import { fingerprint } from "../core/fingerprint.ts";
import type { Digest } from "../core/ids.ts";

/** A claim that no code decides. Its name is the id that a judge has to echo. */
export interface JudgedClaim {
  readonly name: string;
  readonly text: string;
  /** The kinds of evidence without which it is not asked; none: whatever there is. */
  readonly needs: readonly EvidenceKind[];
  /** Which answer needs proof. */
  readonly polarity: Polarity;
}

/** The claims of a file that a judge may decide. What a condition decides is none of them: code is never overruled. */
export function claimsToJudge(file: ExpectationFile): readonly JudgedClaim[] {
  return file.subGoals.flatMap((goal) => claimOf(goal));
}

function claimOf(goal: SubGoal): readonly JudgedClaim[] {
  if ("condition" in goal) return [];
  const { name, judged, needs, polarity } = goal;
  return [{ name, text: judged, needs, polarity }];
}

/** The digest of what is asked: another text, need or polarity is another claim. */
export function claimDigest({ name, text, needs, polarity }: JudgedClaim): Digest {
  return fingerprint({ name, text, needs: [...new Set(needs)].toSorted(), polarity });
}
