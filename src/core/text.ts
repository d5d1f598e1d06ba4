import { z } from "zod";

export const Encoding = z.enum(["utf-8", "utf-16le", "utf-16be", "binary"]);
export type Encoding = z.infer<typeof Encoding>;

/**
 * Content as matchers see it. Text keeps its byte-order mark, so that it can be written back byte for byte.
 * `whole` is false for the head of something longer.
 */
export type Content =
  | {
      readonly encoding: Exclude<Encoding, "binary">;
      readonly text: string;
      readonly whole: boolean;
      /** True where masks stand in it for what is not known any more. */
      readonly redacted?: boolean;
    }
  | { readonly encoding: "binary"; readonly bytes: Uint8Array; readonly whole: boolean };

/** How much of the head is enough to tell UTF-16 without a mark from binary. */
const SAMPLE_BYTES = 65_536;

/**
 * Reads bytes as text: UTF-8, or UTF-16 in either order with or without a mark; all else is binary. A head that was cut
 * inside a character loses that character's bytes; an invalid byte is never repaired.
 */
export function contentOf(bytes: Uint8Array, whole: boolean): Content {
  const encoding = detect(bytes, whole);
  if (encoding === "binary") return { encoding, bytes, whole };
  const text = decode(bytes, encoding, whole);
  return text === undefined ? { encoding: "binary", bytes, whole } : { encoding, text, whole };
}

/** The bytes behind a content. */
export function bytesOf(content: Content): Uint8Array {
  switch (content.encoding) {
    case "binary":
      return content.bytes;
    case "utf-8":
      return new TextEncoder().encode(content.text);
    case "utf-16le":
    case "utf-16be":
      return utf16(content.text, content.encoding);
  }
}

/** A text as UTF-16 without a mark of its own. */
export function utf16(text: string, order: "utf-16le" | "utf-16be"): Uint8Array {
  const bytes = new Uint8Array(text.length * 2);
  const view = new DataView(bytes.buffer);
  for (let at = 0; at < text.length; at += 1)
    view.setUint16(at * 2, text.charCodeAt(at), order === "utf-16le");
  return bytes;
}

function detect(bytes: Uint8Array, whole: boolean): Encoding {
  const [first, second, third, fourth] = bytes;
  if (first === 0xff && second === 0xfe) return third === 0 && fourth === 0 ? "binary" : "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  if (!bytes.includes(0)) return "utf-8";
  return whole && bytes.length % 2 === 1 ? "binary" : detectUnmarked(bytes);
}

/** UTF-16 of mostly Latin text has its NULs in one of the two places of a unit, and there often. */
function detectUnmarked(bytes: Uint8Array): Encoding {
  const end = Math.min(bytes.length, SAMPLE_BYTES) & ~1;
  let even = 0;
  let odd = 0;
  for (let at = 0; at < end; at += 2) {
    if (bytes[at] === 0) even += 1;
    if (bytes[at + 1] === 0) odd += 1;
  }
  const often = end / 8;
  if (even === 0 && odd > often) return "utf-16le";
  if (odd === 0 && even > often) return "utf-16be";
  return "binary";
}

function decode(
  bytes: Uint8Array,
  encoding: Exclude<Encoding, "binary">,
  whole: boolean,
): string | undefined {
  const body = whole ? bytes : bytes.subarray(0, bytes.length - cutBytes(bytes, encoding));
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return undefined;
  }
}

/** How many bytes at the end of a cut head begin a character that the cut took the rest of. */
function cutBytes(bytes: Uint8Array, encoding: Exclude<Encoding, "binary">): number {
  return encoding === "utf-8" ? cutUtf8(bytes) : cutUtf16(bytes, encoding);
}

function cutUtf8(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return length > back ? back : 0;
    }
  }
  return 0;
}

function cutUtf16(bytes: Uint8Array, encoding: "utf-16le" | "utf-16be"): number {
  const odd = bytes.length % 2;
  const high = bytes[bytes.length - odd - (encoding === "utf-16le" ? 1 : 2)] ?? 0;
  return high >= 0xd8 && high <= 0xdb ? odd + 2 : odd;
}
