import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
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

/** What to do with each field of a message, by its number; all others are skipped. */
type Fields = Readonly<Record<number, (reader: BinaryReader, wire: WireType) => void>>;

/** Walks the fields of a message. Throws on a wrong length, an unknown wire type and a group deeper than 100. */
function walk(bytes: Uint8Array, fields: Fields): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    const take = fields[number];
    if (take === undefined) reader.skip(wire, number);
    else take(reader, wire);
  }
}

/** A field that must be a message, text or bytes: the sender's other types are refused, not read as something else. */
function bytesOf(reader: BinaryReader, wire: WireType): Uint8Array {
  if (wire !== WireType.LengthDelimited) throw new RangeError("a field is of another type");
  return reader.bytes();
}

function textOf(reader: BinaryReader, wire: WireType): string {
  return new TextDecoder().decode(bytesOf(reader, wire));
}

function hexOf(reader: BinaryReader, wire: WireType): string {
  return Buffer.from(bytesOf(reader, wire)).toString("hex");
}

function nanosecondsOf(reader: BinaryReader, wire: WireType): bigint {
  if (wire !== WireType.Bit64) throw new RangeError("a field is of another type");
  return BigInt(reader.fixed64());
}

function countOf(reader: BinaryReader, wire: WireType): number {
  if (wire !== WireType.Varint) throw new RangeError("a field is of another type");
  return reader.uint32();
}

/** Reads an ExportTraceServiceRequest span by span. Throws where the bytes are none. */
export function readProtobufSpans(body: Uint8Array, onSpan: OnSpan): void {
  walk(body, {
    1: (reader, wire) =>
      walk(bytesOf(reader, wire), {
        2: (ofResource, wireOfResource) =>
          walk(bytesOf(ofResource, wireOfResource), {
            2: (ofScope, wireOfScope) => onSpan(spanOf(bytesOf(ofScope, wireOfScope))),
          }),
      }),
  });
}

function spanOf(bytes: Uint8Array): Span {
  const attributes = new Map<string, AttributeValue>();
  const events: SpanEvent[] = [];
  const span = {
    traceId: "",
    spanId: "",
    parentSpanId: "",
    name: "",
    flags: 0,
    traceState: "",
    startNs: 0n,
    endNs: 0n,
    dropped: 0,
    isError: false,
  };
  walk(bytes, {
    1: (reader, wire) => (span.traceId = hexOf(reader, wire)),
    2: (reader, wire) => (span.spanId = hexOf(reader, wire)),
    3: (reader, wire) => (span.traceState = textOf(reader, wire)),
    4: (reader, wire) => (span.parentSpanId = hexOf(reader, wire)),
    5: (reader, wire) => (span.name = textOf(reader, wire)),
    7: (reader, wire) => (span.startNs = nanosecondsOf(reader, wire)),
    8: (reader, wire) => (span.endNs = nanosecondsOf(reader, wire)),
    9: (reader, wire) => (span.dropped += addAttribute(attributes, bytesOf(reader, wire))),
    10: (reader, wire) => (span.dropped += countOf(reader, wire)),
    11: (reader, wire) => (span.dropped += addEvent(events, bytesOf(reader, wire))),
    12: (reader, wire) => (span.dropped += countOf(reader, wire)),
    15: (reader, wire) => (span.isError = isErrorStatus(bytesOf(reader, wire))),
    16: (reader, wire) => {
      if (wire !== WireType.Bit32) throw new RangeError("a field is of another type");
      span.flags = reader.fixed32();
    },
  });
  return { ...span, attributes, events };
}

/** How many attributes were left out: none, or this one. */
function addAttribute(attributes: Map<string, AttributeValue>, bytes: Uint8Array): 0 | 1 {
  if (attributes.size >= OTLP_LIMITS.maxAttributes) return 1;
  const [key, value] = pairOf(bytes, (content) => {
    try {
      return valueOf(content, new NodeBudget(), 0);
    } catch {
      return CUT;
    }
  });
  attributes.set(key, value);
  return 0;
}

function addEvent(events: SpanEvent[], bytes: Uint8Array): number {
  if (events.length >= OTLP_LIMITS.maxEvents) return 1;
  const attributes = new Map<string, AttributeValue>();
  let name = "";
  let dropped = 0;
  walk(bytes, {
    2: (reader, wire) => (name = textOf(reader, wire)),
    3: (reader, wire) => (dropped += addAttribute(attributes, bytesOf(reader, wire))),
  });
  events.push({ name, attributes });
  return dropped;
}

function isErrorStatus(bytes: Uint8Array): boolean {
  let code = 0;
  walk(bytes, { 3: (reader, wire) => (code = countOf(reader, wire)) });
  return code === 2;
}

function pairOf(
  bytes: Uint8Array,
  read: (content: Uint8Array) => AttributeValue,
): readonly [string, AttributeValue] {
  let key = "";
  let value: AttributeValue = null;
  walk(bytes, {
    1: (reader, wire) => (key = textOf(reader, wire)),
    2: (reader, wire) => (value = read(bytesOf(reader, wire))),
  });
  return [key, value];
}

/** An AnyValue. Throws beyond the limits of `NodeBudget`. */
function valueOf(bytes: Uint8Array, budget: NodeBudget, depth: number): AttributeValue {
  budget.enter(depth);
  let value: AttributeValue = null;
  walk(bytes, {
    1: (reader, wire) => (value = textOf(reader, wire)),
    2: (reader, wire) => (value = countOf(reader, wire) !== 0),
    3: (reader, wire) => {
      if (wire !== WireType.Varint) throw new RangeError("a field is of another type");
      value = integerOf(BigInt(reader.int64()));
    },
    4: (reader, wire) => {
      if (wire !== WireType.Bit64) throw new RangeError("a field is of another type");
      value = reader.double();
    },
    5: (reader, wire) => (value = listOf(bytesOf(reader, wire), budget, depth + 1)),
    6: (reader, wire) => (value = mapOf(bytesOf(reader, wire), budget, depth + 1)),
    7: (reader, wire) => (value = Buffer.from(bytesOf(reader, wire)).toString("base64")),
  });
  return value;
}

function listOf(bytes: Uint8Array, budget: NodeBudget, depth: number): AttributeValue {
  const items: AttributeValue[] = [];
  walk(bytes, { 1: (reader, wire) => items.push(valueOf(bytesOf(reader, wire), budget, depth)) });
  return items;
}

function mapOf(bytes: Uint8Array, budget: NodeBudget, depth: number): AttributeValue {
  const pairs: (readonly [string, AttributeValue])[] = [];
  walk(bytes, {
    1: (reader, wire) =>
      pairs.push(pairOf(bytesOf(reader, wire), (content) => valueOf(content, budget, depth))),
  });
  return objectOf(pairs);
}
