import type { Matcher } from "./matcher.ts";
import { utf16 } from "./text.ts";

type Contains = Extract<Matcher, { kind: "contains" }>;
type Wanted = Pick<Contains, "value" | "lineEndings" | "unicode">;

/** A text brought to the form in which a matcher compares. */
export function comparable(
  text: string,
  options: Pick<Contains, "caseSensitive" | "lineEndings" | "unicode">,
): string {
  let form = text;
  if (options.lineEndings === "any" && form.includes("\r")) form = form.replace(/\r\n?/g, "\n");
  if (options.unicode === "nfc") form = form.normalize("NFC");
  // Upper case, since lower case depends on the neighbours of a letter (the Greek sigma).
  if (!options.caseSensitive) form = form.toUpperCase();
  return form;
}

/** One leading byte-order mark is not content. */
export function withoutMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

/** The spellings of a text under which its own bytes are looked for in content that is not text. */
export function spellings(matcher: Wanted): readonly string[] {
  const forms =
    matcher.unicode === "nfc"
      ? [matcher.value, matcher.value.normalize("NFC"), matcher.value.normalize("NFD")]
      : [matcher.value];
  if (matcher.lineEndings === "exact") return [...new Set(forms)];
  const lines = forms.map((form) => form.replace(/\r\n?/g, "\n"));
  return [
    ...new Set([
      ...forms,
      ...lines,
      ...lines.map((line) => line.replaceAll("\n", "\r\n")),
      ...lines.map((line) => line.replaceAll("\n", "\r")),
    ]),
  ];
}

/** The bytes of a text in UTF-8 and in both orders of UTF-16, in each of its spellings. */
export function byteForms(matcher: Wanted): readonly Uint8Array[] {
  const encoder = new TextEncoder();
  return spellings(matcher).flatMap((text) => [
    encoder.encode(text),
    utf16(text, "utf-16le"),
    utf16(text, "utf-16be"),
  ]);
}

/**
 * Bytes as a text in which the engine's own search finds sequences of them. Which character stands for a byte does not matter, as
 * long as it is one and the same; ASCII stands for itself.
 */
export function searchText(bytes: Uint8Array): string {
  return ONE_CHARACTER_A_BYTE.decode(bytes);
}

const ONE_CHARACTER_A_BYTE = new TextDecoder("windows-1252");

/**
 * Whether a text was written in one of the encodings that were asked for: base64 at each of three alignments, also in its
 * form for urls and broken into lines, hex, or URL encoding of any of its characters. `text` is the content as it reads, and
 * `bytes` its UTF-8 as one character a byte.
 */
export function encodedIn(matcher: Contains, bytes: string, text: string): boolean {
  const wanted = new TextEncoder().encode(matcher.value);
  return matcher.alsoEncoded.some((encoding) => {
    switch (encoding) {
      case "base64":
        return base64In(wanted, text);
      case "hex":
        return text.toLowerCase().includes(hexOf(wanted));
      case "url":
        return urlIn(byteText(wanted), bytes);
    }
  });
}

function base64In(wanted: Uint8Array, text: string): boolean {
  const joined = text
    .replace(/[\r\n]+[ \t]*/g, "")
    .replaceAll("-", "+")
    .replaceAll("_", "/");
  return [0, 1, 2].some((shift) => joined.includes(base64Core(wanted, shift)));
}

function urlIn(wanted: string, bytes: string): boolean {
  const read = bytes.replace(/%([0-9a-f]{2})/gi, (_, code: string) =>
    String.fromCharCode(parseInt(code, 16)),
  );
  return (
    read.includes(wanted) || (read.includes("+") && read.replaceAll("+", " ").includes(wanted))
  );
}

/** Bytes as a text of the characters with their numbers. */
export function byteText(bytes: Uint8Array): string {
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += 8192)
    pieces.push(String.fromCharCode(...bytes.subarray(at, at + 8192)));
  return pieces.join("");
}

/** The characters of the base64 text that depend on these bytes alone, when `shift` bytes stand before them. */
function base64Core(bytes: Uint8Array, shift: number): string {
  const padded = new Uint8Array(shift + bytes.length);
  padded.set(bytes, shift);
  const text = btoa(byteText(padded)).replace(/=+$/, "");
  const from = Math.ceil((shift * 8) / 6);
  const to = Math.floor(((shift + bytes.length) * 8) / 6);
  return text.slice(from, to);
}

function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
