import { createHash } from "node:crypto";
import { locationUri } from "../../core/locator.ts";

/** Characters of a key that its location spells out; of a longer one it tells the digest. */
const MAX_KEY_LENGTH = 500;

/** What a locator or a pattern could not hold, or would read otherwise. */
const SPECIAL =
  // oxlint-disable-next-line no-control-regex -- these are among the ones to encode
  /[\u0000-\u001f\u007f%/?#&=\\*[\]{},\ud800-\udfff]/gu;

/** A name as one part of a location: itself, with what has a meaning of its own percent-encoded. */
export function encodePart(text: string): string {
  if (text === "." || text === "..") return text.replaceAll(".", "%2E");
  return text.replaceAll(SPECIAL, (char) =>
    [...new TextEncoder().encode(char)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
      .join(""),
  );
}

/** `shop:/public/orders`. */
export function tableUri(root: string, path: readonly string[]): string {
  return locationUri(root, path.map(encodePart));
}

/** `shop:/public/orders?id=42`, by the key; `?row=DIGEST` where there is none, with a number for each further copy. */
export function rowUri(table: string, parts: readonly (readonly [string, string])[]): string {
  const query = parts.map(([name, value]) => `${encodePart(name)}=${keyText(value)}`).join("&");
  return `${table}?${query}`;
}

function keyText(value: string): string {
  return value.length > MAX_KEY_LENGTH ? `sha256:${sha256(value)}` : encodePart(value);
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
