import type { SurfaceEntry } from "../../core/entry.ts";
import { foldGaps } from "../../core/gap.ts";
import { rootOf } from "../../core/locator.ts";
import type { Observation, SurfacePayload } from "../../core/observation.ts";
import type { Column } from "../../core/row.ts";
import type { TableLook, WorldCell, WorldLook } from "../../core/world.ts";
import { relevanceOf, type CallWords } from "./call-words.ts";
import { compareNaturally } from "./natural-order.ts";
import type { OmittedTable, World, WorldRow, WorldTable } from "./world.ts";

export interface RankOptions {
  readonly root: string;
  readonly deltas: readonly Observation[];
  readonly words: CallWords;
  readonly bound: World["bound"];
}

/**
 * What was there, in the order of its weight: rows that the run changed, with what they held before, then those whose key stands
 * in a call, then others; tables that changed, then those that the calls speak of, then the smaller ones. At most `maxRows` of each.
 */
export function rankWorld(
  { tables, gaps }: WorldLook,
  { root, deltas, words, bound }: RankOptions,
): World {
  const delta = deltaOf(root, deltas);
  const changes = changesByTable(delta);
  const unread = new Set(gaps.map(({ location }) => location));
  const looks = [...tables, ...goneTables(tables, changes)];
  const ranked = looks.map((look) => {
    const { rowsTotal } = look;
    const changed = changes.get(look.uri) ?? [];
    const isKnown = delta !== undefined && isWholeFor(delta, look.uri);
    const counts = {
      ...(rowsTotal === undefined ? {} : { rowsTotal }),
      ...(isKnown ? { changedTotal: changed.length } : {}),
    };
    const table = tableOf(look, changed, { words, maxRows: bound.maxRows, counts });
    const isRead = table.rows.length > 0 || rowsTotal === 0 || !unread.has(look.uri);
    return { table, counts, isRead, relevance: relevanceOf(look.uri, words) };
  });
  const ordered = ranked.toSorted(
    (left, right) =>
      Number(right.table.changedShown > 0) - Number(left.table.changedShown > 0) ||
      right.relevance - left.relevance ||
      sizeOf(left.table) - sizeOf(right.table) ||
      (left.table.uri < right.table.uri ? -1 : 1),
  );
  return {
    schemaVersion: 1,
    root,
    bound,
    callTerms: { used: words.terms.length, total: words.termsTotal },
    tables: ordered.filter(({ isRead }) => isRead).map(({ table }) => table),
    omittedTables: ordered
      .filter(({ isRead }) => !isRead)
      .map(({ table, counts }): OmittedTable => ({
        uri: table.uri,
        reason: "not_read",
        ...counts,
      })),
    omittedUnnamed: 0,
    gaps: foldGaps(gaps, MAX_GAPS),
  };
}

/** Gaps of one code that are located one by one: they take room from the rows. */
const MAX_GAPS = 10;

function sizeOf({ rowsTotal }: WorldTable): number {
  return rowsTotal ?? Number.MAX_SAFE_INTEGER;
}

function deltaOf(root: string, deltas: readonly Observation[]): SurfacePayload | undefined {
  for (const { payload } of deltas)
    if (payload.kind === "surface" && rootOf(payload.scope.uri) === root) return payload;
  return undefined;
}

/** The tables of a root in which rows changed. */
export function changedTables(root: string, deltas: readonly Observation[]): readonly string[] {
  return [...changesByTable(deltaOf(root, deltas)).keys()];
}

/** A row that was written again as it was has not changed. */
function isChanged({ change }: SurfaceEntry): boolean {
  return change !== "unchanged" && change !== "touched";
}

function changesByTable(
  delta: SurfacePayload | undefined,
): ReadonlyMap<string, readonly SurfaceEntry[]> {
  const found = new Map<string, SurfaceEntry[]>();
  for (const entry of delta?.entries ?? []) {
    if (entry.partOf === undefined || !isChanged(entry)) continue;
    const known = found.get(entry.partOf);
    if (known === undefined) found.set(entry.partOf, [entry]);
    else known.push(entry);
  }
  return found;
}

/** False where the delta has a gap at a table or at the whole root: more may have changed. */
function isWholeFor({ coverage, scope, attribution }: SurfacePayload, table: string): boolean {
  if (attribution.method === "none") return false;
  const root = `${rootOf(scope.uri)}:/`;
  return coverage.gaps.every(({ location }) => location !== table && location !== root);
}

/** Tables that were dropped: what their rows held is all that is left of them. */
function goneTables(
  tables: readonly TableLook[],
  changes: ReadonlyMap<string, readonly SurfaceEntry[]>,
): readonly TableLook[] {
  const there = new Set(tables.map(({ uri }) => uri));
  return [...changes]
    .filter(([uri]) => !there.has(uri))
    .map(([uri, entries]) => {
      const row = entries.map(({ before, now }) => (before ?? now)?.row).find(Boolean);
      const columns = (row?.columns ?? []).map(({ name, type }) => ({ name, type }));
      return { uri, columns, key: row?.key ?? [], rowsTotal: 0, rows: [] };
    });
}

interface TableOptions {
  readonly words: CallWords;
  readonly maxRows: number;
  readonly counts: Pick<WorldTable, "rowsTotal" | "changedTotal">;
}

function tableOf(
  { uri, columns: now, key, rows: read }: TableLook,
  changed: readonly SurfaceEntry[],
  { words, maxRows, counts }: TableOptions,
): WorldTable {
  const columns = withColumnsOf(now, changed);
  const changedRows = changed
    .toSorted((left, right) => compareNaturally(left.uri, right.uri))
    .map((entry) => changedRow(columns, entry));
  const shape = { columns, key };
  const terms = new Set(words.terms);
  const others = othersThan(changedRows, read, shape).map((values): WorldRow => ({
    why: isNamed(shape, values, terms) ? "named" : "context",
    now: values,
  }));
  const named = others.filter(({ why }) => why === "named");
  const rows = [...changedRows, ...named, ...others.filter(({ why }) => why !== "named")];
  return withRows(
    { uri, columns, key, rowsShown: 0, changedShown: 0, ...counts, rows: [] },
    rows.slice(0, maxRows),
  );
}

type Shape = Pick<TableLook, "columns" | "key">;

/** The rows that are not among the changed ones. A table with a key holds each once; without one, copies are rows of their own. */
function othersThan(
  changedRows: readonly WorldRow[],
  read: TableLook["rows"],
  shape: Shape,
): TableLook["rows"] {
  const left = new Map<string, number>();
  for (const { now } of changedRows) {
    if (now === undefined) continue;
    const id = keyOf(shape, now);
    left.set(id, (left.get(id) ?? 0) + 1);
  }
  return read.filter((values) => {
    const id = keyOf(shape, values);
    const known = left.get(id) ?? 0;
    if (shape.key.length > 0) left.set(id, Infinity);
    else if (known > 0) left.set(id, known - 1);
    return known === 0;
  });
}

/** The table with these rows, counted. */
export function withRows(table: WorldTable, rows: readonly WorldRow[]): WorldTable {
  return {
    ...table,
    rowsShown: rows.filter(({ now }) => now !== undefined).length,
    changedShown: rows.filter(({ why }) => why === "changed").length,
    rows,
  };
}

/** Columns that are gone stand behind those that are there. */
function withColumnsOf(
  columns: TableLook["columns"],
  changed: readonly SurfaceEntry[],
): TableLook["columns"] {
  const all = new Map(columns.map((column) => [column.name, column]));
  for (const { before, now } of changed)
    for (const { name, type } of [...(now?.row?.columns ?? []), ...(before?.row?.columns ?? [])])
      if (!all.has(name)) all.set(name, { name, type });
  return [...all.values()];
}

function changedRow(
  columns: TableLook["columns"],
  { change, now, before }: SurfaceEntry,
): WorldRow {
  return {
    why: "changed",
    change,
    ...(now?.row === undefined ? {} : { now: cellsOf(columns, now.row.columns) }),
    ...(before?.row === undefined ? {} : { before: cellsOf(columns, before.row.columns) }),
  };
}

function cellsOf(columns: TableLook["columns"], values: readonly Column[]): readonly WorldCell[] {
  const byName = new Map(values.map((column) => [column.name, column]));
  return columns.map(({ name, type }) => {
    const found = byName.get(name);
    if (found === undefined) return { notKept: true };
    const { value, cut } = found;
    if (value === null) return null;
    if (found.type === type && cut === undefined) return value;
    return {
      value,
      ...(found.type === type ? {} : { type: found.type }),
      ...(cut === undefined ? {} : { sizeBytes: cut.sizeBytes }),
    };
  });
}

/** What tells rows apart: the values of the key, or all of them where there is none. */
function keyOf(shape: Shape, values: readonly WorldCell[]): string {
  return JSON.stringify(keyTexts(shape, values));
}

function keyTexts(
  { columns, key }: Shape,
  values: readonly WorldCell[],
): readonly (string | null)[] {
  const texts = values.map(textOf);
  if (key.length === 0) return texts;
  return key.map((name) => texts[columns.findIndex((column) => column.name === name)] ?? null);
}

/** Characters by which a value without a key is told apart: so many are kept of each, however it was read. */
const MAX_COMPARED = 8_192;

function textOf(cell: WorldCell): string | null {
  if (typeof cell === "string") return cell.slice(0, MAX_COMPARED);
  return cell !== null && "value" in cell ? cell.value.slice(0, MAX_COMPARED) : null;
}

function isNamed(shape: Shape, values: readonly WorldCell[], terms: ReadonlySet<string>): boolean {
  return (
    shape.key.length > 0 &&
    keyTexts(shape, values).every((text) => text !== null && terms.has(text))
  );
}
