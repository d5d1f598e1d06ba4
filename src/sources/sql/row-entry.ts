import { createHash } from "node:crypto";
import type { EntryState, SurfaceEntry } from "../../core/entry.ts";
import type { GapCode } from "../../core/gap.ts";
import { Digest } from "../../core/ids.ts";
import { COLUMN_SEPARATOR, type Column } from "../../core/row.ts";
import type { SqlRow } from "./client.ts";
import { rowUri, sha256 } from "./place.ts";

/** Bytes of one value that are kept. */
const MAX_CELL_BYTES = 262_144;

export interface ColumnShape {
  readonly name: string;
  readonly type: string;
}

/** A table as its rows need it: where they are, what they are made of, and by what they are told apart. */
export interface TableShape {
  readonly uri: string;
  readonly columns: readonly ColumnShape[];
  /** The columns of the key, in its order; none where there is none. */
  readonly key: readonly string[];
}

/** A row's values, in the order of the table's columns. */
export type RowValues = SqlRow;

/** Tells rows apart: the values of the key, or all of them where there is none. */
export function keyOfRow(shape: TableShape, values: RowValues): string {
  if (shape.key.length === 0) return JSON.stringify(values);
  return JSON.stringify(keyValues(shape, values));
}

function keyValues({ columns, key }: TableShape, values: RowValues): readonly string[] {
  return key.map((name) => values[columns.findIndex((column) => column.name === name)] ?? "");
}

export interface RowChange {
  readonly change: "created" | "modified" | "touched" | "deleted" | "unknown";
  readonly before?: EntryState | undefined;
  readonly now?: EntryState | undefined;
  readonly reasons?: readonly GapCode[];
}

/** The entry of a row. `copy` counts equal rows of a table without a key, from 1. */
export function rowEntry(
  shape: TableShape,
  identity: RowValues,
  change: RowChange,
  copy: number = 1,
): SurfaceEntry {
  return {
    uri: rowUri(shape.uri, identityOf(shape, identity, copy)),
    partOf: shape.uri,
    change: change.change,
    ...(change.before === undefined ? {} : { before: change.before }),
    ...(change.now === undefined ? {} : { now: change.now }),
    ...(change.reasons === undefined ? {} : { reasons: [...change.reasons] }),
  };
}

function identityOf(
  shape: TableShape,
  values: RowValues,
  copy: number,
): readonly (readonly [string, string])[] {
  if (shape.key.length === 0) {
    const digest = ["row", sha256(JSON.stringify(values)).slice(0, 32)] as const;
    return copy === 1 ? [digest] : [digest, ["copy", String(copy)]];
  }
  const found = keyValues(shape, values);
  return shape.key.map((name, index) => [name, found[index] ?? ""]);
}

/** A row as it is: its columns, and their text as its content. */
export function rowState({ columns, key }: TableShape, values: RowValues): EntryState {
  const texts = columns.flatMap(({ type }, index) => searchable(type, values[index] ?? null));
  const text = texts.join(COLUMN_SEPARATOR);
  const bytes = Buffer.from(text);
  const isWhole = columns.every((_, index) => !isLarge(values[index] ?? null));
  return {
    type: "row",
    sizeBytes: bytes.length,
    sha256: Digest.parse(`sha256:${createHash("sha256").update(bytes).digest("hex")}`),
    row: {
      columns: columns.map((column, index) => cellOf(column, values[index] ?? null)),
      key: [...key],
    },
    content: {
      encoding: "utf-8",
      value: isWhole ? text : text.slice(0, MAX_CELL_BYTES).replace(/[\ud800-\udbff]$/, ""),
      truncated: !isWhole,
    },
  };
}

/** A row that is known by its key alone. */
export function keyState({ columns, key }: TableShape, values: readonly string[]): EntryState {
  const cells = key.map((name, index) =>
    cellOf(
      { name, type: columns.find((column) => column.name === name)?.type ?? "text" },
      values[index] ?? null,
    ),
  );
  return {
    type: "row",
    sizeBytes: 0,
    row: { columns: cells, key: [...key], partial: true },
    unread: { code: "prior_content_unknown", detail: "only its digest was kept" },
  };
}

function isLarge(value: string | null): boolean {
  return value !== null && value.length > MAX_CELL_BYTES;
}

function cellOf({ name, type }: ColumnShape, value: string | null): Column {
  if (value === null || !isLarge(value)) return { name, type, value };
  return {
    name,
    type,
    value: value.slice(0, MAX_CELL_BYTES).replace(/[\ud800-\udbff]$/, ""),
    cut: {
      sizeBytes: Buffer.byteLength(value),
      sha256: Digest.parse(`sha256:${sha256(value)}`),
    },
  };
}

/** The text of a value, and of bytes that are text also that text. */
function searchable(type: string, value: string | null): readonly string[] {
  if (value === null) return [""];
  if (type !== "bytea" && type !== "blob") return [value];
  const hex = value.startsWith(String.raw`\x`) ? value.slice(2) : value;
  const text = decodeUtf8(Buffer.from(hex, "hex"));
  return text === undefined ? [value] : [value, text];
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
