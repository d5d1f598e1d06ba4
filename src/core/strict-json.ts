import { isWellFormed, MAX_JSON_DEPTH, refuseJson } from "./canonical-json.ts";
import type { JsonValue } from "./canonical-json.ts";
import { UpheldError } from "./errors.ts";

/** JSON in which a number is whatever its reader made of it. */
export type JsonTree<Numeral> =
  | null
  | boolean
  | string
  | Numeral
  | readonly JsonTree<Numeral>[]
  | { readonly [key: string]: JsonTree<Numeral> };

/** Makes something of a number as it is written, or says what would be lost of it. */
export type NumeralReader<Numeral> = (
  literal: string,
) => { readonly value: Numeral } | { readonly lost: string };

/** Where a strict reader stands. */
interface Cursor<Numeral> {
  readonly text: string;
  readonly numeralOf: NumeralReader<Numeral>;
  /** Looked at once for the whole text; only a text with escapes can then hold half a pair. */
  readonly isWellFormed: boolean;
  readonly path: (string | number)[];
  at: number;
}

/**
 * Reads JSON text (RFC 8259) without losing anything silently. Throws "json_invalid", naming the place, on
 * a syntax error, a duplicate key, nesting deeper than `MAX_JSON_DEPTH`, half a surrogate pair, a number
 * that overflows (1e400) or vanishes (1e-400), and a whole number whose digits a double does not keep
 * (9007199254740993). -0 reads as 0. A key named `__proto__` is an ordinary key.
 */
export function parseStrictJson(text: string): JsonValue {
  return parseJsonTree(text, doubleOf);
}

/** Reads JSON text as `parseStrictJson` does, with another reading of its numbers. */
export function parseJsonTree<Numeral>(
  text: string,
  numeralOf: NumeralReader<Numeral>,
): JsonTree<Numeral> {
  const cursor = { text, numeralOf, isWellFormed: isWellFormed(text), path: [], at: 0 };
  const value = readValue(cursor);
  skipSpace(cursor);
  if (cursor.at < text.length) {
    return refuseAt(cursor, "the text goes on after the value");
  }
  return value;
}

/** Reads UTF-8 JSON. Throws "json_invalid" also on bytes that are not UTF-8 and on a byte order mark. */
export function parseStrictJsonBytes(bytes: Uint8Array): JsonValue {
  return parseStrictJson(decodeUtf8(bytes));
}

/** The text of UTF-8 bytes. Throws "json_invalid" on other bytes; a byte order mark stays. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new UpheldError("json_invalid", "JSON must be UTF-8 text", { cause });
  }
}

function readValue<Numeral>(cursor: Cursor<Numeral>): JsonTree<Numeral> {
  skipSpace(cursor);
  switch (cursor.text.charAt(cursor.at)) {
    case "{":
      return readObject(cursor);
    case "[":
      return readArray(cursor);
    case '"':
      return readString(cursor);
    case "t":
      return readWord(cursor, "true", true);
    case "f":
      return readWord(cursor, "false", false);
    case "n":
      return readWord(cursor, "null", null);
    default:
      return readNumber(cursor);
  }
}

function readWord<Numeral, Word>(cursor: Cursor<Numeral>, word: string, value: Word): Word {
  if (!cursor.text.startsWith(word, cursor.at)) {
    return refuseAt(cursor, `"${word}" was expected`);
  }
  cursor.at += word.length;
  return value;
}

const numberForm = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

function readNumber<Numeral>(cursor: Cursor<Numeral>): Numeral {
  numberForm.lastIndex = cursor.at;
  const literal = numberForm.exec(cursor.text)?.[0];
  if (literal === undefined) {
    return refuseAt(cursor, "a JSON value was expected");
  }
  const numeral = cursor.numeralOf(literal);
  if ("lost" in numeral) {
    return refuseAt(cursor, numeral.lost);
  }
  cursor.at += literal.length;
  return numeral.value;
}

function doubleOf(literal: string): { readonly value: number } | { readonly lost: string } {
  const value = Number(literal);
  const lost = lostBy(literal, value);
  return lost === null ? { value: value === 0 ? 0 : value } : { lost };
}

/** What a double would lose of a literal, or null. A literal with a fraction or an exponent may be rounded. */
function lostBy(literal: string, value: number): string | null {
  if (Number.isSafeInteger(value) && value !== 0) {
    return null;
  }
  if (!Number.isFinite(value)) {
    return "the number is too large for a double";
  }
  if (value === 0) {
    return /^[-0.]*[1-9]/.test(literal) ? "the number is too small for a double" : null;
  }
  const isWhole = /^-?[0-9]+$/.test(literal);
  return isWhole && String(value) !== literal
    ? "the whole number is not exact as a double; write it as text"
    : null;
}

function readString(cursor: Cursor<unknown>): string {
  const from = cursor.at;
  const hasEscape = skipString(cursor);
  const value = hasEscape ? unescape(cursor, from) : cursor.text.slice(from + 1, cursor.at - 1);
  const isSound = (cursor.isWellFormed && !hasEscape) || isWellFormed(value);
  return isSound ? value : refuseAt(cursor, "the text holds half a surrogate pair");
}

/** Moves behind the closing quote and says whether there was an escape. */
function skipString(cursor: Cursor<unknown>): boolean {
  const { text } = cursor;
  let hasEscape = false;
  let at = cursor.at + 1;
  for (let unit = text.charCodeAt(at); unit !== 0x22; unit = text.charCodeAt(at)) {
    // Also true for NaN, the unit behind the end of the text.
    if (!(unit >= 0x20)) {
      cursor.at = at;
      return refuseAt(cursor, "the text is not closed or holds a control character");
    }
    const isEscape = unit === 0x5c;
    hasEscape ||= isEscape;
    at += isEscape ? 2 : 1;
  }
  cursor.at = at + 1;
  return hasEscape;
}

function unescape(cursor: Cursor<unknown>, from: number): string {
  try {
    return String(JSON.parse(cursor.text.slice(from, cursor.at)));
  } catch {
    // The parser's own message would quote the text.
    return refuseAt(cursor, "the text holds an unknown escape");
  }
}

function readArray<Numeral>(cursor: Cursor<Numeral>): readonly JsonTree<Numeral>[] {
  const values: JsonTree<Numeral>[] = [];
  enter(cursor);
  if (take(cursor, "]")) {
    return values;
  }
  do {
    cursor.path.push(values.length);
    values.push(readValue(cursor));
    cursor.path.pop();
  } while (take(cursor, ","));
  return take(cursor, "]") ? values : refuseAt(cursor, '"," or "]" was expected');
}

function readObject<Numeral>(cursor: Cursor<Numeral>): JsonTree<Numeral> {
  const members: Record<string, JsonTree<Numeral>> = {};
  enter(cursor);
  if (take(cursor, "}")) {
    return members;
  }
  do {
    readMember(cursor, members);
  } while (take(cursor, ","));
  return take(cursor, "}") ? members : refuseAt(cursor, '"," or "}" was expected');
}

function readMember<Numeral>(
  cursor: Cursor<Numeral>,
  members: Record<string, JsonTree<Numeral>>,
): void {
  skipSpace(cursor);
  const key =
    cursor.text[cursor.at] === '"'
      ? readString(cursor)
      : refuseAt(cursor, "a key in quotes was expected");
  cursor.path.push(key);
  if (Object.hasOwn(members, key)) {
    refuseAt(cursor, "the key occurs twice");
  }
  if (!take(cursor, ":")) {
    refuseAt(cursor, '":" was expected');
  }
  const value = readValue(cursor);
  if (key === "__proto__") {
    Object.defineProperty(members, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  } else {
    members[key] = value;
  }
  cursor.path.pop();
}

/** Steps over an opening bracket. */
function enter(cursor: Cursor<unknown>): void {
  if (cursor.path.length >= MAX_JSON_DEPTH) {
    refuseAt(cursor, `nested deeper than ${MAX_JSON_DEPTH} levels`);
  }
  cursor.at += 1;
}

function take(cursor: Cursor<unknown>, character: string): boolean {
  skipSpace(cursor);
  const isThere = cursor.text[cursor.at] === character;
  cursor.at += isThere ? 1 : 0;
  return isThere;
}

function skipSpace(cursor: Cursor<unknown>): void {
  for (
    let unit = cursor.text.charCodeAt(cursor.at);
    isSpace(unit);
    unit = cursor.text.charCodeAt(cursor.at)
  ) {
    cursor.at += 1;
  }
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
}

function refuseAt(cursor: Cursor<unknown>, what: string): never {
  return refuseJson(cursor.path, `${what}, at character ${cursor.at}`);
}
