import { randomUUID } from "node:crypto";
import { UpheldError } from "../../core/errors.ts";
import { foldGaps, gap } from "../../core/gap.ts";
import type { Identifier } from "../../core/identifier.ts";
import { ObservationId } from "../../core/ids.ts";
import { DEFAULT_LIMITS, limitsOf, type Limits } from "../../core/limits.ts";
import {
  acquisitionOf,
  gapsOf,
  type Observation,
  type ToolsPayload,
} from "../../core/observation.ts";
import type { ToolCallsScorable } from "../../core/scorable.ts";
import type { ObservationRequest, ObservationSource, ObserveOptions } from "../../core/source.ts";
import type { Timestamp } from "../../core/timestamp.ts";
import { mergeRecordings } from "./merge.ts";
import type { CallLimits, CallRecorder } from "./recording.ts";

/** Raised with any change in what a call looks like. */
const VERSION = "1";

export interface ToolCallOptions {
  readonly now: () => Timestamp;
  readonly limits?: Partial<CallLimits> | undefined;
  /** Calls that had ended before are not of this run. */
  readonly from?: Timestamp | undefined;
}

/** The limits of calls, defaults filled in. Throws "argument_invalid". */
export function callLimitsOf(given: Partial<Limits> = {}): CallLimits {
  const { maxCalls, maxCallArgumentBytes, maxCallResultBytes, maxCallBytes } = limitsOf(
    given,
    DEFAULT_LIMITS,
  );
  return { maxCalls, maxCallArgumentBytes, maxCallResultBytes, maxCallBytes };
}

/**
 * The tool calls of one attempt, as its recorders brought them. Condition-independent; a recorder that failed is a gap. Throws
 * "argument_invalid" where it is asked for another attempt: what it holds is of one run.
 */
export class ToolCallSource implements ObservationSource<ToolCallsScorable> {
  readonly #scorable: ToolCallsScorable;
  readonly #recorders: readonly CallRecorder[];
  readonly #options: ToolCallOptions;

  constructor(
    scorable: ToolCallsScorable,
    recorders: readonly CallRecorder[],
    options: ToolCallOptions,
  ) {
    this.#scorable = scorable;
    this.#recorders = recorders;
    this.#options = options;
  }

  identifier(): Identifier {
    return {
      name: "tool-calls",
      version: VERSION,
      parameters: { ...callLimitsOf(this.#options.limits) },
      children: this.#recorders.map(({ name, kind }) => ({
        name: kind,
        version: VERSION,
        parameters: { recorder: name },
        children: [],
      })),
    };
  }

  async observe(
    requests: readonly ObservationRequest<ToolCallsScorable>[],
    { signal }: ObserveOptions = {},
  ): Promise<readonly Observation[]> {
    for (const { scorable } of requests)
      if (scorable.attemptId !== this.#scorable.attemptId)
        throw new UpheldError(
          "argument_invalid",
          `asked for the calls of ${scorable.attemptId}, recorded were those of ${this.#scorable.attemptId}`,
        );
    signal?.throwIfAborted();
    const brought = await Promise.all(
      this.#recorders.map(async (recorder) => ({
        name: recorder.name,
        kind: recorder.kind,
        recording: await recorder.read({ signal }),
      })),
    );
    signal?.throwIfAborted();
    const heard = brought.filter(({ recording }) => recording.isSilent !== true);
    const told = heard.length === 0 ? brought : heard;
    const payload = settled(mergeRecordings(this.#scorable, told, this.#options.from));
    return requests.map(({ scorable }) => ({
      id: ObservationId.parse(randomUUID()),
      source: this.identifier(),
      acquisition: isAbsent(payload) ? "unavailable" : acquisitionOf(gapsOf(payload)),
      observedAt: this.#options.now(),
      scorable,
      payload: { ...payload, scope: scorable },
      metadata: {},
    }));
  }
}

/** Without a recorder nothing is known, and many gaps of one kind are told as one. */
function settled(payload: ToolsPayload): ToolsPayload {
  const none =
    payload.recorders.length > 0
      ? []
      : [gap("evidence_kind_missing", payload.scope.uri, { detail: "nothing recorded the calls" })];
  return {
    ...payload,
    recorders: payload.recorders.map((each) => ({ ...each, gaps: foldGaps(each.gaps) })),
    gaps: foldGaps([...payload.gaps, ...none]),
  };
}

/** Nothing came at all, and nothing says that there was nothing. */
function isAbsent({ calls, recorders }: ToolsPayload): boolean {
  return calls.length === 0 && recorders.every(({ complete }) => !complete);
}
