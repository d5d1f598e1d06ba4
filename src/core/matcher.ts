import { RE2JS } from "re2js";
import { z } from "zod";
import { parseStrictJson } from "./strict-json.ts";
import { Digest } from "./ids.ts";
import { isWellFormed } from "./canonical-json.ts";
import { fingerprint } from "./fingerprint.ts";

/** The fewest bytes that are looked for in base64 and hex. */
export const MIN_ENCODED_BYTES = 6;

const HALF_PAIR = "the text holds half a surrogate pair, which no content can hold";

const text = {
  /** Upper and lower case differ unless told otherwise. */
  caseSensitive: z.boolean().default(true),
  /** "any": CR, CRLF and LF are alike. Nothing is ever trimmed. */
  lineEndings: z.enum(["any", "exact"]).default("any"),
  /** "nfc": composed and decomposed forms are alike. */
  unicode: z.enum(["nfc", "raw"]).default("nfc"),
};

const json: z.ZodType<JsonTarget> = z.json();
type JsonTarget = z.core.util.JSONType;

export const Matcher = z.discriminatedUnion("kind", [
  z
    .strictObject({
      kind: z.literal("contains"),
      value: z
        .string()
        .min(1, "an empty text is contained in everything; ask for what must be there")
        .refine(isWellFormed, HALF_PAIR),
      ...text,
      /** Also find the text written in these encodings. */
      alsoEncoded: z
        .array(z.enum(["base64", "hex", "url"]))
        .readonly()
        .default([]),
    })
    .readonly()
    .refine(
      ({ alsoEncoded, value }) =>
        alsoEncoded.every((encoding) => encoding === "url") ||
        new TextEncoder().encode(value).length >= MIN_ENCODED_BYTES,
      `the base64 and hex of fewer than ${MIN_ENCODED_BYTES} bytes stand in any text by chance`,
    ),
  z
    .strictObject({
      kind: z.literal("equals"),
      value: z.string().refine(isWellFormed, HALF_PAIR),
      ...text,
    })
    .readonly(),
  z
    .strictObject({
      kind: z.literal("regex"),
      /** RE2 syntax, linear time; found anywhere in the text. */
      pattern: z
        .string()
        .min(1)
        .refine(isWellFormed, HALF_PAIR)
        .refine(isRegex, "not a pattern in RE2 syntax"),
      ...text,
    })
    .readonly(),
  z.strictObject({ kind: z.literal("digest"), sha256: Digest }).readonly(),
  z
    .strictObject({
      kind: z.literal("json"),
      /** A JSON pointer (RFC 6901): "" is the whole document, "/order/status" a member. */
      path: z
        .string()
        .regex(/^(\/([^~/]|~[01])*)*$/, "expected a JSON pointer such as /order/status"),
      value: json,
    })
    .readonly(),
  z.strictObject({ kind: z.literal("empty") }).readonly(),
]);
/** What content must be like. Every option is recorded with its default. */
export type Matcher = z.infer<typeof Matcher>;
export type MatcherInput = z.input<typeof Matcher>;
export type TextMatcher = Extract<Matcher, { kind: "contains" | "equals" | "regex" }>;

const fingerprints = new WeakMap<Matcher, Digest>();

/** The name under which an observation records what a matcher found; it does not tell the text. */
export function matcherFingerprint(matcher: Matcher): Digest {
  // Asked for each location that a matcher is decided over.
  const known = fingerprints.get(matcher) ?? fingerprint(matcher);
  fingerprints.set(matcher, known);
  return known;
}

/** One line for a rationale: the kind and the options that were used, never the text. */
export function describeMatcher(matcher: Matcher | undefined): string {
  if (matcher === undefined) return "any content that is not empty";
  switch (matcher.kind) {
    case "contains":
      return `contains a text (${textOptions(matcher)}${matcher.alsoEncoded.length === 0 ? "" : `, also as ${matcher.alsoEncoded.join(", ")}`})`;
    case "equals":
      return `equals a text (${textOptions(matcher)})`;
    case "regex":
      return `matches a pattern (${textOptions(matcher)})`;
    case "digest":
      return "has a digest";
    case "json":
      return `has a value at ${matcher.path === "" ? "its top" : matcher.path}`;
    case "empty":
      return "is empty";
  }
}

function textOptions(matcher: TextMatcher): string {
  return [
    matcher.caseSensitive ? "case sensitive" : "case ignored",
    `line endings ${matcher.lineEndings}`,
    `unicode ${matcher.unicode}`,
  ].join(", ");
}

function isRegex(pattern: string): boolean {
  try {
    RE2JS.compile(pattern);
    RE2JS.compile(pattern.normalize("NFC"));
    return true;
  } catch {
    return false;
  }
}

/** The value at a JSON pointer, or undefined where there is none. Throws "json_invalid" where the text is no JSON. */
export function jsonAt(text: string, pointer: string): unknown {
  const steps = pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  return steps.reduce<unknown>((value, step) => {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step))
      return undefined;
    // A list has no members but its items, which are numbered without leading zeros.
    if (Array.isArray(value) && !/^(0|[1-9][0-9]*)$/.test(step)) return undefined;
    return (value as Readonly<Record<string, unknown>>)[step];
  }, parseStrictJson(text));
}
