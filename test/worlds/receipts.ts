import { digestOf } from "../../src/core/fingerprint.ts";
import { AttemptId } from "../../src/core/ids.ts";
import type { ReceiptInput, ReceiptSubGoal } from "../../src/evidence/receipt.ts";
import type { ScenarioAttempt } from "../../src/evidence/scenario-attempt.ts";

/** The first attempt at the scenario "refund", or another. */
export function attempt(fields: Partial<ScenarioAttempt> = {}): ScenarioAttempt {
  return {
    jobId: "job-1",
    attemptId: AttemptId.parse("attempt-1"),
    attemptNumber: 1,
    scenarioKey: "refund",
    scenarioAttempt: 1,
    ...fields,
  };
}

/** A sub-goal by whether it held. */
export function goal(held: boolean | null, fields: Partial<ReceiptSubGoal> = {}): ReceiptSubGoal {
  return { name: "paid", held, judged: held === null, reason: null, ...fields };
}

/** What a receipt is made from: passed, with evidence. */
export function receiptInput(fields: Partial<ReceiptInput> = {}): ReceiptInput {
  return {
    attempt: attempt(),
    outcome: { kind: "graded", subGoals: [goal(true)] },
    evidence: digestOf(new TextEncoder().encode("evidence")),
    ...fields,
  };
}
