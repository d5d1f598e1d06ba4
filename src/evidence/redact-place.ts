import type { Redactor } from "./redactor.ts";

/** What a location cannot hold as it is. */
const SPECIAL = /[%/?#&=\\*[\]{},]/g;

/**
 * A location without the secrets in its names and in the keys of its rows, which are percent-encoded. The name of its root stays:
 * the user gave it.
 */
export function redactPlace(uri: string, redactor: Redactor): string {
  const root = uri.slice(0, uri.indexOf(":") + 1);
  const whole = redactName(uri, redactor);
  const plain = whole.startsWith(root)
    ? whole
    : root + redactName(uri.slice(root.length), redactor);
  if (!plain.includes("%")) return plain;
  return plain.replaceAll(/[^/?&=]+/g, (part) => {
    const read = decoded(part);
    const masked = redactor.mask(read);
    return masked === read ? part : masked.replaceAll(SPECIAL, encoded);
  });
}

/** A name or path without secrets. A backslash in it is told as \x5c, which no secret is spelled with. */
export function redactName(name: string, { mask }: Redactor): string {
  if (!name.includes("\\")) return mask(name);
  const read = name.replaceAll(String.raw`\x5c`, "\\");
  const masked = mask(read);
  return masked === read
    ? mask(name)
    : masked.replaceAll(/\\(?!x[0-9a-f]{2})/g, () => String.raw`\x5c`);
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
