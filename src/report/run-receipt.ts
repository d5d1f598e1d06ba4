import { UpheldError } from "../core/errors.ts";
import type { Digest } from "../core/ids.ts";
import type { Observation } from "../core/observation.ts";
import type { AgentOutcome } from "../core/run.ts";
import {
  makeReceipt,
  type CallSummary,
  type Receipt,
  type ReceiptOutcome,
  type ReceiptSubGoal,
} from "../evidence/receipt.ts";
import type { ScenarioAttempt } from "../evidence/scenario-attempt.ts";
import { counted } from "./bounds.ts";
import type { ReportedSubGoal, RunReport } from "./run-report.ts";
import { failureOfAgent } from "./scenario-result.ts";
import { gapText } from "./verdict-text.ts";

export interface ReceiptSetting {
  readonly attempt: ScenarioAttempt;
  /** The digest of the evidence artifact's bytes, where there is one. */
  readonly evidence?: Digest | undefined;
  /** Where the conversation is, whose turns are counted. */
  readonly observations: readonly Observation[];
}

/**
 * The receipt of a run: graded by its sub-goals, or errored where the agent did not come to its end. Throws
 * "argument_invalid" where nothing was asked, and where it is of no run.
 */
export function receiptOfReport(report: RunReport, setting: ReceiptSetting): Receipt {
  const { run } = report;
  if (run === null)
    throw new UpheldError(
      "argument_invalid",
      "a receipt is of a run, and this evidence is of none",
    );
  return makeReceipt({
    attempt: setting.attempt,
    evidence: setting.evidence,
    outcome: outcomeOf(report.subGoals, run.agent?.outcome),
    call: summaryOf(report, setting.observations),
  });
}

function outcomeOf(
  reported: readonly ReportedSubGoal[],
  outcome: AgentOutcome | undefined,
): ReceiptOutcome {
  const subGoals = reported.map(subGoalOf);
  const failure = failureOfAgent(outcome);
  return failure === null ? { kind: "graded", subGoals } : { kind: "errored", failure, subGoals };
}

function subGoalOf(goal: ReportedSubGoal): ReceiptSubGoal {
  const { name, held, decidedBy } = goal;
  return { name, held, judged: decidedBy === "judge", reason: reasonOf(goal) };
}

/** Why a sub-goal did not hold or is not known; what held needs none. */
function reasonOf({ held, verdict, rationale }: ReportedSubGoal): string | null {
  if (held === true) return null;
  if (verdict.value !== "undetermined") return rationale;
  const [first, ...rest] = verdict.gaps;
  const more = rest.length === 0 ? "" : `, and ${counted(rest.length, "more gap")}`;
  return `${gapText(first)}: ${first.remedy}${more}`;
}

function summaryOf(
  { run, calls }: RunReport,
  observations: readonly Observation[],
): CallSummary | undefined {
  if (run?.agent === undefined) return undefined;
  const [startedAt, endedAt] = run.window;
  const turns = turnsOf(observations);
  return {
    startedAt,
    endedAt,
    durationMs: Math.round(run.agent.durationMs),
    ...(turns === null ? {} : { turns }),
    ...(calls === undefined ? {} : { toolCalls: calls.counts }),
  };
}

/** How often the agent spoke; null where no conversation was recorded. */
function turnsOf(observations: readonly Observation[]): number | null {
  for (const { payload } of observations)
    if (payload.kind === "conversation")
      return payload.conversation.messages.filter(({ role }) => role === "assistant").length;
  return null;
}
