import type { Condition } from "../core/condition.ts";
import type { Expectation, ExpectationFile, SubGoal } from "../core/expectation.ts";
import type { Verdict } from "../core/verdict.ts";

/** Whether a verdict is the one that was wished for; null where it is not known. */
export function heldOf(verdict: Verdict, expect: "upheld" | "refuted"): boolean | null {
  return verdict.value === "undetermined" ? null : verdict.value === expect;
}

/** The condition behind a sub-goal: its own, or that a judge finds its text to be met. */
export function conditionOf(goal: SubGoal): Condition {
  return "condition" in goal ? goal.condition : { kind: "objective_met", objective: goal.judged };
}

/** Which verdict a sub-goal wishes for. */
export function wishOf(goal: SubGoal): "upheld" | "refuted" {
  return "condition" in goal ? goal.expect : "upheld";
}

/** The expectation of a claims file: a condition for each sub-goal, in order. */
export function expectationOf(file: ExpectationFile): Expectation {
  return {
    schemaVersion: 1,
    ...(file.objective === undefined ? {} : { objective: file.objective }),
    conditions: file.subGoals.map(conditionOf),
  };
}
