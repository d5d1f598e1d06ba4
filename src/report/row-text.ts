import type { Column, Row } from "../core/row.ts";
import { counted, cut } from "./bounds.ts";
import { printable } from "./printable.ts";

/** Columns of a row that a line shows. */
const MAX_SHOWN_COLUMNS = 4;
const VALUE_WIDTH = 40;

/** "id 42, status pending, and 3 more columns". */
export function rowText({ columns, partial }: Row): string {
  if (columns.length === 0) return partial === true ? "values not kept" : "";
  return listed(columns.map((column) => `${printable(column.name)} ${valueText(column)}`));
}

/** "status pending -> cancelled". */
export function rowChangeText(before: Row | undefined, now: Row): string {
  if (before === undefined || before.partial === true) return "was not kept";
  const old = new Map(before.columns.map((column) => [column.name, column]));
  const changes = now.columns.flatMap((column) => {
    const was = old.get(column.name);
    const isEqual = was?.value === column.value && was?.cut?.sha256 === column.cut?.sha256;
    if (was === undefined || isEqual) return [];
    return [`${printable(column.name)} ${valueText(was)} -> ${valueText(column)}`];
  });
  return listed(changes);
}

function listed(parts: readonly string[]): string {
  const shown = parts.slice(0, MAX_SHOWN_COLUMNS);
  const left = parts.length - shown.length;
  return [...shown, ...(left === 0 ? [] : [`and ${counted(left, "more column")}`])].join(", ");
}

function valueText({ value }: Column): string {
  if (value === null) return "null";
  return value === "" ? '""' : printable(cut(value, VALUE_WIDTH));
}
