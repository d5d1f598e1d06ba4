import { EvidenceKind } from "../core/evidence-kind.ts";
import { foldGaps, gap, nonEmpty, type Gap, type NonEmpty } from "../core/gap.ts";
import type { JudgedClaim } from "./claim.ts";
import type { JudgedEvidence } from "./evidence.ts";
import { exhibitsOf } from "./exhibits.ts";
import type { JudgeLimits } from "./limits.ts";
import { selectExhibits, type Selection } from "./selection.ts";
import { lacksFor, missingFor, standingsOf, type Standings } from "./sufficiency.ts";

/** A claim that is put to a judge. While its evidence lacks anything, absence is not proven. */
export interface AskedClaim {
  readonly claim: JudgedClaim;
  readonly lacks: readonly Gap[];
}

/** What is asked of a judge in one call. */
export interface Question {
  readonly claims: readonly AskedClaim[];
  readonly selection: Selection;
  readonly gaps: readonly Gap[];
}

/** What to ask over one bundle, and what cannot be asked, for these reasons. */
export interface JudgingPlan {
  readonly questions: readonly Question[];
  readonly insufficient: readonly {
    readonly claim: JudgedClaim;
    readonly gaps: NonEmpty<Gap>;
  }[];
}

/** Decides, before anybody is asked, which claims the evidence is sufficient for, and puts those into questions. */
export function planJudging(
  evidence: JudgedEvidence,
  claims: readonly JudgedClaim[],
  limits: JudgeLimits,
): JudgingPlan {
  const exhibits = exhibitsOf(evidence.observations);
  const selection = selectExhibits(exhibits, limits);
  const standings = withCuts(standingsOf(evidence, exhibits), selection);
  const gaps = foldGaps(EvidenceKind.options.flatMap((kind) => standings[kind].gaps));
  const judged = claims.map((claim) => ({ claim, gaps: nonEmpty(missingFor(claim, standings)) }));
  const askable = judged.flatMap(({ claim, gaps }) =>
    gaps === undefined ? [{ claim, lacks: lacksFor(claim, standings) }] : [],
  );
  return {
    questions: inGroups(askable, limits.maxClaims).map((group) => ({
      claims: group,
      selection,
      gaps,
    })),
    insufficient: judged.flatMap(({ claim, gaps }) =>
      gaps === undefined ? [] : [{ claim, gaps }],
    ),
  };
}

/** What a question has no room for is not seen by the judge, so it is a gap like any other. */
function withCuts(standings: Standings, { counts }: Selection): Standings {
  const entries = EvidenceKind.options.map((kind) => {
    const { shown, total, cut } = counts[kind];
    if (shown === total && cut === 0) return [kind, standings[kind]] as const;
    const told = gap("absence_unproven", kind, {
      detail: `${shown} of ${total} shown to the judge, ${cut} of them shortened`,
      remedy: "Raise --evidence-bytes.",
    });
    return [kind, { ...standings[kind], gaps: [...standings[kind].gaps, told] }] as const;
  });
  return { ...standings, ...Object.fromEntries(entries) };
}

function inGroups<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, at) => items.slice(at * size, (at + 1) * size));
}
