/** What an attribute holds. `CUT` stands for one that was too large or too deep to be read. */
export type AttributeValue =
  | string
  | number
  | boolean
  | null
  | typeof CUT
  | readonly AttributeValue[]
  | { readonly [key: string]: AttributeValue };

export const CUT = Symbol("cut");

export type Attributes = ReadonlyMap<string, AttributeValue>;

export interface SpanEvent {
  readonly name: string;
  readonly attributes: Attributes;
}

/** A span as both encodings bring it. Ids are lower-case hex; times are nanoseconds, 0 where there is none. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly flags: number;
  readonly traceState: string;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  /** Attributes and events that the sender, or we, left out. */
  readonly dropped: number;
  readonly isError: boolean;
}

export type OnSpan = (span: Span) => void;

/** How much of one body is looked at; the rest is refused or counted. */
export const OTLP_LIMITS = {
  maxBodyBytes: 33_554_432,
  maxInFlightBytes: 67_108_864,
  maxAttributes: 1_000,
  maxEvents: 1_000,
  maxNodes: 20_000,
  maxDepth: 60,
  maxJsonObjects: 1_000_000,
  maxJsonDepth: 200,
} as const;

/** Counts the parts of one value, so that none is larger or deeper than may be. */
export class NodeBudget {
  #nodes = 0;

  /** Throws "RangeError" beyond the limits. */
  enter(depth: number): void {
    this.#nodes += 1;
    if (this.#nodes > OTLP_LIMITS.maxNodes || depth > OTLP_LIMITS.maxDepth)
      throw new RangeError("the attribute is too large or too deep");
  }
}

/** An object without a prototype, so that no key of a span means anything else. */
export function objectOf(entries: Iterable<readonly [string, AttributeValue]>): {
  readonly [key: string]: AttributeValue;
} {
  const object: Record<string, AttributeValue> = Object.create(null);
  for (const [key, value] of entries) object[key] = value;
  return object;
}

const LARGEST_EXACT = BigInt(Number.MAX_SAFE_INTEGER);

/** A whole number as a number where that is exact, else as its digits. */
export function integerOf(value: bigint): number | string {
  return value <= LARGEST_EXACT && value >= -LARGEST_EXACT ? Number(value) : String(value);
}
