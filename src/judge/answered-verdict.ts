import type { Polarity } from "../core/condition.ts";
import { gap, nonEmpty, type Gap } from "../core/gap.ts";
import { refuted, undetermined, upheld, type EntryRef, type Verdict } from "../core/verdict.ts";
import type { JudgedClaim } from "./claim.ts";
import type { Citation } from "./judgment.ts";

/** A judge's answer about one claim, with its citations looked up. */
export interface Answered {
  readonly held: boolean | null;
  readonly cites: readonly Citation[];
}

/**
 * What may be concluded from an answer. Upheld needs something cited. An answer that rests on absence needs evidence without a gap:
 * "no" to what is existential, "yes" to what is universal, both to what is exact. `lacks` is what the claim's evidence lacks.
 */
export function answeredVerdict(
  claim: JudgedClaim,
  { held, cites }: Answered,
  lacks: readonly Gap[],
): Verdict {
  if (held === null) return undetermined([gap("judge_undecided", claim.name)]);
  const broken = nonEmpty(cites.filter(({ found }) => !found).map(brokenCitation));
  if (broken !== undefined) return undetermined(broken);
  if (cites.length === 0 && needsWitness(claim.polarity, held))
    return undetermined([gap("citation_missing", claim.name, { detail: "nothing was cited" })]);
  if (lacks.length > 0 && needsProof(claim.polarity, held))
    return undetermined([gap("absence_unproven", claim.name), ...lacks]);
  const refs = cites.map(refOfCitation);
  return held ? upheld(refs) : refuted(refs);
}

function needsWitness(polarity: Polarity, held: boolean): boolean {
  return held || polarity === "universal";
}

function needsProof(polarity: Polarity, held: boolean): boolean {
  switch (polarity) {
    case "existential":
      return !held;
    case "universal":
      return held;
    case "exact":
      return true;
  }
}

function brokenCitation({ evidence, location }: Citation): Gap {
  return location === undefined
    ? gap("citation_missing", "cites", { detail: "it was not among what was shown" })
    : gap("citation_missing", location, { detail: `its quote is not in ${evidence}` });
}

function refOfCitation({ evidence, location }: Citation): EntryRef {
  return { uri: location ?? evidence, detail: `cited as ${evidence}` };
}
