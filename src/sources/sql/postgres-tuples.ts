import type { SqlClient } from "./client.ts";
import type { SqlDelta } from "./delta.ts";
import { matchRows } from "./match-rows.ts";
import type { Leaf, Table } from "./postgres-catalog.ts";
import { allPlaces, differingPlaces, rowsByPlace, type Observer } from "./postgres-scan.ts";
import { keyOfRow, type RowValues } from "./row-entry.ts";

export interface TupleLook {
  readonly held: SqlClient | undefined;
  readonly observer: Observer;
  /** The relations that were there before. */
  readonly known: ReadonlySet<string>;
  readonly maxRows: number;
}

/** A tuple of one side: in which relation and where. */
interface Tuple {
  readonly leaf: Leaf;
  readonly place: string;
}

/** The rows of a table that differ between the held snapshot and the observer, old and new matched with each other. */
export async function tuplesOf(
  look: TupleLook,
  table: Table,
  leaves: readonly Leaf[],
): Promise<Pick<SqlDelta, "entries" | "gaps" | "hidden">> {
  const { held, observer, maxRows } = look;
  const [before, now]: [Tuple[], Tuple[]] = [[], []];
  for (const leaf of leaves) {
    const found =
      held === undefined || !look.known.has(leaf.oid)
        ? await allPlaces(observer.client, leaf)
        : await differingPlaces(held, observer, leaf);
    for (const place of found.before) before.push({ leaf, place });
    for (const place of found.now) now.push({ leaf, place });
  }
  const kept = await chosen(look, table, { before, now });
  const old = held === undefined ? [] : await rowsOf(held, table, kept.before);
  const entries = matchRows(table, old, await rowsOf(observer.client, table, kept.now));
  return { entries: entries.slice(0, maxRows), gaps: [], hidden: kept.hidden };
}

interface Sides {
  readonly before: readonly Tuple[];
  readonly now: readonly Tuple[];
}

/** All, or as many as are kept: what a row was and what it is are kept together, or it would look created and deleted. */
async function chosen(
  { held, observer, maxRows }: TupleLook,
  table: Table,
  { before, now }: Sides,
): Promise<Sides & { readonly hidden: number }> {
  if (before.length <= maxRows && now.length <= maxRows) return { before, now, hidden: 0 };
  // Without a key, old and new can only be told apart all together.
  if (table.key.length === 0)
    return { before: [], now: [], hidden: Math.max(before.length, now.length) };
  const oldKeys = held === undefined ? [] : await keysOf(held, table, before);
  const newKeys = await keysOf(observer.client, table, now);
  const all = new Set([...newKeys, ...oldKeys]);
  const keys = new Set([...all].slice(0, maxRows));
  return {
    before: before.filter((_, index) => keys.has(oldKeys[index] ?? "")),
    now: now.filter((_, index) => keys.has(newKeys[index] ?? "")),
    hidden: all.size - keys.size,
  };
}

async function keysOf(
  client: SqlClient,
  table: Table,
  tuples: readonly Tuple[],
): Promise<readonly string[]> {
  const columns = table.columns.filter(({ name }) => table.key.includes(name));
  const shape = { ...table, columns };
  const values = await valuesOf(client, tuples, columns);
  return values.map((row) => (row === undefined ? "" : keyOfRow(shape, row)));
}

async function rowsOf(
  client: SqlClient,
  table: Table,
  tuples: readonly Tuple[],
): Promise<readonly RowValues[]> {
  const values = await valuesOf(client, tuples, table.columns);
  return values.filter((row) => row !== undefined);
}

/** The values of each tuple, in order. */
async function valuesOf(
  client: SqlClient,
  tuples: readonly Tuple[],
  columns: Table["columns"],
): Promise<readonly (RowValues | undefined)[]> {
  const byLeaf = new Map<Leaf, string[]>();
  for (const { leaf, place } of tuples) {
    const places = byLeaf.get(leaf) ?? [];
    byLeaf.set(leaf, places);
    places.push(place);
  }
  const found = new Map<Leaf, ReadonlyMap<string, RowValues>>();
  for (const [leaf, places] of byLeaf)
    found.set(leaf, await rowsByPlace(client, leaf, columns, places));
  return tuples.map(({ leaf, place }) => found.get(leaf)?.get(place));
}
