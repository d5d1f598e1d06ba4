import type { AgentOutcome } from "../core/run.ts";
import { statusOf, type ReceiptFailure } from "../evidence/receipt.ts";
import { duration } from "./bounds.ts";
import type { ReportedSubGoal, RunReport } from "./run-report.ts";
import type { ScenarioReport } from "./suite-report.ts";

/**
 * What the run of a scenario came to. An agent that did not come to its end leaves no result; a broken check leaves one where
 * something else does not hold. Where nothing was asked, nothing is decided.
 */
export function scenarioResult({
  run,
  subGoals,
}: Pick<RunReport, "run" | "subGoals">): Pick<ScenarioReport, "status" | "failure"> {
  const status =
    subGoals.length === 0
      ? "undecided"
      : statusOf(subGoals.map((each) => ({ ...each, judged: false, reason: null })));
  const failure =
    failureOfAgent(run?.agent?.outcome) ?? (status === "failed" ? null : brokenCheck(subGoals));
  return failure === null ? { status } : { status: "errored", failure };
}

/** Why an agent did not come to its end, or null: one that exits with any code did, and what it did is what counts. */
export function failureOfAgent(outcome: AgentOutcome | undefined): ReceiptFailure | null {
  switch (outcome?.kind) {
    case undefined:
    case "exited":
    case "answered":
      return null;
    case "signaled":
      return failed(outcome.kind, `the agent was ended by ${outcome.signal}`);
    case "timed_out":
      return failed(outcome.kind, `the agent did not end within ${duration(outcome.afterMs)}`);
    case "not_started":
      return failed(outcome.kind, `the agent could not be started: ${outcome.reason}`);
    case "failed":
      return failed(outcome.kind, `the agent failed: ${outcome.reason}`);
  }
}

function failed(kind: AgentOutcome["kind"], message: string): ReceiptFailure {
  return { domain: "agent", stage: "run", code: `agent_${kind}`, message };
}

/** A function of the suite that failed itself: nobody's fault but the suite's. */
function brokenCheck(subGoals: readonly ReportedSubGoal[]): ReceiptFailure | null {
  const broken = subGoals.filter(isBroken);
  const [first] = broken;
  if (first === undefined) return null;
  const names = broken.map(({ name }) => name).join(", ");
  return {
    domain: "grading",
    stage: "check",
    code: "check_broken",
    message: `${names}: ${first.rationale}`,
  };
}

function isBroken({ verdict }: ReportedSubGoal): boolean {
  return (
    verdict.value === "undetermined" &&
    verdict.gaps.some(({ code }) => code === "check_broken" || code === "check_runtime_missing")
  );
}
