import { byteText } from "../core/needle.ts";
import { utf16 } from "../core/text.ts";
import type { SecretSpan } from "./secret-span.ts";

/** A secret that the user names: where it comes from, never what it is, goes into the evidence. */
export interface DeclaredSecret {
  readonly name: string;
  readonly value: string;
}

/** The fewest characters of a declared secret: shorter ones stand in ordinary text by chance. */
export const MIN_SECRET_LENGTH = 8;

/** The fewest units at the end of a cut text that count as the beginning of a secret. */
const MIN_HEAD_UNITS = 3;

/** How far from the end of a cut text the beginning of a secret is looked for. */
const MAX_HEAD_LENGTH = 8_192;

/** A spelling of a secret: for each of its characters, or of the characters of its encoding, a pattern. */
type Form = readonly string[];

/** Finds a declared secret however it is spelled. */
export interface SecretFinder {
  readonly name: string;
  readonly find: (text: string) => readonly SecretSpan[];
  /** Where the beginning of the secret starts at the end of a text that was cut, or undefined. */
  readonly headAtEnd: (text: string) => number | undefined;
}

/**
 * Finds a secret as it stands, JSON-escaped at any depth, URL-encoded, in UTF-16, and as hex or base64 of its UTF-8 or UTF-16
 * bytes, in base64 at each of three alignments and broken into lines.
 */
export function secretFinder({ name, value }: DeclaredSecret): SecretFinder {
  const forms = formsOf(value);
  const whole = new RegExp(forms.map((form) => form.join("")).join("|"), "gu");
  return {
    name,
    find: (text) =>
      [...text.matchAll(whole)].map(({ 0: found, index }) => ({
        start: index,
        end: index + found.length,
        rule: name,
      })),
    headAtEnd(text) {
      const from = Math.max(0, text.length - MAX_HEAD_LENGTH);
      const starts = forms.flatMap((form) => headStart(form.map(unitPattern), text, from) ?? []);
      return starts.length === 0 ? undefined : Math.min(...starts);
    },
  };
}

function unitPattern(unit: string): RegExp {
  return new RegExp(unit, "yu");
}

function headStart(units: readonly RegExp[], text: string, from: number): number | undefined {
  for (let start = from; start < text.length; start += 1)
    if (runsIntoEnd(units, text, start)) return start;
  return undefined;
}

function runsIntoEnd(units: readonly RegExp[], text: string, start: number): boolean {
  let at = start;
  for (const [index, unit] of units.entries()) {
    if (at === text.length) return index >= MIN_HEAD_UNITS;
    unit.lastIndex = at;
    if (!unit.test(text)) return false;
    at = unit.lastIndex;
  }
  return false;
}

function formsOf(value: string): readonly Form[] {
  const texts = [...new Set([value, value.trim(), value.normalize("NFC"), value.normalize("NFD")])];
  return texts
    .filter((text) => text.length >= MIN_SECRET_LENGTH)
    .flatMap((text) => {
      const utf8 = new TextEncoder().encode(text);
      const encoded = [utf8, utf16(text, "utf-16le"), utf16(text, "utf-16be")];
      return [
        textForm(text),
        ...encoded.map((bytes) => Array.from(byteText(bytes)).map(literal)),
        interleaved(text),
        ...encoded.map(hexForm),
        ...encoded.flatMap((bytes) => [0, 1, 2].map((shift) => base64Form(bytes, shift))),
      ];
    });
}

function textForm(text: string): Form {
  return Array.from(text).map((char) => `(?:${spellingsOf(char).join("|")})`);
}

/** One character as it stands, as JSON or URL encoding may write it. */
function spellingsOf(char: string): readonly string[] {
  const units = Array.from({ length: char.length }, (_, index) => char.charCodeAt(index));
  const escape = units.map((unit) => String.raw`\\{1,15}u${anyCase(hex(unit, 4))}`).join("");
  const bytes = [...new TextEncoder().encode(char)];
  const percent = bytes.map((byte) => `%(?:25){0,4}${anyCase(hex(byte, 2))}`).join("");
  // The longest first, so that no part of an escape is left behind.
  return [...(SHORT_ESCAPES[char] ?? []), escape, percent, literal(char)];
}

const SHORT_ESCAPES: Readonly<Record<string, readonly string[]>> = {
  '"': [String.raw`\\{1,15}"`],
  "'": [String.raw`\\{1,15}'`],
  "\\": [String.raw`\\{2,16}`],
  "/": [String.raw`\\{1,15}\/`],
  "\n": [String.raw`\\{1,15}n`, String.raw`\r\n`],
  "\r": [String.raw`\\{1,15}r`],
  "\t": [String.raw`\\{1,15}t`],
  " ": [String.raw`\+`],
};

/** UTF-16 that was read as another encoding: a NUL between any two characters. */
function interleaved(text: string): Form {
  return Array.from(text).flatMap((char, index) =>
    index === 0 ? [literal(char)] : [String.raw`(?:\0|\\{1,15}u0000|\\{1,15}0|%00)`, literal(char)],
  );
}

function hexForm(bytes: Uint8Array): Form {
  return [...bytes].flatMap((byte) => Array.from(hex(byte, 2)).map(anyCase));
}

/** The characters of the base64 text that depend on these bytes alone, and at either end one that depends on them in part. */
function base64Form(bytes: Uint8Array, shift: number): Form {
  const padded = new Uint8Array(shift + bytes.length);
  padded.set(bytes, shift);
  const text = btoa(byteText(padded)).replace(/=+$/, "");
  const from = Math.ceil((shift * 8) / 6);
  const to = Math.floor(((shift + bytes.length) * 8) / 6);
  const any = String.raw`[\w+/=-]?`;
  const core = Array.from(text.slice(from, to)).map((char, index) =>
    index === 0 ? base64Character(char) : `${LINE_END}${base64Character(char)}`,
  );
  return [...(from === 0 ? [] : [any]), ...core, any];
}

const LINE_END = String.raw`(?:(?:\\{1,15}[rn]|[\r\n]){1,4}[ \t]{0,16})?`;

function base64Character(char: string): string {
  if (char === "+") return String.raw`(?:[+-]|%2[Bb])`;
  return char === "/" ? String.raw`(?:\\{0,15}\/|_|%2[Ff])` : char;
}

function hex(value: number, length: number): string {
  return value.toString(16).padStart(length, "0");
}

function anyCase(digits: string): string {
  return digits.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

function literal(char: string): string {
  return char.replace(/[\\^$.*+?()[\]{}|/]/, String.raw`\$&`);
}
