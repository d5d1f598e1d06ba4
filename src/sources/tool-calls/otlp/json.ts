import {
  CUT,
  integerOf,
  NodeBudget,
  objectOf,
  OTLP_LIMITS,
  type AttributeValue,
  type OnSpan,
  type Span,
  type SpanEvent,
} from "./span.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Reads an ExportTraceServiceRequest in JSON span by span. Throws where the text is none, or nests too deeply. */
export function readJsonSpans(body: Uint8Array, onSpan: OnSpan): void {
  refuseBombs(body);
  const request = fieldsOf(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)));
  for (const resource of listIn(request, "resourceSpans"))
    for (const scope of listIn(fieldsOf(resource), "scopeSpans"))
      for (const span of listIn(fieldsOf(scope), "spans")) onSpan(spanOf(fieldsOf(span)));
}

/** Counts objects and depth on the bytes, before anything is built of them. */
function refuseBombs(body: Uint8Array): void {
  let depth = 0;
  let objects = 0;
  for (let at = 0; at < body.length; at += 1) {
    const step = STEPS[body[at] ?? 0];
    if (step === TEXT) at = endOfText(body, at);
    depth += step === OPEN ? 1 : step === CLOSE ? -1 : 0;
    objects += step === OPEN ? 1 : 0;
    if (depth > OTLP_LIMITS.maxJsonDepth || objects > OTLP_LIMITS.maxJsonObjects)
      throw new RangeError("the JSON has too many objects, or nests too deeply");
  }
}

const [OPEN, CLOSE, TEXT] = [1, 2, 3];
const STEPS = new Uint8Array(256);
for (const [characters, step] of [
  ["{[", OPEN],
  ["}]", CLOSE],
  ['"', TEXT],
] as const)
  for (const byte of Buffer.from(characters)) STEPS[byte] = step;

/** Where the quote is that ends the text which begins here. */
function endOfText(body: Uint8Array, from: number): number {
  const [quote, backslash] = [0x22, 0x5c];
  for (let at = from + 1; at < body.length; at += 1) {
    if (body[at] === quote) return at;
    if (body[at] === backslash) at += 1;
  }
  return body.length;
}

function fieldsOf(value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new TypeError("an object was expected");
  return value as Fields; // a plain object of parsed JSON
}

function listIn(fields: Fields, key: string): readonly unknown[] {
  const value = fields[key] ?? [];
  if (!Array.isArray(value)) throw new TypeError(`${key} must be a list`);
  return value;
}

function textIn(fields: Fields, key: string): string {
  const value = fields[key];
  return typeof value === "string" ? value : "";
}

function countIn(fields: Fields, key: string): number {
  const value = fields[key];
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}

/** Whole numbers of 64 bits come as text, from some senders as numbers. */
function wholeOf(value: unknown): bigint {
  if (typeof value === "string" && /^-?\d{1,20}$/.test(value)) return BigInt(value);
  return typeof value === "number" && Number.isInteger(value) ? BigInt(value) : 0n;
}

function spanOf(fields: Fields): Span {
  const { attributes, left } = attributesIn(fields);
  const { events, left: leftOfEvents } = eventsIn(fields);
  const status = fields["status"] === undefined ? {} : fieldsOf(fields["status"]);
  return {
    traceId: textIn(fields, "traceId").toLowerCase(),
    spanId: textIn(fields, "spanId").toLowerCase(),
    parentSpanId: textIn(fields, "parentSpanId").toLowerCase(),
    name: textIn(fields, "name"),
    flags: countIn(fields, "flags"),
    traceState: textIn(fields, "traceState"),
    startNs: wholeOf(fields["startTimeUnixNano"]),
    endNs: wholeOf(fields["endTimeUnixNano"]),
    attributes,
    events,
    dropped:
      left +
      leftOfEvents +
      countIn(fields, "droppedAttributesCount") +
      countIn(fields, "droppedEventsCount"),
    isError: status["code"] === 2 || status["code"] === "STATUS_CODE_ERROR",
  };
}

function eventsIn(fields: Fields): {
  readonly events: readonly SpanEvent[];
  readonly left: number;
} {
  const all = listIn(fields, "events");
  let left = Math.max(0, all.length - OTLP_LIMITS.maxEvents);
  const events = all.slice(0, OTLP_LIMITS.maxEvents).map((each) => {
    const event = fieldsOf(each);
    const read = attributesIn(event);
    left += read.left;
    return { name: textIn(event, "name"), attributes: read.attributes };
  });
  return { events, left };
}

function attributesIn(fields: Fields): {
  readonly attributes: ReadonlyMap<string, AttributeValue>;
  readonly left: number;
} {
  const all = listIn(fields, "attributes");
  const attributes = new Map<string, AttributeValue>();
  for (const each of all.slice(0, OTLP_LIMITS.maxAttributes)) {
    const pair = fieldsOf(each);
    attributes.set(textIn(pair, "key"), readValue(pair["value"]));
  }
  return { attributes, left: Math.max(0, all.length - OTLP_LIMITS.maxAttributes) };
}

function readValue(value: unknown): AttributeValue {
  try {
    return valueOf(value, new NodeBudget(), 0);
  } catch {
    return CUT;
  }
}

function valueOf(value: unknown, budget: NodeBudget, depth: number): AttributeValue {
  budget.enter(depth);
  if (value === undefined || value === null) return null;
  const fields = fieldsOf(value);
  const [kind = ""] = Object.keys(fields);
  const read = READERS[kind];
  const content = fields[kind];
  if (read !== undefined) return read(content, (each) => valueOf(each, budget, depth + 1));
  return typeof content === "string" ? content : null;
}

type ReadPart = (value: unknown) => AttributeValue;

/** How the values that are no text are read, by their names. */
const READERS: Readonly<Record<string, (content: unknown, part: ReadPart) => AttributeValue>> = {
  intValue: (content) => integerOf(wholeOf(content)),
  doubleValue: (content) => (typeof content === "number" ? content : String(content)),
  boolValue: (content) => content === true,
  arrayValue: (content, part) => listIn(fieldsOf(content), "values").map(part),
  kvlistValue: (content, part) =>
    objectOf(
      listIn(fieldsOf(content), "values").map((each) => {
        const pair = fieldsOf(each);
        return [textIn(pair, "key"), part(pair["value"])] as const;
      }),
    ),
};
