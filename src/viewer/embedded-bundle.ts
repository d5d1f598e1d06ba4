import type { ByteSource } from "../evidence/reader.ts";

/** A piece of the bundle as the page holds it: base64 in an element, read only when its bytes are asked for. */
interface Piece {
  readonly from: number;
  readonly sizeBytes: number;
  readonly element: Element;
}

/** The bundle that was written into the page, none where there is no such element. Its bytes are decoded as they are read. */
export function embeddedBundle(): ByteSource | undefined {
  const pieces: Piece[] = [];
  let from = 0;
  for (const element of document.querySelectorAll("script.bundle")) {
    const sizeBytes = decodedSize(element.textContent ?? "");
    pieces.push({ from, sizeBytes, element });
    from += sizeBytes;
  }
  if (pieces.length === 0) return undefined;
  const sizeBytes = from;
  return { sizeBytes, read: (at, length) => Promise.resolve(bytesOf(pieces, at, length)) };
}

function decodedSize(text: string): number {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return Math.floor((text.length / 4) * 3) - padding;
}

function bytesOf(pieces: readonly Piece[], at: number, length: number): Uint8Array {
  const there = pieces.filter(({ from, sizeBytes }) => from < at + length && from + sizeBytes > at);
  const decoded = there.map(({ from, sizeBytes, element }) => {
    const start = Math.max(0, at - from);
    const end = Math.min(sizeBytes, at + length - from);
    return decode(element.textContent ?? "", start, end);
  });
  const [only, ...more] = decoded;
  if (only !== undefined && more.length === 0) return only;
  const joined = new Uint8Array(decoded.reduce((sum, each) => sum + each.length, 0));
  let filled = 0;
  for (const each of decoded) {
    joined.set(each, filled);
    filled += each.length;
  }
  return joined;
}

/** Four characters are three bytes: only those that hold the wanted bytes are decoded. */
function decode(text: string, start: number, end: number): Uint8Array {
  const first = Math.floor(start / 3);
  const binary = atob(text.slice(first * 4, Math.ceil(end / 3) * 4));
  const skipped = start - first * 3;
  const bytes = new Uint8Array(end - start);
  for (let index = 0; index < bytes.length; index += 1)
    bytes[index] = binary.charCodeAt(skipped + index);
  return bytes;
}
