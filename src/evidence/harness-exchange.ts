import { UpheldError } from "../core/errors.ts";
import { AttemptId } from "../core/ids.ts";
import { nanosecondsOf, timestampOf, type Timestamp } from "../core/timestamp.ts";
import { HARNESS_SCHEMA, sealedResult, type HarnessResult } from "./harness-result.ts";
import {
  makeReceipt,
  type CallSummary,
  type Receipt,
  type ReceiptFailure,
  type ReceiptOutcome,
} from "./receipt.ts";

const UNDECIDED = "judge_undecided";

/** A receipt made from another harness's result, and how much of that result has no place in a receipt. */
export interface ImportedReceipt {
  readonly receipt: Receipt;
  readonly notCarried: { readonly evaluations: number; readonly artifacts: number };
}

/**
 * The receipt of a result. One that errored because nobody could decide becomes undecided. Throws "argument_invalid" where
 * an id or a time is not of our form.
 */
export function importHarnessResult(result: HarnessResult): ImportedReceipt {
  const { call } = result;
  const attemptId = AttemptId.safeParse(result.attempt_id);
  if (!attemptId.success)
    throw new UpheldError("argument_invalid", "attempt_id is no id of an attempt here");
  const receipt = makeReceipt({
    attempt: {
      jobId: result.job_id,
      attemptId: attemptId.data,
      attemptNumber: result.attempt_number,
      scenarioKey: result.scenario_key,
      scenarioAttempt: result.scenario_attempt,
    },
    scenarioId: result.scenario_id,
    worldIndex: result.world_index ?? undefined,
    outcome: outcomeOf(result),
    call: call === null ? undefined : importedCall(call),
  });
  const artifacts =
    call === null
      ? 0
      : call.recording_artifacts.length + (call.transcript_artifact === null ? 0 : 1);
  return { receipt, notCarried: { evaluations: result.evaluations.length, artifacts } };
}

function outcomeOf({ status, sub_goals: subGoals, failure }: HarnessResult): ReceiptOutcome {
  if (status === "skipped") return { kind: "skipped" };
  if (failure === null) return { kind: "graded", subGoals };
  const isOpen =
    subGoals.some(({ held }) => held === null) && !subGoals.some(({ held }) => held === false);
  return failure.code === UNDECIDED && isOpen
    ? { kind: "graded", subGoals }
    : { kind: "errored", failure, subGoals };
}

function importedCall(call: NonNullable<HarnessResult["call"]>): CallSummary {
  const { stop_reason: stopReason } = call;
  return {
    startedAt: timestampFrom(call.started_at),
    endedAt: timestampFrom(call.ended_at),
    durationMs: call.duration_ms,
    turns: call.turns,
    ...(stopReason === undefined ? {} : { stopReason }),
  };
}

function timestampFrom(text: string): Timestamp {
  const milliseconds = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(milliseconds))
    throw new UpheldError("argument_invalid", "a time of the call is no RFC 3339 time in UTC");
  return timestampOf(BigInt(milliseconds) * 1_000_000n);
}

/**
 * A receipt as the other harness writes it: undecided becomes errored, and evidence, undelivered artifacts and counts of
 * tool calls are left out, for which it has no place. Throws "argument_invalid" where it asks for what the receipt does not
 * say (`scenarioId`, `worldIndex`, `call.turns`) or does not take (a third attempt at a scenario).
 */
export function exportHarnessResult(receipt: Receipt): HarnessResult {
  const isSkipped = receipt.status === "skipped";
  return sealedResult({
    schema_version: HARNESS_SCHEMA,
    job_id: receipt.jobId,
    attempt_id: receipt.attemptId,
    attempt_number: receipt.attemptNumber,
    scenario_key: receipt.scenarioKey,
    scenario_id: stated(receipt.scenarioId, "scenarioId"),
    scenario_attempt: receipt.scenarioAttempt,
    world_index: isSkipped ? null : stated(receipt.worldIndex, "worldIndex"),
    status: receipt.status === "undecided" ? "errored" : receipt.status,
    sub_goals: receipt.subGoals,
    evaluations: [],
    call: receipt.call === undefined ? null : exportedCall(receipt.call),
    failure: receipt.status === "undecided" ? undecidedFailure(receipt) : (receipt.failure ?? null),
  });
}

function stated<T>(value: T | undefined, field: string): T {
  if (value !== undefined) return value;
  throw new UpheldError("argument_invalid", `${HARNESS_SCHEMA} needs the receipt's ${field}`);
}

function undecidedFailure({ subGoals }: Receipt): ReceiptFailure {
  const open = subGoals.filter(({ held }) => held === null).length;
  return {
    domain: "simulator",
    stage: "check",
    code: UNDECIDED,
    message: `${open} of ${subGoals.length} sub-goals could not be decided`,
  };
}

function exportedCall(call: CallSummary): NonNullable<HarnessResult["call"]> {
  const { durationMs, turns, stopReason } = call;
  return {
    started_at: millisecondText(call.startedAt),
    ended_at: millisecondText(call.endedAt),
    duration_ms: durationMs,
    turns: stated(turns, "call.turns"),
    transcript_artifact: null,
    recording_artifacts: [],
    ...(stopReason === undefined ? {} : { stop_reason: stopReason }),
  };
}

/** Three decimals, as the other harness writes its times. */
function millisecondText(time: Timestamp): string {
  return new Date(Number(nanosecondsOf(time) / 1_000_000n)).toISOString();
}
