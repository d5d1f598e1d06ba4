import type { AgentOutcome } from "../core/run.ts";
import type { DeclaredSecret } from "../evidence/declared-secret.ts";
import { statusOf, type ReceiptFailure } from "../evidence/receipt.ts";
import type { RunRecord } from "../evidence/record/run-record.ts";
import { redactValue } from "../evidence/redact-value.ts";
import type { Redactor } from "../evidence/redactor.ts";
import { runReport, type ReportedSubGoal, type RunReport } from "../report/run-report.ts";
import type { ScenarioReport } from "../report/suite-report.ts";
import { describeOutcome } from "../run/agent.ts";
import { redactRecord } from "../run/redact-record.ts";
import { redactorOfRun } from "../run/redactor-of-run.ts";
import { newRunSecret } from "../store/run-secret.ts";
import type { Attempt } from "./attempt.ts";
import type { Scenario } from "./scenario.ts";
import { isBroken } from "./settle-goals.ts";

/** What an attempt came to. */
export type Told = Omit<ScenarioReport, "name" | "attempts" | "durationMs">;

/** Says what an attempt came to, without secrets. */
export async function tellAttempt(
  scenario: Scenario,
  attempt: Attempt,
  secrets: readonly DeclaredSecret[],
): Promise<Told> {
  // Loaded when there is something to tell: the rules are large.
  const { findTokens } = await import("../run/secret-rules.ts");
  const redactor = redactorOfRun(secrets, newRunSecret(), findTokens);
  if ("failure" in attempt)
    return { status: "errored", subGoals: [], notSeen: [], ...(await hidden(attempt, redactor)) };
  const record = await redactRecord(attempt.record, redactor);
  const checked = await hidden(attempt.checked, redactor);
  const report = reportOf(record);
  const byName = new Map([...report.subGoals, ...checked].map((each) => [each.name, each]));
  const subGoals = scenario.subGoals.flatMap(({ name }) => byName.get(name) ?? []);
  return {
    ...resultOf(record.run.agent?.outcome, subGoals),
    ...(report.run === null ? {} : { run: report.run }),
    notSeen: report.notSeen,
  };
}

async function hidden<T>(value: T, redactor: Redactor): Promise<T> {
  const met = new Set<string>();
  redactValue(value, (text) => {
    met.add(text);
    return text;
  });
  await redactor.study(met);
  return redactValue(value, redactor.mask);
}

function reportOf(record: RunRecord): RunReport {
  const scores = new Map(record.scores.map(({ subGoal, score }) => [subGoal, score]));
  return runReport({
    run: record.run,
    deltas: record.deltas,
    observations: record.observations,
    subGoals: (record.claims?.subGoals ?? []).map((subGoal) => ({
      subGoal,
      score: scores.get(subGoal.name),
    })),
  });
}

/** An agent that did not come to its end leaves no result. A broken check leaves one where something else does not hold. */
function resultOf(
  outcome: AgentOutcome | undefined,
  subGoals: readonly ReportedSubGoal[],
): Pick<Told, "status" | "subGoals" | "failure"> {
  const graded = statusOf(subGoals.map((each) => ({ ...each, judged: false, reason: null })));
  const failure = failureOfAgent(outcome) ?? (graded === "failed" ? null : brokenCheck(subGoals));
  return failure === null ? { status: graded, subGoals } : { status: "errored", subGoals, failure };
}

function failureOfAgent(outcome: AgentOutcome | undefined): ReceiptFailure | null {
  if (outcome === undefined || outcome.kind === "exited" || outcome.kind === "answered")
    return null;
  return {
    domain: "agent",
    stage: "run",
    code: `agent_${outcome.kind}`,
    message: `the agent ${describeOutcome(outcome)}`,
  };
}

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
