import type { Redactor } from "./redactor.ts";

/** What a location cannot hold as it is. */
const SPECIAL = /[%/?#&=\\*[\]{},]/g;

/**
 * A location without the secrets in its names and in the keys of its rows, which are percent-encoded. The name of its root stays:
 * the user gave it.
 */
export function redactPlace(uri: string, redactor: Redactor): string {
  const root = uri.slice(0, uri.indexOf(":") + 1);
  const whole = redactor.mask(uri);
  const plain = whole.startsWith(root) ? whole : root + redactor.mask(uri.slice(root.length));
  if (!plain.includes("%")) return plain;
  return plain.replaceAll(/[^/?&=]+/g, (part) => {
    const read = decoded(part);
    const masked = redactor.mask(read);
    return masked === read ? part : masked.replaceAll(SPECIAL, encoded);
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function encoded(char: string): string {
  return `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}
