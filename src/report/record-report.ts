import type { CheckedSubGoal } from "../evidence/record/grading.ts";
import type { RunRecord } from "../evidence/record/run-record.ts";
import {
  runReport,
  type ReportedSubGoal,
  type RunReport,
  type SealedBundle,
} from "./run-report.ts";

/** Writes the report of a run from its record: the sub-goals in the order of the scenario, where it is of one. */
export function reportOfRecord(record: RunRecord, bundle?: SealedBundle): RunReport {
  const { run, deltas, observations, claims, grading } = record;
  const scores = new Map(record.scores.map(({ subGoal, score }) => [subGoal, score]));
  const report = runReport({
    run,
    deltas,
    observations,
    subGoals: (claims?.subGoals ?? []).map((subGoal) => ({
      subGoal,
      score: scores.get(subGoal.name),
    })),
    bundle,
  });
  if (grading === undefined) return report;
  const all = [...report.subGoals, ...grading.checks.map(reportedCheck)];
  const place = new Map(grading.order.map((name, index) => [name, index]));
  const placeOf = ({ name }: ReportedSubGoal): number => place.get(name) ?? place.size;
  return {
    ...report,
    subGoals: all.toSorted((left, right) => placeOf(left) - placeOf(right)),
  };
}

function reportedCheck({ name, what, verdict, rationale }: CheckedSubGoal): ReportedSubGoal {
  return {
    name,
    ...(what === undefined ? {} : { what }),
    decidedBy: "code",
    expect: "upheld",
    verdict,
    method: "check",
    held: verdict.value === "undetermined" ? null : verdict.value === "upheld",
    rationale,
  };
}
