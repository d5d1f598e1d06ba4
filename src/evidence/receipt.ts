import { z } from "zod";
import { canonicalJsonBytes } from "../core/canonical-json.ts";
import { UpheldError } from "../core/errors.ts";
import { fingerprint } from "../core/fingerprint.ts";
import { Digest } from "../core/ids.ts";
import { issuesOf } from "../core/issues.ts";
import { Timestamp } from "../core/timestamp.ts";
import { wellFormed } from "../core/tool-call.ts";
import { boundedMessage } from "./message.ts";
import { ScenarioAttempt } from "./scenario-attempt.ts";

export const RECEIPT_SCHEMA = "upheld.receipt.v1";

/** Bytes of one receipt that are read or written. */
export const MAX_RECEIPT_BYTES = 4 * 1024 * 1024;

const count = z.int().min(0);
const text = z.string().min(1).max(500);

/** How a sub-goal of a scenario came out. `held` is null where nobody decided it. */
export const ReceiptSubGoal = z
  .object({
    name: text,
    held: z.boolean().nullable(),
    /** Whether a judge settles it, in place of code. */
    judged: z.boolean(),
    reason: z.string().nullable(),
  })
  .readonly();
export type ReceiptSubGoal = z.infer<typeof ReceiptSubGoal>;

/** The agent's part of a scenario in a few figures. */
export const CallSummary = z
  .object({
    startedAt: Timestamp,
    endedAt: Timestamp,
    durationMs: count,
    /** How often the agent spoke; absent where no conversation was recorded. */
    turns: count.optional(),
    /** How many tool calls there were by outcome; absent where nothing recorded them. */
    toolCalls: z
      .object({ ok: count, refused: count, error: count, unfinished: count })
      .readonly()
      .optional(),
    stopReason: z.string().optional(),
  })
  .readonly();
export type CallSummary = z.infer<typeof CallSummary>;

/** Whose failure it is that a scenario came to no result. */
export const FailureDomain = z.enum([
  "agent",
  "simulator",
  "environment",
  "connectivity",
  "infrastructure",
  "grading",
  "artifact",
  "platform_sync",
]);
export type FailureDomain = z.infer<typeof FailureDomain>;

export const ReceiptFailure = z
  .object({ domain: FailureDomain, stage: text, code: text, message: z.string() })
  .readonly();
export type ReceiptFailure = z.infer<typeof ReceiptFailure>;

/** An artifact that belongs to a receipt and could not be delivered, and why. */
export const MissingArtifact = z
  .object({ kind: text, digest: Digest, reason: z.string() })
  .readonly();
export type MissingArtifact = z.infer<typeof MissingArtifact>;

export const ReceiptStatus = z.enum(["passed", "failed", "errored", "skipped", "undecided"]);
export type ReceiptStatus = z.infer<typeof ReceiptStatus>;

/**
 * What came of one attempt at one scenario. A field that does not apply is absent, never null. Readers leave unknown
 * fields out of what they decide, and keep them in the digest.
 */
export const Receipt = z
  .object({
    schemaVersion: z.literal(RECEIPT_SCHEMA),
    ...ScenarioAttempt.unwrap().shape,
    scenarioId: text.optional(),
    /** Which of several worlds it ran in, from 0. */
    worldIndex: count.optional(),
    status: ReceiptStatus,
    subGoals: z
      .array(ReceiptSubGoal)
      .refine(
        (goals) => new Set(goals.map(({ name }) => name)).size === goals.length,
        "two sub-goals have one name",
      )
      .readonly(),
    call: CallSummary.optional(),
    failure: ReceiptFailure.optional(),
    /** The digest of the evidence artifact's bytes. */
    evidence: Digest.optional(),
    notDelivered: z.array(MissingArtifact).min(1).readonly().optional(),
    digest: Digest,
  })
  .readonly();
export type Receipt = z.infer<typeof Receipt>;

/** How an attempt ended: graded (its sub-goals say the status), errored, or never run. */
export type ReceiptOutcome =
  | { readonly kind: "graded"; readonly subGoals: readonly ReceiptSubGoal[] }
  | {
      readonly kind: "errored";
      readonly failure: ReceiptFailure;
      readonly subGoals?: readonly ReceiptSubGoal[];
    }
  | { readonly kind: "skipped" };

export interface ReceiptInput {
  readonly attempt: ScenarioAttempt;
  readonly scenarioId?: string | undefined;
  readonly worldIndex?: number | undefined;
  readonly outcome: ReceiptOutcome;
  readonly call?: CallSummary | undefined;
  readonly evidence?: Digest | undefined;
}

/** Masks what must not leave. Every text that people wrote passes through it before it is cut. */
export type Redaction = (text: string) => string;

/**
 * The status of graded sub-goals: any that did not hold, failed; else any undecided, undecided; else passed.
 * Throws "argument_invalid" where there are none: nothing asked is no pass.
 */
export function statusOf(subGoals: readonly ReceiptSubGoal[]): ReceiptStatus {
  if (subGoals.length === 0)
    throw new UpheldError(
      "argument_invalid",
      "a receipt needs a sub-goal: nothing asked is no pass",
    );
  if (subGoals.some(({ held }) => held === false)) return "failed";
  return subGoals.some(({ held }) => held === null) ? "undecided" : "passed";
}

/**
 * Makes a receipt: redacts, then cuts, then digests. Throws "argument_invalid" where the input is not of the form, where
 * two sub-goals have one name, where nothing was graded, and beyond `MAX_RECEIPT_BYTES`.
 */
export function makeReceipt(input: ReceiptInput, redact: Redaction = (text) => text): Receipt {
  const message = (given: string): string => boundedMessage(wellFormed(redact(given)));
  const { attempt, scenarioId, worldIndex, call, evidence } = input;
  const parsed = Receipt.unwrap()
    .omit({ digest: true })
    .safeParse({
      schemaVersion: RECEIPT_SCHEMA,
      ...attempt,
      ...present({ scenarioId, worldIndex, evidence }),
      ...outcomeFields(input.outcome, message),
      ...(call === undefined ? {} : { call: summaryOf(call, message) }),
    });
  if (!parsed.success) throw invalid(issuesOf(parsed.error));
  return sealed(parsed.data);
}

/** Whether a status is that of these sub-goals. */
export function followsFrom(status: ReceiptStatus, subGoals: readonly ReceiptSubGoal[]): boolean {
  return subGoals.length > 0 && statusOf(subGoals) === status;
}

/** The same receipt for a place that would not take an artifact: the artifact is told of, and no longer referenced. */
export function withoutArtifact(receipt: Receipt, missing: MissingArtifact): Receipt {
  const { digest: _digest, evidence, notDelivered = [], ...rest } = receipt;
  const { kind, digest, reason } = missing;
  return sealed({
    ...rest,
    ...(evidence === digest ? {} : present({ evidence })),
    notDelivered: [...notDelivered, { kind, digest, reason: boundedMessage(reason) }],
  });
}

/** The bytes of a receipt as they are sent and kept. */
export function receiptBytes(receipt: Receipt): Uint8Array<ArrayBuffer> {
  return canonicalJsonBytes(receipt);
}

/** What in a receipt contradicts itself, or null. */
export function contradictionIn(receipt: Omit<Receipt, "digest">): string | null {
  const { status, subGoals, failure } = receipt;
  switch (status) {
    case "passed":
    case "failed":
    case "undecided":
      return failure === undefined && followsFrom(status, subGoals)
        ? null
        : `${status} does not follow from its sub-goals`;
    case "errored":
      return failure === undefined ? "errored without a failure" : null;
    case "skipped":
      return isBare(receipt) ? null : "skipped, with results of a run";
  }
}

function isBare({ subGoals, failure, call, evidence }: Omit<Receipt, "digest">): boolean {
  return (
    subGoals.length === 0 && failure === undefined && call === undefined && evidence === undefined
  );
}

function sealed(body: Omit<Receipt, "digest">): Receipt {
  const contradiction = contradictionIn(body);
  if (contradiction !== null) throw invalid(contradiction);
  const receipt = { ...body, digest: fingerprint(body) };
  const { length } = receiptBytes(receipt);
  if (length > MAX_RECEIPT_BYTES)
    throw invalid(`it has ${length} bytes, at most ${MAX_RECEIPT_BYTES} can be sent`);
  return Object.freeze(receipt);
}

function outcomeFields(
  outcome: ReceiptOutcome,
  message: Redaction,
): Pick<Receipt, "status" | "subGoals" | "failure"> {
  const told = (subGoals: readonly ReceiptSubGoal[]): readonly ReceiptSubGoal[] =>
    subGoals.map((goal) => ({
      ...goal,
      reason: goal.reason === null ? null : message(goal.reason),
    }));
  switch (outcome.kind) {
    case "graded":
      return { status: statusOf(outcome.subGoals), subGoals: told(outcome.subGoals) };
    case "errored": {
      const failure = { ...outcome.failure, message: message(outcome.failure.message) };
      return { status: "errored", subGoals: told(outcome.subGoals ?? []), failure };
    }
    case "skipped":
      return { status: "skipped", subGoals: [] };
  }
}

function summaryOf(call: CallSummary, message: Redaction): CallSummary {
  const { stopReason } = call;
  return stopReason === undefined ? call : { ...call, stopReason: message(stopReason) };
}

/** The fields that have a value: an absent field and a null one have different digests. */
function present<Fields extends object>(fields: Fields): Partial<Fields> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Partial<Fields>; // some of its own entries
}

function invalid(what: string): UpheldError {
  return new UpheldError("argument_invalid", `no receipt can be made: ${what}`);
}
