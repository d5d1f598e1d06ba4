import { foldGaps, type Gap } from "../../core/gap.ts";
import type { Limits } from "../../core/limits.ts";
import { callText, callValue, type CallValue, type Sighting } from "../../core/tool-call.ts";

/** A sighting and the id of its call, where the recorder saw one. */
export interface IdentifiedSighting {
  readonly id?: string | undefined;
  readonly sighting: Sighting;
}

/** What one recorder brought, when it is over. */
export interface Recording {
  /** True where every call of the run is among the sightings, but for what the gaps name. */
  readonly complete: boolean;
  readonly gaps: readonly Gap[];
  /** In their order. */
  readonly sightings: readonly IdentifiedSighting[];
  /** How many sightings there were; those beyond a limit are not kept. */
  readonly total: number;
  /** True where nothing at all came, which says nothing where another recorder was set. */
  readonly isSilent?: boolean;
}

/**
 * One way on which the calls of a run come in. Guarantees: every call that it learns of is a sighting or counted in `total`, and
 * everything that may hide a call is a gap; its own failure is a gap, never an exception.
 */
export interface CallRecorder {
  readonly name: string;
  readonly kind: "calls-file" | "otlp";
  read(options: { readonly signal?: AbortSignal | undefined }): Promise<Recording>;
}

export type CallLimits = Pick<
  Limits,
  "maxCalls" | "maxCallArgumentBytes" | "maxCallResultBytes" | "maxCallBytes"
>;

/** Keeps arguments and results whole as long as there is room: for each, and for all of a run. What has no room is cut, and said. */
export class CallBudget {
  readonly limits: CallLimits;
  #left: number;

  constructor(limits: CallLimits) {
    this.limits = limits;
    this.#left = limits.maxCallBytes;
  }

  /** Arguments that are a value. */
  argumentsOf(value: unknown): CallValue {
    return this.#keep((maxBytes) => callValue(value, maxBytes), this.limits.maxCallArgumentBytes);
  }

  resultOf(value: unknown): CallValue {
    return this.#keep((maxBytes) => callValue(value, maxBytes), this.limits.maxCallResultBytes);
  }

  /** Arguments that were recorded as text. */
  argumentsOfText(text: string): CallValue {
    return this.#keep((maxBytes) => callText(text, maxBytes), this.limits.maxCallArgumentBytes);
  }

  resultOfText(text: string): CallValue {
    return this.#keep((maxBytes) => callText(text, maxBytes), this.limits.maxCallResultBytes);
  }

  #keep(make: (maxBytes: number) => CallValue, maxBytes: number): CallValue {
    const value = make(Math.min(maxBytes, this.#left));
    const kept = value.kind === "cut" ? value.head : value.text;
    this.#left -= new TextEncoder().encode(kept).length;
    return value;
  }
}

const MAX_HELD_GAPS = 1_000;

/** Gaps as they come, folded before they are many: the first of a code stay located, the rest are counted. */
export class GapList {
  #gaps: Gap[] = [];

  push(one: Gap): void {
    this.#gaps.push(one);
    if (this.#gaps.length > MAX_HELD_GAPS) this.#gaps = [...foldGaps(this.#gaps)];
  }

  folded(): readonly Gap[] {
    return foldGaps(this.#gaps);
  }
}
