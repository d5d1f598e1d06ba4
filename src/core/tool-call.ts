import { z } from "zod";
import { canonicalJson, isWellFormed } from "./canonical-json.ts";
import { Gap } from "./gap.ts";
import { parseStrictJson } from "./strict-json.ts";
import { Timestamp } from "./timestamp.ts";

/**
 * How a call ended. "ok": the tool did its work. "refused": the world said no. "error": it crashed. "unfinished": no end of it
 * was recorded. Only an ok call is an effect; the others stay attempts.
 */
export const CallOutcome = z.enum(["ok", "refused", "error", "unfinished"]);
export type CallOutcome = z.infer<typeof CallOutcome>;

/** Who says so: a proxy that stood between agent and tool recorded it, or the agent reported it of itself. */
export const Provenance = z.enum(["recorded", "reported"]);
export type Provenance = z.infer<typeof Provenance>;

const redacted = { redacted: z.boolean().optional() };

/**
 * Arguments or a result. "json": the whole value, as canonical JSON text. "text": the whole value, which is no JSON that can be
 * read without loss. "cut": only its head was kept; `sizeBytes` is how large it was, as far as that is known. `redacted`: secrets
 * were removed from it.
 */
export const CallValue = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("json"), text: z.string().min(1), ...redacted }).readonly(),
  z.object({ kind: z.literal("text"), text: z.string(), ...redacted }).readonly(),
  z
    .object({
      kind: z.literal("cut"),
      head: z.string(),
      sizeBytes: z.int().min(0).optional(),
      ...redacted,
    })
    .readonly(),
]);
export type CallValue = z.infer<typeof CallValue>;

/** One recorder's record of one call. What it did not record is absent. */
export const Sighting = z
  .object({
    recorder: z.string().min(1),
    provenance: Provenance,
    /** The program that made the record, where it says so. */
    by: z.string().min(1).optional(),
    /** Orders the sightings of one recorder. Equal numbers: which came first is not known. */
    sequence: z.int().min(0),
    /** The tool. `redacted`: a secret was removed from its name. */
    name: z.string().min(1),
    ...redacted,
    arguments: CallValue.optional(),
    result: CallValue.optional(),
    outcome: CallOutcome,
    startedAt: Timestamp.optional(),
    endedAt: Timestamp.optional(),
  })
  .readonly();
export type Sighting = z.infer<typeof Sighting>;

/** One call of a tool, by all that saw it. Sightings with one id are of one call, also where they contradict each other. */
export const ToolCall = z
  .object({
    /** Its location among the calls of the run: "calls:/3". */
    uri: z.string().min(1),
    id: z.string().min(1).optional(),
    sightings: z.tuple([Sighting], Sighting).readonly(),
  })
  .readonly();
export type ToolCall = z.infer<typeof ToolCall>;

/** One way on which calls came in, and whether it is known to have brought all of the run. */
export const Recorder = z
  .object({
    name: z.string().min(1),
    kind: z.enum(["calls-file", "otlp"]),
    /** True where every call of the run is among its sightings; a gap takes that back. */
    complete: z.boolean(),
    gaps: z.array(Gap).readonly(),
    /** Calls of it that are in the payload, and how many it saw. */
    shown: z.int().min(0),
    total: z.int().min(0),
  })
  .readonly()
  .refine(({ shown, total }) => shown <= total, "more calls are shown than there were");
export type Recorder = z.infer<typeof Recorder>;

/** A fact of a call on which its sightings agree, or not. */
export type Settled<T> =
  | { readonly kind: "known"; readonly value: T }
  | { readonly kind: "not_recorded" }
  | { readonly kind: "contradicted"; readonly values: readonly T[] };

/** The outcome that the sightings agree on. One that saw no end does not contradict one that did. */
export function outcomeOf({ sightings }: ToolCall): Settled<CallOutcome> {
  const outcomes = sightings.map(({ outcome }) => outcome);
  const ended = outcomes.filter((outcome) => outcome !== "unfinished");
  return agreed(ended.length === 0 ? outcomes : ended, (outcome) => outcome);
}

export function nameOf({ sightings }: ToolCall): Settled<string> {
  return agreed(
    sightings.map(({ name }) => name),
    (name) => name,
  );
}

/** The arguments: what one recorder kept whole stands for what another cut. */
export function argumentsOf({ sightings }: ToolCall): Settled<CallValue> {
  return settledValue(sightings.map((each) => each.arguments));
}

export function resultOf({ sightings }: ToolCall): Settled<CallValue> {
  return settledValue(sightings.map((each) => each.result));
}

function settledValue(values: readonly (CallValue | undefined)[]): Settled<CallValue> {
  const recorded = values.filter((value) => value !== undefined);
  const whole = recorded.filter((value) => value.kind !== "cut");
  return agreed(whole.length === 0 ? recorded : whole, (value) => canonicalJson(value));
}

function agreed<T>(values: readonly T[], keyOf: (value: T) => string): Settled<T> {
  const [first] = values;
  if (first === undefined) return { kind: "not_recorded" };
  if (values.length === 1) return { kind: "known", value: first };
  const distinct = [...new Map(values.map((value) => [keyOf(value), value])).values()];
  return distinct.length === 1
    ? { kind: "known", value: first }
    : { kind: "contradicted", values: distinct };
}

/** The name to show: the first that was recorded. */
export function shownName({ sightings: [first] }: ToolCall): string {
  return first.name;
}

/** The outcome to show, by which calls are counted; contradictions count as the worst that was recorded. */
export function shownOutcome(call: ToolCall): CallOutcome {
  const outcome = outcomeOf(call);
  switch (outcome.kind) {
    case "known":
      return outcome.value;
    case "contradicted":
      return WORST.find((each) => outcome.values.includes(each)) ?? "unfinished";
    case "not_recorded":
      return "unfinished";
  }
}

const WORST: readonly CallOutcome[] = ["error", "refused", "unfinished", "ok"];

/** A value as it is kept: whole up to `maxBytes` of UTF-8, else its head with its size. */
export function callValue(value: unknown, maxBytes: number): CallValue {
  try {
    const text = canonicalJson(value);
    return fits(text, maxBytes) ? { kind: "json", text } : cutValue(text, maxBytes);
  } catch {
    return callText(String(value), maxBytes);
  }
}

/** A value that was recorded as text: as JSON where it is JSON that can be read without loss. */
export function callText(given: string, maxBytes: number): CallValue {
  const text = wellFormed(given);
  if (!fits(text, maxBytes)) return cutValue(text, maxBytes);
  const value = jsonOf(text);
  // JSON can grow in its canonical form: 1e20 has 21 digits.
  return value !== undefined && fits(value, maxBytes)
    ? { kind: "json", text: value }
    : { kind: "text", text };
}

function jsonOf(text: string): string | undefined {
  try {
    return canonicalJson(parseStrictJson(text));
  } catch {
    return undefined;
  }
}

/** Text with half surrogate pairs replaced, so that it has UTF-8 bytes. */
export function wellFormed(text: string): string {
  return isWellFormed(text) ? text : text.replaceAll(/\p{Surrogate}/gu, "\u{FFFD}");
}

function fits(text: string, maxBytes: number): boolean {
  return text.length <= maxBytes && new TextEncoder().encode(text).length <= maxBytes;
}

function cutValue(text: string, maxBytes: number): CallValue {
  return {
    kind: "cut",
    head: headOf(text, maxBytes),
    sizeBytes: new TextEncoder().encode(text).length,
  };
}

/** The longest head of a text that has at most so many bytes of UTF-8; no character is split. */
export function headOf(text: string, maxBytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}
