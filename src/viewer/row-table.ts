import type { SurfaceEntry } from "../core/entry.ts";
import type { Column, Row } from "../core/row.ts";
import { count } from "../report/bounds.ts";
import { printable } from "../report/printable.ts";
import { element, type Child } from "./element.ts";
import { placeText } from "./evidence-text.ts";
import { paged } from "./paged.ts";

const VALUE_CHARACTERS = 200;

/** The changed rows of each table: the old value beside the new one. */
export function rowTables(entries: readonly SurfaceEntry[]): readonly Child[] {
  const byTable = new Map<string, SurfaceEntry[]>();
  for (const entry of entries) {
    const table = entry.partOf ?? entry.uri;
    byTable.set(table, [...(byTable.get(table) ?? []), entry]);
  }
  return [...byTable].map(([table, rows]) =>
    element(
      "div",
      { class: "rows" },
      element("h4", {}, placeText(table)),
      paged(rows, "Rows", (page) => tableOf(page)),
    ),
  );
}

function tableOf(entries: readonly SurfaceEntry[]): HTMLElement {
  const names = columnNames(entries);
  return element(
    "div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": "rows" },
    element(
      "table",
      {},
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          ...["change", ...names].map((name) =>
            element("th", { scope: "col" }, element("bdi", {}, printable(name))),
          ),
        ),
      ),
      element("tbody", {}, ...entries.map((entry) => rowElement(entry, names))),
    ),
  );
}

function columnNames(entries: readonly SurfaceEntry[]): readonly string[] {
  const names = new Set<string>();
  for (const { before, now } of entries)
    for (const { name } of [...(now?.row?.columns ?? []), ...(before?.row?.columns ?? [])])
      names.add(name);
  return [...names];
}

function rowElement(entry: SurfaceEntry, names: readonly string[]): HTMLElement {
  const before = columnsOf(entry.before?.row);
  const now = columnsOf(entry.now?.row);
  return element(
    "tr",
    { class: entry.change },
    element("th", { scope: "row" }, entry.change === "unknown" ? "not known" : entry.change),
    ...names.map((name) => element("td", {}, ...cellOf(before.get(name), now.get(name), entry))),
  );
}

function columnsOf(row: Row | undefined): ReadonlyMap<string, Column> {
  return new Map((row?.columns ?? []).map((column) => [column.name, column]));
}

function cellOf(
  before: Column | undefined,
  now: Column | undefined,
  { change }: SurfaceEntry,
): readonly Child[] {
  if (before === undefined && now === undefined) return [faint("not kept")];
  if (now === undefined || change === "deleted")
    return [element("del", {}, valueOf(before ?? now))];
  if (change === "created") return [element("ins", {}, valueOf(now))];
  if (before === undefined) return [faint("was not kept"), " → ", element("ins", {}, valueOf(now))];
  if (isEqual(before, now)) return [valueOf(now)];
  return [element("del", {}, valueOf(before)), " → ", element("ins", {}, valueOf(now))];
}

function isEqual(left: Column, right: Column): boolean {
  return left.value === right.value && left.cut?.sha256 === right.cut?.sha256;
}

function valueOf(column: Column | undefined): Child {
  if (column === undefined) return null;
  if (column.value === null) return faint("null");
  if (column.value === "") return faint("empty");
  const left = column.value.length - VALUE_CHARACTERS;
  const shown = printable(column.value.slice(0, VALUE_CHARACTERS));
  return element(
    "bdi",
    {},
    shown,
    left > 0 || column.cut !== undefined ? faint(` … of ${sizeOf(column)}`) : null,
  );
}

function sizeOf({ value, cut }: Column): string {
  if (cut !== undefined) return `${count(cut.sizeBytes)} bytes`;
  return `${count(value?.length ?? 0)} characters`;
}

function faint(text: string): HTMLElement {
  return element("span", { class: "faint" }, text);
}
