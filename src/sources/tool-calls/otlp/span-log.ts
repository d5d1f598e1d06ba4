import { gap } from "../../../core/gap.ts";
import {
  CallBudget,
  GapList,
  type CallLimits,
  type IdentifiedSighting,
  type Recording,
} from "../recording.ts";
import { callOfSpan, type SpanCall } from "./span-call.ts";
import { sharedIds } from "./shared-ids.ts";
import type { Span } from "./span.ts";

/** The name of this recorder, and where its gaps are located. */
export const OTLP = "otlp";
const PLACE = `calls:/${OTLP}`;

const MAX_KNOWN_SPANS = 200_000;
const MAX_ANCESTORS = 64;
const SAMPLED = 0x01;
const HAS_IS_REMOTE = 0x1_00;
const IS_REMOTE = 0x2_00;

interface KnownSpan {
  readonly parent: string;
  readonly hasOuterParent: boolean;
  readonly call?: { readonly key: string; readonly found: SpanCall; readonly startNs: bigint };
}

export interface SpanLogOptions {
  readonly limits: CallLimits;
  /** The user's word that every span of the run arrives. Default false: spans are lost in silence. */
  readonly declaredComplete: boolean;
  /** The span under which the agent was started, which is not of this run. */
  readonly outerSpanId?: string | undefined;
  /** A sampler that the agent's environment asks for and that leaves out spans. */
  readonly sampler?: string | undefined;
}

/** Collects the calls of all spans that arrive, and what shows that some did not. */
export class SpanLog {
  readonly #options: SpanLogOptions;
  readonly #budget: CallBudget;
  readonly #spans = new Map<string, KnownSpan>();
  readonly #gaps = new GapList();
  #calls = 0;
  #requests = 0;

  constructor(options: SpanLogOptions) {
    this.#options = options;
    this.#budget = new CallBudget(options.limits);
    const { sampler } = options;
    if (sampler !== undefined)
      this.#lost(`the agent samples (${sampler})`, "Unset OTEL_TRACES_SAMPLER.");
  }

  /** One request with spans arrived, readable or not. */
  countRequest(): void {
    this.#requests += 1;
  }

  get isHeard(): boolean {
    return this.#requests > 0;
  }

  /** Something that may have held spans could not be read. */
  refuse(detail: string): void {
    this.#lost(detail);
  }

  add(span: Span): void {
    const key = keyOf(span.traceId, span.spanId);
    const earlier = this.#spans.get(key);
    const call = this.#callOf(span, key);
    this.#noteLosses(span, call !== undefined);
    if (earlier === undefined && this.#spans.size >= MAX_KNOWN_SPANS) {
      this.#lost(`more than ${MAX_KNOWN_SPANS} spans: those beyond were not kept`);
      return;
    }
    if (hasEnded(earlier)) return;
    if (earlier === undefined && call !== undefined) this.#calls += 1;
    this.#spans.set(key, {
      parent: isRoot(span.parentSpanId) ? "" : keyOf(span.traceId, span.parentSpanId),
      hasOuterParent: hasRemoteParent(span) || span.parentSpanId === this.#options.outerSpanId,
      ...(call === undefined ? {} : { call: { key, found: call, startNs: span.startNs } }),
    });
  }

  #callOf(span: Span, key: string): SpanCall | undefined {
    if (this.#calls >= this.#options.limits.maxCalls && !this.#spans.has(key)) {
      this.#lost("more calls than may be kept", "Raise maxCalls.");
      return undefined;
    }
    const found = callOfSpan(span, OTLP, this.#budget);
    if (found !== "nameless") return found;
    this.#lost("a call came without the name of its tool");
    return undefined;
  }

  #noteLosses(span: Span, isCall: boolean): void {
    if (span.dropped > 0 && isCall) this.#lost(`${span.dropped} attributes or events were dropped`);
    if (span.flags !== 0 && (span.flags & SAMPLED) === 0) this.#lost("a span was not sampled");
    if (/(?:^|[,;])ot=[^,]*th:(?!0(?:[;,]|$))/.test(span.traceState))
      this.#lost("the trace is sampled", "Sample all traces.");
  }

  #lost(detail: string, remedy?: string): void {
    this.#gaps.push(
      gap("trace_incomplete", PLACE, { detail, ...(remedy === undefined ? {} : { remedy }) }),
    );
  }

  recording(): Recording {
    if (!this.isHeard) return silent();
    const { declaredComplete } = this.#options;
    const gaps = [
      ...this.#gaps.folded(),
      ...this.#missingParents(),
      ...undeclared(declaredComplete),
    ];
    const sightings = this.#sightings();
    return { complete: declaredComplete, gaps, sightings, total: sightings.length };
  }

  #missingParents(): readonly ReturnType<typeof gap>[] {
    const missing = new Set<string>();
    for (const { parent, hasOuterParent } of this.#spans.values())
      if (parent !== "" && !hasOuterParent && !this.#spans.has(parent)) missing.add(parent);
    if (missing.size === 0) return [];
    const detail = `the parents of spans did not arrive: ${missing.size}`;
    return [gap("trace_incomplete", PLACE, { detail, count: missing.size })];
  }

  /** By their starts; those that began in the same moment have one number. */
  #sightings(): readonly IdentifiedSighting[] {
    const calls = [...this.#spans.values()]
      .flatMap(({ call }) => (call === undefined ? [] : [call]))
      .toSorted((a, b) => (a.startNs < b.startNs ? -1 : a.startNs > b.startNs ? 1 : 0));
    const idOf = sharedIds(
      calls.map(({ key, found }) => ({
        key,
        id: found.id,
        outer: this.#outerCall(key, found.call.name),
      })),
    );
    let sequence = 0;
    return calls.map(({ key, found, startNs }, index) => {
      if (index > 0 && calls[index - 1]?.startNs !== startNs) sequence = index;
      return { id: idOf.get(key), sighting: { ...found.call, sequence } };
    });
  }

  /** The nearest span around this one that is a call of the same tool. */
  #outerCall(key: string, name: string): string | undefined {
    let at = this.#spans.get(key)?.parent ?? "";
    for (let steps = 0; at !== "" && steps < MAX_ANCESTORS; steps += 1) {
      const span = this.#spans.get(at);
      if (span?.call?.found.call.name === name) return at;
      at = span?.parent ?? "";
    }
    return undefined;
  }
}

/** A span that is sent again is the same span; only one that had not ended has news. */
function hasEnded(earlier: KnownSpan | undefined): boolean {
  return earlier?.call !== undefined && earlier.call.found.call.outcome !== "unfinished";
}

function hasRemoteParent({ flags }: Span): boolean {
  return (flags & HAS_IS_REMOTE) !== 0 && (flags & IS_REMOTE) !== 0;
}

function keyOf(traceId: string, spanId: string): string {
  return `${traceId}:${spanId}`;
}

function isRoot(parentSpanId: string): boolean {
  return /^0*$/.test(parentSpanId);
}

function silent(): Recording {
  const gaps = [
    gap("evidence_kind_missing", PLACE, {
      detail: "no spans came",
      remedy: "Instrument the agent with OpenTelemetry, or record its calls with --calls.",
    }),
  ];
  return { complete: false, gaps, sightings: [], total: 0, isSilent: true };
}

function undeclared(declaredComplete: boolean): readonly ReturnType<typeof gap>[] {
  if (declaredComplete) return [];
  return [
    gap("trace_incomplete", PLACE, {
      detail: "spans that a process had not sent when it ended are lost in silence",
      remedy:
        "Record the calls with a calls file or the proxy, or declare with --otlp-complete that all arrive.",
    }),
  ];
}
