import type { Matcher } from "./matcher.ts";
import { utf16 } from "./text.ts";

type Contains = Extract<Matcher, { kind: "contains" }>;

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
export function spellings(matcher: Contains): readonly string[] {
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

/** The byte sequences, as one character a byte, that hold a text in UTF-8 or UTF-16. */
export function byteForms(matcher: Contains): readonly string[] {
  const encoder = new TextEncoder();
  return [
    ...new Set(
      spellings(matcher).flatMap((text) => [
        byteText(encoder.encode(text)),
        byteText(utf16(text, "utf-16le")),
        byteText(utf16(text, "utf-16be")),
      ]),
    ),
  ];
}

/** The text as it stands when it was written in base64 (at each of three alignments), hex or URL encoding. */
export function encodedForms(matcher: Contains): readonly string[] {
  const bytes = new TextEncoder().encode(matcher.value);
  return matcher.alsoEncoded.flatMap((encoding) => {
    switch (encoding) {
      case "base64":
        return [0, 1, 2].map((shift) => base64Core(bytes, shift)).filter((form) => form.length > 0);
      case "hex":
        return [hexOf(bytes), hexOf(bytes).toUpperCase()];
      case "url":
        return urlForms(matcher.value);
    }
  });
}

/** Bytes as a text of one character each, so that the engine's own search finds sequences in them. */
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

function urlForms(text: string): readonly string[] {
  const upper = encodeURIComponent(text.replace(/\p{Surrogate}/gu, "\uFFFD"));
  const lower = upper.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
  return [...new Set([upper, lower, upper.replaceAll("%20", "+"), lower.replaceAll("%20", "+")])];
}
