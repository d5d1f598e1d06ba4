import type { SurfaceEntry } from "../../core/entry.ts";
import { gap } from "../../core/gap.ts";
import { quoted, type SqlClient } from "./client.ts";
import type { SqlDelta } from "./delta.ts";
import type { Catalog, Leaf, Table } from "./postgres-catalog.ts";
import { rowsByPlace } from "./postgres-scan.ts";
import {
  columnsStillThere,
  compareDigests,
  parseKey,
  type DigestedRow,
  type StoredTable,
} from "./row-digest.ts";
import {
  keyState,
  rowEntry,
  rowState,
  type ColumnShape,
  type RowValues,
  type TableShape,
} from "./row-entry.ts";

/** Rows fetched by one statement. */
const FETCH_ROWS = 20_000;

/** Hex digits of a digest that are kept: 128 bits. */
const DIGEST_LENGTH = 32;

/** Bytes of tables beside a held snapshot that are digested too, in case it has to be let go. */
export const SIDE_BUDGET_BYTES = 16_000_000;

/** The digests of every table that can be read, as the transaction of this connection sees them. */
export async function storeTables(
  client: SqlClient,
  catalog: Catalog,
  budgetBytes: number = Number.POSITIVE_INFINITY,
): Promise<ReadonlyMap<string, StoredTable>> {
  const stored = new Map<string, StoredTable>();
  const sizes = budgetBytes === Number.POSITIVE_INFINITY ? undefined : await tableSizes(client);
  let left = budgetBytes;
  for (const table of catalog.tables.values()) {
    const leaves = leavesOf(catalog, table);
    if (leaves.some(({ isReadable }) => !isReadable)) continue;
    const size = leaves.reduce((sum, { oid }) => sum + (sizes?.get(oid) ?? 0), 0);
    if (size > left) continue;
    left -= size;
    stored.set(table.oid, await storeTable(client, table, leaves));
  }
  return stored;
}

export function leavesOf(catalog: Catalog, table: { readonly oid: string }): readonly Leaf[] {
  return [...catalog.leaves.values()].filter((leaf) => leaf.table === table.oid);
}

async function tableSizes(client: SqlClient): Promise<ReadonlyMap<string, number>> {
  const { rows } = await client.query(
    "SELECT oid::text, (relpages::bigint * 8192 + CASE WHEN relpages = 0 THEN pg_relation_size(oid) ELSE 0 END)::text FROM pg_class WHERE relkind = 'r' AND oid >= 16384",
  );
  return new Map(rows.map(([oid, size]) => [oid ?? "", Number(size)]));
}

async function storeTable(
  client: SqlClient,
  table: Table,
  leaves: readonly Leaf[],
): Promise<StoredTable> {
  const rows = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const leaf of leaves)
    for await (const { key, digest } of digestedRows(client, leaf, table, table.columns))
      if (table.key.length === 0) counts.set(digest, (counts.get(digest) ?? 0) + 1);
      else rows.set(JSON.stringify(key), digest);
  const { uri, columns, key, definition } = table;
  return { id: table.oid, uri, columns, key, definition, rows, counts };
}

/** Where each row is, its key and its digest over the given columns, as the server writes them. */
async function* digestedRows(
  client: SqlClient,
  leaf: Leaf,
  { key }: TableShape,
  columns: readonly ColumnShape[],
): AsyncGenerator<DigestedRow> {
  const list = columns.map(({ name }) => quoted(name)).join(", ");
  const keys = key.map((name) => `, ${quoted(name)}`).join("");
  await client.query(
    `DECLARE digests NO SCROLL CURSOR FOR
     SELECT ctid::text, left(encode(sha256(convert_to(ROW(${list})::text, 'UTF8')), 'hex'), ${DIGEST_LENGTH})${keys}
     FROM ONLY ${leaf.name}`,
  );
  for (;;) {
    const { rows } = await client.query(`FETCH ${FETCH_ROWS} FROM digests`);
    for (const [place, digest, ...values] of rows)
      yield { place: place ?? "", digest: digest ?? "", key: values.map((value) => value ?? "") };
    if (rows.length < FETCH_ROWS) break;
  }
  await client.query("CLOSE digests");
}

type Parts = Pick<SqlDelta, "entries" | "gaps" | "hidden">;

/** A table as it is now, with the relations that hold its rows. */
export interface TableNow {
  readonly table: Table;
  readonly leaves: readonly Leaf[];
}

/** What differs between a stored table and what it is now. `now` is undefined where it was dropped. */
export async function digestDelta(
  client: SqlClient,
  stored: StoredTable,
  now: TableNow | undefined,
  maxRows: number,
): Promise<Parts> {
  if (now === undefined) return goneTable(stored, maxRows);
  const { table, leaves } = now;
  const none = { entries: [], hidden: 0 };
  if (leaves.some(({ isReadable }) => !isReadable))
    return { ...none, gaps: [gap("rows_hidden", table.uri)] };
  const columns = columnsStillThere(stored, table);
  if (columns === undefined)
    return {
      ...none,
      gaps: [gap("table_rewritten", table.uri, { detail: "a column was dropped or renamed" })],
    };
  const difference = await compareDigests(stored, placedRows(client, now, stored, columns));
  const copies = copyCounter();
  const changed = [
    ...difference.created.map((row) => ({ row, change: "created" as const })),
    ...difference.modified.map((row) => ({ row, change: "modified" as const })),
  ];
  const shape = { ...table, key: stored.key };
  const kept = changed.slice(0, maxRows);
  const values = await valuesOf(
    client,
    now,
    shape,
    kept.map(({ row }) => row.place),
  );
  const entries = kept.flatMap(({ row, change }) => {
    const found = values.get(row.place);
    if (found === undefined) return [];
    const before = change === "modified" ? { before: keyState(stored, row.key) } : {};
    const identity = stored.key.length === 0 ? [row.digest] : found;
    const state = { change, ...before, now: rowState(shape, found) };
    return [rowEntry(shape, identity, state, copies(row.digest))];
  });
  const room = Math.max(0, maxRows - entries.length);
  const deleted = difference.deleted.map((key) => deletedEntry(stored, shape, key, copies));
  const hidden = changed.length - kept.length + Math.max(0, deleted.length - room);
  return { entries: [...entries, ...deleted.slice(0, room)], gaps: [], hidden };
}

function goneTable(stored: StoredTable, maxRows: number): Parts {
  const copies = copyCounter();
  const keys = [
    ...[...stored.rows.keys()].map(parseKey),
    ...[...stored.counts].flatMap(([digest, count]) =>
      Array.from({ length: count }, () => [digest]),
    ),
  ];
  const entries = keys.slice(0, maxRows).map((key) => deletedEntry(stored, stored, key, copies));
  return { entries, gaps: [], hidden: keys.length - entries.length };
}

/** Counts the copies of equal rows of a table without a key. */
function copyCounter(): (digest: string) => number {
  const counts = new Map<string, number>();
  return (digest) => {
    const count = (counts.get(digest) ?? 0) + 1;
    counts.set(digest, count);
    return count;
  };
}

function deletedEntry(
  stored: StoredTable,
  shape: TableShape,
  key: readonly string[],
  copies: (digest: string) => number,
): SurfaceEntry {
  const change = { change: "deleted", before: keyState(stored, key) } as const;
  if (stored.key.length === 0) return rowEntry(shape, key, change, copies(key[0] ?? ""));
  const values = shape.columns.map(({ name }) => {
    const at = stored.key.indexOf(name);
    return at === -1 ? null : (key[at] ?? null);
  });
  return rowEntry(shape, values, change);
}

/** The rows of all partitions; a place names its partition too. */
async function* placedRows(
  client: SqlClient,
  { leaves }: TableNow,
  stored: StoredTable,
  columns: readonly ColumnShape[],
): AsyncGenerator<DigestedRow> {
  for (const leaf of leaves)
    for await (const row of digestedRows(client, leaf, stored, columns))
      yield { ...row, place: `${leaf.oid}${row.place}` };
}

async function valuesOf(
  client: SqlClient,
  { leaves }: TableNow,
  shape: TableShape,
  places: readonly string[],
): Promise<ReadonlyMap<string, RowValues>> {
  const found = new Map<string, RowValues>();
  for (const leaf of leaves) {
    const own = places
      .filter((place) => place.startsWith(`${leaf.oid}(`))
      .map((place) => place.slice(leaf.oid.length));
    for (const [place, values] of await rowsByPlace(client, leaf, shape.columns, own))
      found.set(`${leaf.oid}${place}`, values);
  }
  return found;
}
