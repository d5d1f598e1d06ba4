import { basename } from "node:path";
import type { ExpectationFile, SubGoal } from "../core/expectation.ts";
import { gap, nonEmpty, type Gap } from "../core/gap.ts";
import type { RunId } from "../core/ids.ts";
import { refuted, undetermined, upheld, type Verdict } from "../core/verdict.ts";
import type { CheckedSubGoal } from "../evidence/record/grading.ts";
import { runCheck, type CheckAnswer, type CheckPlan } from "./check.ts";
import type { GivenEvidence, ReadKind } from "./given-world.ts";
import type { GoalDecision, Scenario, SuiteGoal } from "./scenario.ts";

/** The sub-goals that conditions decide or a judge will, as a claims file has them; undefined where functions decide all. */
export function claimsOf({ objective, subGoals }: Scenario): ExpectationFile | undefined {
  const claims = subGoals.flatMap((goal) => claimOf(goal));
  return claims.length === 0
    ? undefined
    : { schemaVersion: 1, ...(objective === undefined ? {} : { objective }), subGoals: claims };
}

function claimOf({ name, what, decision }: SuiteGoal): readonly SubGoal[] {
  const named = { name, ...(what === undefined ? {} : { what }) };
  switch (decision.by) {
    case "condition":
      return [{ ...named, expect: decision.expect, condition: decision.condition }];
    case "judge": {
      const { judged, needs, polarity } = decision;
      return [{ ...named, judged, needs, polarity }];
    }
    case "check":
      return [];
  }
}

/** A sub-goal that a function decides. */
export type CheckedGoal = SuiteGoal & {
  readonly decision: Extract<GoalDecision, { readonly by: "check" }>;
};

export function isChecked(goal: SuiteGoal): goal is CheckedGoal {
  return goal.decision.by === "check";
}

/** Runs the function of a sub-goal, and says what its answer is worth. */
export async function decideByCheck(
  goal: CheckedGoal,
  evidence: GivenEvidence,
  how: { readonly runId: RunId; readonly timeoutMs: number },
  signal: AbortSignal | undefined,
): Promise<CheckedSubGoal> {
  const { file } = goal.decision;
  const plan: CheckPlan = {
    ...how,
    file,
    function: "check",
    world: evidence.world,
    calls: evidence.calls,
  };
  const answer = await runCheck(plan, signal);
  const place = `checks/${basename(file.path)}`;
  const verdict = verdictOf(answer, place, evidence.gaps);
  return {
    name: goal.name,
    ...(goal.what === undefined ? {} : { what: goal.what }),
    verdict,
    rationale: rationaleOf(answer, place),
  };
}

/**
 * An answer rests on what the function looked at: where that lacks something, it is not known whether the answer would stand.
 * A broken function says nothing of the agent.
 */
function verdictOf(
  answer: CheckAnswer,
  place: string,
  gaps: Readonly<Record<ReadKind, readonly Gap[]>>,
): Verdict {
  if (answer.value === "broken")
    return undetermined([answer.gap ?? gap("check_broken", place, { detail: answer.reason })]);
  const missing = nonEmpty(answer.read.flatMap((kind) => gaps[kind]));
  if (missing !== undefined) return undetermined(missing);
  return answer.value === "held"
    ? upheld([{ uri: place }])
    : refuted([{ uri: place, detail: answer.reason }]);
}

function rationaleOf(answer: CheckAnswer, place: string): string {
  switch (answer.value) {
    case "held":
      return `${place} found nothing against it.${basis(answer.read)}`;
    case "not_held":
      return `${place} says: ${answer.reason}${basis(answer.read)}`;
    case "broken":
      return `${place} is broken: ${answer.reason}`;
  }
}

function basis(read: readonly ReadKind[]): string {
  return read.length === 0 ? "" : `\nIt looked at: ${read.join(", ")}.`;
}
