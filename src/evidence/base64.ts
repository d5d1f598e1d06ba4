/** Bytes that become characters in one call: more would be too many arguments. */
const PIECE_BYTES = 0x8000;

/** Base64 with padding and without line breaks: one text for the same bytes. */
export function base64Of(bytes: Uint8Array): string {
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += PIECE_BYTES)
    pieces.push(String.fromCharCode(...bytes.subarray(at, at + PIECE_BYTES)));
  return btoa(pieces.join(""));
}

/** The bytes of a text that `base64Of` writes; null for any other text. */
export function bytesOfBase64(text: string): Uint8Array | null {
  try {
    const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    return base64Of(bytes) === text ? bytes : null;
  } catch {
    return null;
  }
}
