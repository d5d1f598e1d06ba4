import { RE2JS } from "re2js";
import { canonicalJson } from "./canonical-json.ts";
import type { GapCode } from "./gap.ts";
import type { Digest } from "./ids.ts";
import { jsonAt, type Matcher, type TextMatcher } from "./matcher.ts";
import { byteForms, byteText, comparable, encodedForms, withoutMark } from "./needle.ts";
import { bytesOf, type Content } from "./text.ts";

/** What a matcher found: it is there, it is not, or it cannot be told, and why not. */
export type Finding =
  | { readonly value: "present" }
  | { readonly value: "absent" }
  | { readonly value: "unknown"; readonly reason: GapCode };

/** What is known of a content beside its text. `digest` is absent where not every byte was read. */
export interface ContentFacts {
  readonly sizeBytes: number;
  readonly sha256?: Digest | undefined;
}

const PRESENT: Finding = { value: "present" };
const ABSENT: Finding = { value: "absent" };

/** The answer where something was cut: more of it could tell. */
const CUT: Finding = { value: "unknown", reason: "text_not_retained" };
const NOT_TEXT: Finding = { value: "unknown", reason: "not_text" };

/**
 * Decides a matcher over content: the one place where this is decided, live and on replay. `content` is undefined
 * where none was kept. No matcher asks for anything that is not empty. Absent is answered only over whole text in a known
 * encoding in which the text's own bytes do not occur either.
 */
export function matchContent(
  matcher: Matcher | undefined,
  facts: ContentFacts,
  content: Content | undefined,
): Finding {
  if (matcher === undefined) return facts.sizeBytes > 0 ? PRESENT : ABSENT;
  switch (matcher.kind) {
    case "empty":
      return facts.sizeBytes === 0 ? PRESENT : ABSENT;
    case "digest":
      if (facts.sha256 === undefined) return { value: "unknown", reason: "read_limit_exceeded" };
      return facts.sha256 === matcher.sha256 ? PRESENT : ABSENT;
    case "contains":
    case "equals":
    case "regex":
      return content === undefined ? CUT : matchText(matcher, content);
    case "json":
      return content === undefined ? CUT : matchJson(matcher.path, matcher.value, content);
  }
}

function matchText(matcher: TextMatcher, content: Content): Finding {
  if (content.encoding === "binary") return matchBinary(matcher, content.bytes, content.whole);
  const text = comparable(
    withoutMark(content.whole ? content.text : settled(content.text)),
    matcher,
  );
  switch (matcher.kind) {
    case "contains":
      if (containsText(matcher, text, content)) return PRESENT;
      if (!content.whole) return CUT;
      return hidesBytes(matcher, content) ? NOT_TEXT : ABSENT;
    case "equals":
      if (!content.whole) return CUT;
      return text === comparable(withoutMark(matcher.value), matcher) ? PRESENT : ABSENT;
    case "regex":
      if (!content.whole) return CUT;
      return RE2JS.compile(matcher.pattern, matcher.caseSensitive ? 0 : RE2JS.CASE_INSENSITIVE)
        .matcher(
          matcher.caseSensitive
            ? text
            : comparable(withoutMark(content.text), { ...matcher, caseSensitive: true }),
        )
        .find()
        ? PRESENT
        : ABSENT;
  }
}

function containsText(
  matcher: Extract<Matcher, { kind: "contains" }>,
  text: string,
  content: Extract<Content, { text: string }>,
): boolean {
  // As it stands first: composing could join the last letter of what was asked for with a mark that follows it.
  if (content.text.includes(matcher.value) || text.includes(comparable(matcher.value, matcher)))
    return true;
  return encodedForms(matcher).some((form) => content.text.includes(form));
}

/** Bytes that are not text cannot rule a match out, but the text's own bytes in them are a witness. */
function matchBinary(matcher: TextMatcher, bytes: Uint8Array, whole: boolean): Finding {
  if (matcher.kind === "contains" && holdsBytes(matcher, bytes)) return PRESENT;
  return whole ? NOT_TEXT : CUT;
}

function holdsBytes(matcher: Extract<Matcher, { kind: "contains" }>, bytes: Uint8Array): boolean {
  const hay = byteText(bytes);
  const forms = [...byteForms(matcher), ...encodedForms(matcher)];
  if (matcher.caseSensitive) return forms.some((form) => hay.includes(form));
  const folded = upperAscii(hay);
  return forms.some((form) => folded.includes(upperAscii(form)));
}

/** True where whole text, read as another encoding, would hold what was asked for: then the encoding may be guessed wrong. */
function hidesBytes(
  matcher: Extract<Matcher, { kind: "contains" }>,
  content: Extract<Content, { text: string }>,
): boolean {
  const asciiOnly = /^[\0-\x7f]*$/.test(matcher.value);
  // In valid UTF-8 without a NUL, the UTF-16 bytes of an ASCII text cannot occur.
  if (content.encoding === "utf-8" && asciiOnly) return false;
  return holdsBytes(matcher, bytesOf(content));
}

function matchJson(path: string, value: unknown, content: Content): Finding {
  if (content.encoding === "binary") return content.whole ? NOT_TEXT : CUT;
  if (!content.whole) return CUT;
  try {
    const found = jsonAt(withoutMark(content.text), path);
    return found !== undefined && canonicalJson(found) === canonicalJson(value) ? PRESENT : ABSENT;
  } catch {
    return NOT_TEXT;
  }
}

/** A cut text without its last characters, which could still have composed with what came after. */
function settled(text: string): string {
  return text.replace(/[^\p{M}]{0,3}\p{M}*$/u, "");
}

function upperAscii(text: string): string {
  return text.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}
