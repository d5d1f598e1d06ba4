import { RE2JS } from "re2js";
import { canonicalJson } from "./canonical-json.ts";
import type { GapCode } from "./gap.ts";
import type { Digest } from "./ids.ts";
import { knownSpans } from "./mask.ts";
import { jsonAt, type Matcher, type TextMatcher } from "./matcher.ts";
import { byteForms, byteText, comparable, encodedIn, searchText, withoutMark } from "./needle.ts";
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

type Of<Kind extends Matcher["kind"]> = Extract<Matcher, { kind: Kind }>;

const PRESENT: Finding = { value: "present" };
const ABSENT: Finding = { value: "absent" };

/** The answer where something was cut: more of it could tell. */
const CUT: Finding = { value: "unknown", reason: "text_not_retained" };
const NOT_TEXT: Finding = { value: "unknown", reason: "not_text" };
const REDACTED: Finding = { value: "unknown", reason: "content_redacted" };

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
  if (matcher === undefined) return presentWhen(facts.sizeBytes > 0);
  switch (matcher.kind) {
    case "empty":
      return presentWhen(facts.sizeBytes === 0);
    case "digest":
      return isRedacted(content) && facts.sha256 === undefined
        ? REDACTED
        : matchDigest(matcher.sha256, facts.sha256);
    case "contains":
    case "equals":
    case "regex":
      return matchText(matcher, content);
    case "json":
      return matchJson(matcher.path, matcher.value, content);
  }
}

function presentWhen(isPresent: boolean): Finding {
  return isPresent ? PRESENT : ABSENT;
}

function matchDigest(wanted: Digest, found: Digest | undefined): Finding {
  return found === undefined
    ? { value: "unknown", reason: "read_limit_exceeded" }
    : presentWhen(found === wanted);
}

function matchText(matcher: TextMatcher, content: Content | undefined): Finding {
  if (content === undefined) return CUT;
  if (content.encoding === "binary") return matchBinary(matcher, content.bytes, content.whole);
  if (content.redacted === true) return isFoundBetweenMasks(matcher, content) ? PRESENT : REDACTED;
  if (matcher.kind === "contains") return matchContains(matcher, content);
  if (!content.whole) return CUT;
  return matcher.kind === "equals" ? matchEquals(matcher, content) : matchRegex(matcher, content);
}

type TextContent = Extract<Content, { text: string }>;

function matchContains(matcher: Of<"contains">, content: TextContent): Finding {
  if (containsText(matcher, content)) return PRESENT;
  if (!content.whole) return CUT;
  return mayBeMisread(matcher, content) && holdsBytes(matcher, bytesOf(content))
    ? NOT_TEXT
    : ABSENT;
}

function matchEquals(matcher: Of<"equals">, content: TextContent): Finding {
  const wanted = comparable(withoutMark(matcher.value), matcher);
  if (comparable(withoutMark(content.text), matcher) === wanted) return PRESENT;
  return mayBeMisread(matcher, content) && isOneOf(byteForms(matcher), bytesOf(content))
    ? NOT_TEXT
    : ABSENT;
}

/** Over the text as it stands, and with its line endings and composed forms made alike. */
function matchRegex(matcher: Of<"regex">, content: TextContent): Finding {
  const raw = withoutMark(content.text);
  const alike = comparable(raw, { ...matcher, caseSensitive: true });
  const pattern = matcher.unicode === "nfc" ? matcher.pattern.normalize("NFC") : matcher.pattern;
  const regex = RE2JS.compile(pattern, matcher.caseSensitive ? 0 : RE2JS.CASE_INSENSITIVE);
  return presentWhen(regex.matcher(alike).find() || (alike !== raw && regex.matcher(raw).find()));
}

function containsText(matcher: Of<"contains">, content: TextContent): boolean {
  // As it stands first: composing could join the last letter of what was asked for with a mark that follows it.
  if (content.text.includes(matcher.value)) return true;
  const text = comparable(
    withoutMark(content.whole ? content.text : settled(content.text)),
    matcher,
  );
  return text.includes(comparable(matcher.value, matcher)) || holdsEncoded(matcher, content);
}

function holdsEncoded(matcher: Of<"contains">, { text }: TextContent): boolean {
  if (matcher.alsoEncoded.length === 0) return false;
  return encodedIn(matcher, byteText(new TextEncoder().encode(text)), text);
}

function isRedacted(content: Content | undefined): boolean {
  return content !== undefined && content.encoding !== "binary" && content.redacted === true;
}

/** A mask stands for anything: only what stands between masks is a witness, and nothing is ruled out. */
function isFoundBetweenMasks(matcher: TextMatcher, content: TextContent): boolean {
  const spans = knownSpans(content.text);
  switch (matcher.kind) {
    case "equals":
      return false;
    case "contains":
      return spans.some((text, index) => {
        const known = { ...content, text, redacted: false, whole: false };
        if (text.includes(matcher.value)) return true;
        return containsText(matcher, index === 0 ? known : { ...known, text: begun(text) });
      });
    case "regex":
      // What a pattern says of edges or neighbours could be true of a span alone.
      if (!content.whole || /[\\^$]/.test(matcher.pattern)) return false;
      return spans.some((text) => matchRegex(matcher, { ...content, text }).value === "present");
  }
}

/** A text without its first characters, which could have composed with what stood before. */
function begun(text: string): string {
  return text.replace(/^.?[\p{M}\u1160-\u11FF]*/su, "");
}

/** Bytes that are not text cannot rule a match out, but the text's own bytes in them are a witness. */
function matchBinary(matcher: TextMatcher, bytes: Uint8Array, whole: boolean): Finding {
  if (matcher.kind === "contains" && holdsBytes(matcher, bytes)) return PRESENT;
  return whole ? NOT_TEXT : CUT;
}

function holdsBytes(matcher: Of<"contains">, bytes: Uint8Array): boolean {
  if (matcher.alsoEncoded.length > 0) {
    const hay = byteText(bytes);
    if (encodedIn(matcher, hay, hay)) return true;
  }
  const alike = matcher.caseSensitive ? (text: string) => text : upperAscii;
  const forms = byteForms(matcher).map((form) => alike(searchText(form)));
  const overlap = Math.max(...forms.map((form) => form.length)) - 1;
  // A piece at a time: as a text, the bytes take their size again.
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    const piece = alike(searchText(bytes.subarray(at, at + PIECE_BYTES + overlap)));
    if (forms.some((form) => piece.includes(form))) return true;
  }
  return false;
}

function isOneOf(forms: readonly Uint8Array[], bytes: Uint8Array): boolean {
  return forms.some(
    (form) => form.length === bytes.length && form.every((byte, index) => byte === bytes[index]),
  );
}

/** Bytes that are searched at a time. */
const PIECE_BYTES = 1 << 18;

/** True where the encoding of whole text may be guessed wrong, so that what was asked for could stand in it unseen. */
function mayBeMisread(matcher: Of<"contains" | "equals">, content: TextContent): boolean {
  const isAscii = /^[\0-\x7f]*$/.test(matcher.value);
  // In UTF-8 without a NUL, the UTF-16 bytes of an ASCII text cannot occur.
  return content.encoding !== "utf-8" || !isAscii || content.text.includes("\0");
}

function matchJson(path: string, value: unknown, content: Content | undefined): Finding {
  if (content === undefined) return CUT;
  if (content.encoding === "binary") return content.whole ? NOT_TEXT : CUT;
  if (content.redacted === true) return REDACTED;
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
  let end = text.length;
  while (end > 0 && isMark(text, end)) end = before(text, end);
  for (let dropped = 0; dropped < 3 && end > 0 && !isMark(text, end); dropped += 1)
    end = before(text, end);
  while (end > 0 && isHangul(text, end)) end -= 1;
  return text.slice(0, end);
}

/** Where the character that ends at `end` starts. */
function before(text: string, end: number): number {
  const isPair = end > 1 && (text.codePointAt(end - 2) ?? 0) > 0xffff;
  return isPair ? end - 2 : end - 1;
}

/** Letters that compose with the letter after them. */
function isHangul(text: string, end: number): boolean {
  return /^[\u1100-\u11FF\uAC00-\uD7A3]$/.test(text.slice(end - 1, end));
}

function isMark(text: string, end: number): boolean {
  return /^\p{M}$/u.test(text.slice(before(text, end), end));
}

function upperAscii(text: string): string {
  return text.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}
