import type { ColumnShape } from "../row-entry.ts";

/** A name as it stands in a statement. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text as it stands in a statement. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A value as a tagged text that loses nothing: its kind, then its digits, or its bytes in hex. */
export function tagged(column: string): string {
  return `CASE typeof(${column}) WHEN 'null' THEN NULL WHEN 'integer' THEN 'i' || ${column}
    WHEN 'real' THEN 'r' || quote(${column}) WHEN 'text' THEN 't' || hex(CAST(${column} AS BLOB))
    ELSE 'b' || hex(${column}) END`;
}

export type TextEncodingName = "utf-8" | "utf-16le" | "utf-16be";

export interface TypedValue {
  readonly type: string;
  readonly value: string | null;
}

/** Reads a tagged text. The type is that of the value, which in SQLite no column decides. */
export function untagged(text: unknown, encoding: TextEncodingName, declared: string): TypedValue {
  if (typeof text !== "string") return { type: declared, value: null };
  const rest = text.slice(1);
  switch (text.charAt(0)) {
    case "i":
      return { type: "integer", value: rest };
    case "r":
      return { type: "real", value: rest.replace(/^(-?)9\.0e\+999$/i, "$1Infinity") };
    case "t":
      return decoded(rest, encoding);
    default:
      return { type: "blob", value: String.raw`\x${rest.toLowerCase()}` };
  }
}

function decoded(hex: string, encoding: TextEncodingName): TypedValue {
  try {
    const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
    return { type: "text", value: decoder.decode(Buffer.from(hex, "hex")) };
  } catch {
    return { type: "text that is not valid", value: String.raw`\x${hex.toLowerCase()}` };
  }
}

/** The columns of one row with the types of its values. */
export function typedColumns(
  columns: readonly ColumnShape[],
  values: readonly TypedValue[],
): readonly ColumnShape[] {
  return columns.map(({ name, type }, index) => ({ name, type: values[index]?.type ?? type }));
}
