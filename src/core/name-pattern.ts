import { UpheldError } from "./errors.ts";

type Token = { readonly kind: "star" } | { readonly kind: "one"; matches(char: string): boolean };

/** Any one character. */
const ANY: Token = { kind: "one", matches: () => true };

/**
 * Reads the pattern of one name: `*` is any text, also none; `?` one character; `[a-z]`, `[!a]` and `[^a]` one of, or none of,
 * these; all else stands for itself. Matches in time proportional to the two lengths' product, whatever the name.
 * Throws "glob_invalid".
 */
export function parseNamePattern(pattern: string): (name: string) => boolean {
  if (!/[*?[]/.test(pattern)) return literalName(pattern);
  const tokens = tokensOf(pattern.normalize("NFC"));
  return (name) => {
    if (matches(tokens, Array.from(name))) return true;
    const composed = name.normalize("NFC");
    return composed !== name && matches(tokens, Array.from(composed));
  };
}

/** Names are compared as stored and in their composed form. */
export function literalName(wanted: string): (name: string) => boolean {
  const composed = wanted.normalize("NFC");
  return (name) => name === wanted || name.normalize("NFC") === composed;
}

/** Only the last star is ever gone back to: what an earlier one took more of, a later one can take as well. */
function matches(tokens: readonly Token[], chars: readonly string[]): boolean {
  let token = 0;
  let char = 0;
  let star = -1;
  let resume = 0;
  while (char < chars.length) {
    const current = tokens[token];
    if (current?.kind === "star") {
      star = token;
      resume = char;
      token += 1;
    } else if (current?.matches(chars[char] ?? "") === true) {
      token += 1;
      char += 1;
    } else if (star === -1) return false;
    else {
      resume += 1;
      char = resume;
      token = star + 1;
    }
  }
  return tokens.slice(token).every((left) => left.kind === "star");
}

function tokensOf(pattern: string): readonly Token[] {
  const chars = Array.from(pattern);
  const tokens: Token[] = [];
  for (let at = 0; at < chars.length; at += 1) {
    const char = chars[at] ?? "";
    if (char === "*") tokens.push({ kind: "star" });
    else if (char === "?") tokens.push(ANY);
    else if (char === "[") {
      const end = endOfClass(chars, at);
      if (end === -1) throw refusal(pattern, 'a "[" is not closed');
      tokens.push(classOf(chars.slice(at + 1, end), pattern));
      at = end;
    } else tokens.push({ kind: "one", matches: (other) => other === char });
  }
  return tokens;
}

/** A "]" right after the opening, or after its negation, stands for itself. */
function endOfClass(chars: readonly string[], opening: number): number {
  const first = isNegation(chars[opening + 1]) ? opening + 2 : opening + 1;
  return chars.indexOf("]", first + 1);
}

function isNegation(char: string | undefined): boolean {
  return char === "!" || char === "^";
}

function classOf(inner: readonly string[], pattern: string): Token {
  const negated = isNegation(inner[0]);
  const members = negated ? inner.slice(1) : inner;
  const ranges: (readonly [number, number])[] = [];
  for (let at = 0; at < members.length; at += 1) {
    const from = codeOf(members[at]);
    const isRange = members[at + 1] === "-" && at + 2 < members.length;
    const to = isRange ? codeOf(members[at + 2]) : from;
    if (to < from) throw refusal(pattern, "a range runs backwards");
    ranges.push([from, to]);
    if (isRange) at += 2;
  }
  return {
    kind: "one",
    matches(char) {
      const code = codeOf(char);
      return ranges.some(([from, to]) => code >= from && code <= to) !== negated;
    },
  };
}

function codeOf(char: string | undefined): number {
  return char?.codePointAt(0) ?? 0;
}

function refusal(pattern: string, why: string): UpheldError {
  return new UpheldError("glob_invalid", `pattern segment ${JSON.stringify(pattern)}: ${why}`);
}
