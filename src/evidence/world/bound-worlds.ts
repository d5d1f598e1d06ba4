import { canonicalJsonBytes } from "../../core/canonical-json.ts";
import { headOf } from "../../core/tool-call.ts";
import type { WorldCell } from "../../core/world.ts";
import { withRows } from "./rank-world.ts";
import type { OmittedTable, World, WorldRow, WorldTable } from "./world.ts";

/** What a salt adds to the bytes of a part, at most. */
const SALT_BYTES = 64;

/** Of the bytes of all worlds, the share in which tables that are not shown are named. */
const NAMES_SHARE = 0.25;

/** Of the same bytes, the share that one row may take: its longest values are cut until it does. */
const ROW_SHARE = 0.125;

/**
 * The worlds of a bundle within `maxBytes` of canonical JSON, salts included. Every table that changed shows a row before any
 * shows more; then each is filled in its order. What is left out is counted in its place.
 */
export function boundWorlds(worlds: readonly World[], maxBytes: number): readonly World[] {
  const drafts = worlds.map((world) => new Draft(world, maxBytes));
  let left = maxBytes;
  // What is fixed comes first: the frames, and the names of as many tables as have room.
  for (const draft of drafts) left -= draft.frameBytes;
  let names = Math.min(left, Math.floor(maxBytes * NAMES_SHARE));
  for (const draft of drafts) {
    const used = draft.nameTables(names);
    names -= used;
    left -= used;
  }
  for (const draft of drafts) left -= draft.showChanged(left);
  for (const draft of drafts) left -= draft.fill(left);
  return drafts.map((draft) => draft.world());
}

interface TableDraft {
  readonly table: WorldTable;
  readonly omitted: OmittedTable;
  readonly omittedBytes: number;
  readonly headBytes: number;
  readonly rowBytes: readonly number[];
  isNamed: boolean;
  /** Rows that are shown; undefined while the table is omitted. */
  shown: number | undefined;
}

class Draft {
  readonly frameBytes: number;
  readonly #world: World;
  readonly #tables: readonly TableDraft[];
  readonly #unread: readonly OmittedTable[];
  #unreadNamed = 0;

  constructor(world: World, maxBytes: number) {
    this.#world = world;
    this.#unread = world.omittedTables;
    const most = Number.MAX_SAFE_INTEGER;
    const frame = { ...world, tables: [], omittedTables: [], omittedUnnamed: most };
    this.frameBytes = sizeOf(frame) + SALT_BYTES;
    this.#tables = world.tables.map((table) => draftOf(table, Math.floor(maxBytes * ROW_SHARE)));
  }

  /** Names omitted tables while there is room; gives the bytes that this takes. */
  nameTables(maxBytes: number): number {
    let used = 0;
    for (const table of this.#tables) {
      if (used + table.omittedBytes > maxBytes) break;
      table.isNamed = true;
      used += table.omittedBytes;
    }
    for (const each of this.#unread) {
      const size = sizeOf(each) + 1;
      if (used + size > maxBytes) break;
      this.#unreadNamed += 1;
      used += size;
    }
    return used;
  }

  /** One row of each table that changed. */
  showChanged(maxBytes: number): number {
    let used = 0;
    for (const table of this.#tables)
      if (table.table.rows[0]?.why === "changed") used += show(table, 1, maxBytes - used);
    return used;
  }

  /** As many rows of each table as have room, in its order. */
  fill(maxBytes: number): number {
    let used = 0;
    for (const table of this.#tables) used += show(table, table.rowBytes.length, maxBytes - used);
    return used;
  }

  world(): World {
    const omitted = this.#tables.filter(({ shown }) => shown === undefined);
    const named = [
      ...omitted.filter(({ isNamed }) => isNamed).map((each) => each.omitted),
      ...this.#unread.slice(0, this.#unreadNamed),
    ];
    return {
      ...this.#world,
      tables: this.#tables.flatMap(({ table, shown }) =>
        shown === undefined ? [] : [withRows(table, table.rows.slice(0, shown))],
      ),
      omittedTables: named,
      omittedUnnamed:
        this.#world.omittedUnnamed + omitted.length + this.#unread.length - named.length,
    };
  }
}

function draftOf(given: WorldTable, maxRowBytes: number): TableDraft {
  const rows = given.rows.map((row) => cutRow(row, maxRowBytes));
  const table = { ...given, rows };
  const { uri, rowsTotal, changedTotal } = table;
  const omitted: OmittedTable = {
    uri,
    reason: "byte_limit",
    ...(rowsTotal === undefined ? {} : { rowsTotal }),
    ...(changedTotal === undefined ? {} : { changedTotal }),
  };
  const most = rows.length;
  return {
    table,
    omitted,
    omittedBytes: sizeOf(omitted) + 1,
    headBytes: sizeOf({ ...table, rows: [], rowsShown: most, changedShown: most }) + 1,
    rowBytes: rows.map((row) => sizeOf(row) + 1),
    isNamed: false,
    shown: undefined,
  };
}

/** Shows up to so many rows of a table; gives the bytes that this takes. A table with rows is not shown without any. */
function show(draft: TableDraft, most: number, maxBytes: number): number {
  const { headBytes, omittedBytes, isNamed, rowBytes } = draft;
  const fixed = draft.shown === undefined ? headBytes - (isNamed ? omittedBytes : 0) : 0;
  let used = fixed;
  let shown = draft.shown ?? 0;
  for (const size of rowBytes.slice(shown, Math.max(shown, most))) {
    if (used + size > maxBytes) break;
    used += size;
    shown += 1;
  }
  const isWorth = shown > (draft.shown ?? 0) || (rowBytes.length === 0 && used <= maxBytes);
  if (!isWorth) return 0;
  draft.shown = shown;
  return used;
}

/** Bytes that a value is cut to, until its row fits. */
const CUTS = [4_096, 1_024, 256, 64, 16] as const;

function cutRow(row: WorldRow, maxBytes: number): WorldRow {
  let cut = row;
  for (const maxCellBytes of CUTS) {
    cut = cutCells(row, maxCellBytes);
    if (sizeOf(cut) <= maxBytes) break;
  }
  return cut;
}

function cutCells({ now, before, ...told }: WorldRow, maxCellBytes: number): WorldRow {
  return {
    ...told,
    ...(now === undefined ? {} : { now: now.map((cell) => cutCell(cell, maxCellBytes)) }),
    ...(before === undefined ? {} : { before: before.map((cell) => cutCell(cell, maxCellBytes)) }),
  };
}

function cutCell(cell: WorldCell, maxBytes: number): WorldCell {
  if (cell === null) return null;
  if (typeof cell === "string") {
    const sizeBytes = new TextEncoder().encode(cell).length;
    return sizeBytes <= maxBytes ? cell : { value: headOf(cell, maxBytes), sizeBytes };
  }
  if (!("value" in cell)) return cell;
  const sizeBytes = new TextEncoder().encode(cell.value).length;
  if (sizeBytes <= maxBytes) return cell;
  return { ...cell, value: headOf(cell.value, maxBytes), sizeBytes: cell.sizeBytes ?? sizeBytes };
}

function sizeOf(value: object): number {
  return canonicalJsonBytes(value).length;
}
