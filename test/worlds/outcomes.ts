import { gap, type GapCode } from "../../src/core/gap.ts";
import { refuted, undetermined, upheld, type Verdict } from "../../src/core/verdict.ts";
import type { ReportedGroup } from "../../src/report/outcome.ts";
import type { ReportedSubGoal } from "../../src/report/run-report.ts";

/** A verdict with a place or a gap. */
export function verdictOf(
  value: Verdict["value"],
  place: string = "workspace:/out.txt",
  code: GapCode = "listing_failed",
): Verdict {
  switch (value) {
    case "upheld":
      return upheld([{ uri: place, change: "created" }]);
    case "refuted":
      return refuted([{ uri: place }]);
    case "undetermined":
      return undetermined([gap(code, place, { detail: "EACCES" })]);
  }
}

/** A sub-goal that code decided, expected to be upheld. */
export function subGoalOf(
  name: string,
  verdict: Verdict,
  more: Partial<ReportedSubGoal> = {},
): ReportedSubGoal {
  return {
    name,
    decidedBy: "code",
    expect: "upheld",
    verdict,
    method: "baseline",
    held: verdict.value === "undetermined" ? null : verdict.value === "upheld",
    rationale: `It is ${verdict.value}.`,
    ...more,
  };
}

export function groupOf(
  subGoals: readonly ReportedSubGoal[],
  more: Partial<ReportedGroup> = {},
): ReportedGroup {
  return { name: "run", subGoals, notSeen: [], ...more };
}
