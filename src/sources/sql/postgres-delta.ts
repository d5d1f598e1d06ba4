import type { SurfaceEntry } from "../../core/entry.ts";
import { gap, type Gap, type GapCode } from "../../core/gap.ts";
import { isConnectionError, sqlCode, type SqlClient } from "./client.ts";
import type { LookLimits, SqlDelta } from "./delta.ts";
import type { Catalog, Leaf, Table } from "./postgres-catalog.ts";
import { digestDelta, leavesOf } from "./postgres-digests.ts";
import type { HeldSnapshot } from "./postgres-hold.ts";
import { MAX_CANDIDATES, TooManyCandidates, type Observer } from "./postgres-scan.ts";
import { tuplesOf } from "./postgres-tuples.ts";
import type { StoredTable } from "./row-digest.ts";
import { tableChanges } from "./table-changes.ts";

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
    if (!catalog.tables.has(table.oid) && !names.has(table.uri))
      add(table.uri, await goneTable(look, table));
  return { entries: uniqueEntries(entries), gaps, hidden };
}

/** Rows that a table without their key holds twice have one location. */
function uniqueEntries(entries: readonly SurfaceEntry[]): readonly SurfaceEntry[] {
  return [
    ...new Map(entries.toReversed().map((entry) => [entry.uri, entry])).values(),
  ].toReversed();
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
  if (was === undefined) return tupleDelta(look, table, leaves);
  const isSame = was.oid === table.oid && !isRewritten(look, table, leaves);
  if (before.held !== undefined && isSame) return tupleDelta(look, table, leaves);
  const stored = before.stored.get(was.oid);
  if (stored === undefined) return { ...NOTHING, gaps: [missingGap(before, table)] };
  return guarded([observer.client], table.uri, () =>
    digestDelta(observer.client, stored, { table, leaves }, maxRows),
  );
}

function missingGap({ held, missing: { code, detail } }: WorldBefore, { uri }: Table): Gap {
  if (held !== undefined) return gap("table_rewritten", uri);
  return gap(code, uri, detail === undefined ? {} : { detail });
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

function tupleDelta(look: Look, table: Table, leaves: readonly Leaf[]): Promise<Parts> {
  const { before, observer, maxRows } = look;
  if (leaves.some(({ isReadable }) => !isReadable))
    return Promise.resolve({ ...NOTHING, gaps: [gap("rows_hidden", table.uri)] });
  const held = before.held?.client;
  const sides = held === undefined ? [observer.client] : [held, observer.client];
  const known = new Set(before.catalog.leaves.keys());
  return guarded(sides, table.uri, () =>
    tuplesOf({ held, observer, known, maxRows }, table, leaves),
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
    if (!(error instanceof TooManyCandidates) && isConnectionError(error)) throw error;
    for (const client of clients) await client.query("ROLLBACK TO SAVEPOINT one_table");
    if (error instanceof TooManyCandidates) return { ...NOTHING, gaps: [tooManyGap(uri)] };
    return { ...NOTHING, gaps: [statementGap(uri, sqlCode(error))] };
  }
}

function tooManyGap(uri: string): Gap {
  const detail = `more than ${MAX_CANDIDATES} rows were written or locked`;
  return gap("row_limit_exceeded", uri, { detail, remedy: "Take the baseline with row digests." });
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
    case "42703":
    case "42P01":
      return gap("changed_during_read", uri, {
        detail: `the table was altered or dropped meanwhile (${code})`,
      });
    case "42501":
      return gap("rows_hidden", uri, { detail: code });
    default:
      return gap("database_unavailable", uri, { detail: code });
  }
}
