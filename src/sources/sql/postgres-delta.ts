import type { SurfaceEntry } from "../../core/entry.ts";
import { gap, type Gap, type GapCode } from "../../core/gap.ts";
import { isConnectionError, sqlCode, type SqlClient } from "./client.ts";
import type { LookLimits, SqlDelta } from "./delta.ts";
import { matchRows } from "./match-rows.ts";
import type { Catalog, Leaf, Table } from "./postgres-catalog.ts";
import { digestDelta, leavesOf } from "./postgres-digests.ts";
import type { HeldSnapshot } from "./postgres-hold.ts";
import { allRows, differingRows, type LeafRows, type Observer } from "./postgres-scan.ts";
import type { StoredTable } from "./row-digest.ts";
import { tableChanges } from "./table-changes.ts";
import type { RowValues } from "./row-entry.ts";

type Parts = Pick<SqlDelta, "entries" | "gaps" | "hidden">;

/** The world before as it is known: the tables, the held snapshot while there is one, and stored digests. */
export interface WorldBefore {
  readonly catalog: Catalog;
  readonly held?: HeldSnapshot | undefined;
  readonly stored: ReadonlyMap<string, StoredTable>;
  /** The gap of a table for which there is neither. */
  readonly missing: { readonly code: GapCode; readonly detail?: string };
}

interface Look {
  readonly before: WorldBefore;
  readonly observer: Observer;
  readonly catalog: Catalog;
  readonly maxRows: number;
}

/** What differs between the world before and the observer's moment. Throws where a connection is lost. */
export async function databaseDelta(
  before: WorldBefore,
  observer: Observer,
  catalog: Catalog,
  { maxRows }: LookLimits,
): Promise<Parts> {
  const entries: SurfaceEntry[] = [...tableChanges(before.catalog, catalog)];
  const gaps: Gap[] = [];
  let hidden = 0;
  const add = (uri: string, found: Parts): void => {
    const room = Math.max(0, maxRows - entries.length);
    entries.push(...found.entries.slice(0, room));
    gaps.push(...found.gaps);
    const left = found.hidden + Math.max(0, found.entries.length - room);
    hidden += left;
    if (left === 0) return;
    const detail = `${left} changed rows beyond the limit`;
    gaps.push(gap("row_limit_exceeded", uri, { detail, remedy: "Raise maxRows." }));
  };
  const look = { before, observer, catalog, maxRows };
  for (const table of catalog.tables.values()) add(table.uri, await tableDelta(look, table));
  const names = new Set([...catalog.tables.values()].map(({ uri }) => uri));
  for (const table of before.catalog.tables.values())
    if (!catalog.tables.has(table.oid) && !names.has(table.uri)) add(table.uri, await goneTable(look, table));
  return { entries: uniqueEntries(entries), gaps, hidden };
}

/** Rows that a table without their key holds twice have one location. */
function uniqueEntries(entries: readonly SurfaceEntry[]): readonly SurfaceEntry[] {
  return [...new Map(entries.toReversed().map((entry) => [entry.uri, entry])).values()].toReversed();
}

async function goneTable({ before, observer, maxRows }: Look, table: Table): Promise<Parts> {
  const stored = before.stored.get(table.oid);
  if (stored !== undefined) return digestDelta(observer.client, stored, undefined, maxRows);
  const detail = "rows of a dropped table cannot be read any more";
  return { ...NOTHING, gaps: [gap("table_rewritten", table.uri, { detail })] };
}

const NOTHING: Parts = { entries: [], gaps: [], hidden: 0 };

async function tableDelta(look: Look, table: Table): Promise<Parts> {
  const { before, observer, catalog, maxRows } = look;
  const leaves = leavesOf(catalog, table);
  const was = tableBefore(look, table);
  const isSame = was?.oid === table.oid;
  if (before.held !== undefined && isSame && !isRewritten(look, table, leaves))
    return tupleDelta(look, table, leaves);
  const stored = before.stored.get(was?.oid ?? "");
  if (stored !== undefined)
    return guarded([observer.client], table.uri, () =>
      digestDelta(observer.client, stored, { table, leaves }, maxRows),
    );
  if (was === undefined) return tupleDelta(look, table, leaves);
  if (before.held !== undefined) return { ...NOTHING, gaps: [gap("table_rewritten", table.uri)] };
  const { code, detail } = before.missing;
  return { ...NOTHING, gaps: [gap(code, table.uri, detail === undefined ? {} : { detail })] };
}

/** The table as it was, also where it was dropped and made again under its name. */
function tableBefore({ before, catalog }: Look, table: Table): Table | undefined {
  const old = before.catalog.tables;
  return (
    old.get(table.oid) ??
    [...old.values()].find(({ oid, uri }) => uri === table.uri && !catalog.tables.has(oid))
  );
}

/** A truncated or rewritten table looks empty to the held snapshot; a partition that came or went took its rows along. */
function isRewritten({ before }: Look, table: Table, leaves: readonly Leaf[]): boolean {
  const old = leavesOf(before.catalog, table);
  const now = new Map(leaves.map((leaf) => [leaf.oid, leaf]));
  if (old.some(({ oid, fileNode }) => now.get(oid)?.fileNode !== fileNode)) return true;
  return leaves.some(({ oid, table: part }) => {
    const was = before.catalog.leaves.get(oid);
    return was !== undefined && was.table !== part;
  });
}

async function tupleDelta(look: Look, table: Table, leaves: readonly Leaf[]): Promise<Parts> {
  const before: RowValues[] = [];
  const now: RowValues[] = [];
  let hidden = 0;
  for (const leaf of leaves) {
    if (!leaf.isReadable) return { ...NOTHING, gaps: [gap("rows_hidden", table.uri)] };
    const found = await leafDelta(look, table, leaf);
    if ("gaps" in found) return found;
    for (const values of found.before) before.push(values);
    for (const values of found.now) now.push(values);
    hidden += found.hidden;
  }
  return { entries: matchRows(table, before, now), gaps: [], hidden };
}

function leafDelta(
  { before: { held, catalog }, observer, maxRows }: Look,
  table: Table,
  leaf: Leaf,
): Promise<LeafRows | Parts> {
  const scan = { leaf, columns: table.columns, maxRows };
  if (held === undefined || !catalog.leaves.has(leaf.oid))
    return guarded([observer.client], table.uri, () => allRows(observer.client, scan));
  return guarded([held.client, observer.client], table.uri, () =>
    differingRows(held.client, observer, scan),
  );
}

/** A statement that fails would end the transaction of its side; a savepoint keeps both. */
async function guarded<T>(
  clients: readonly SqlClient[],
  uri: string,
  read: () => Promise<T>,
): Promise<T | Parts> {
  for (const client of clients) await client.query("SAVEPOINT one_table");
  try {
    return await read();
  } catch (error) {
    if (isConnectionError(error)) throw error;
    for (const client of clients) await client.query("ROLLBACK TO SAVEPOINT one_table");
    return { ...NOTHING, gaps: [statementGap(uri, sqlCode(error))] };
  }
}

/** The gap for a table of which a statement failed. */
export function statementGap(uri: string, code: string): Gap {
  switch (code) {
    case "55P03":
      return gap("deadline_passed", uri, {
        detail: "the table is locked (55P03)",
        remedy: "Observe once nothing locks the table.",
      });
    case "57014":
      return gap("deadline_passed", uri, { detail: "the statement took too long (57014)" });
    case "42501":
      return gap("rows_hidden", uri, { detail: code });
    default:
      return gap("database_unavailable", uri, { detail: code });
  }
}
