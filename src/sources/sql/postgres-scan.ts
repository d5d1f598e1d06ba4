import { arrayText, quoted, type SqlClient } from "./client.ts";
import type { Leaf } from "./postgres-catalog.ts";
import type { ColumnShape, RowValues } from "./row-entry.ts";

/** Rows read by one statement. */
const CHUNK_ROWS = 500;

/** Candidates that are looked at in one table: rows that were merely locked are among them. */
export const MAX_CANDIDATES = 2_000_000;

/** The moment of an observation: a transaction of its own, and how far back a new row's transaction can lie. */
export interface Observer {
  readonly client: SqlClient;
  /** How many transactions ago the oldest began that was not over at the baseline. */
  readonly sinceBaseline: string;
}

export interface LeafRows {
  readonly before: readonly RowValues[];
  readonly now: readonly RowValues[];
  /** Differing rows beyond the limit. */
  readonly hidden: number;
}

/**
 * The rows of one relation that are not the same tuple on both sides. A new tuple was written by a transaction that was not
 * over when the held snapshot was taken; a gone one is visible to it and has been deleted, or locked, since. A tuple that both
 * sides see in the same place is the same: while the snapshot is held, no place is used again.
 */
export async function differingRows(
  held: SqlClient,
  observer: Observer,
  { leaf, columns, maxRows }: { leaf: Leaf; columns: readonly ColumnShape[]; maxRows: number },
): Promise<LeafRows> {
  const fresh = await places(
    observer.client,
    `SELECT ctid::text FROM ONLY ${leaf.name} WHERE age(xmin) BETWEEN 0 AND $1::int4 LIMIT ${MAX_CANDIDATES}`,
    [observer.sinceBaseline],
  );
  const stale = await places(
    held,
    `SELECT ctid::text FROM ONLY ${leaf.name} WHERE xmax <> '0'::xid LIMIT ${MAX_CANDIDATES}`,
    [],
  );
  const newPlaces = await without(fresh, held, leaf);
  const oldPlaces = await without(stale, observer.client, leaf);
  return {
    before: await rowsAt(held, leaf, columns, oldPlaces.slice(0, maxRows)),
    now: await rowsAt(observer.client, leaf, columns, newPlaces.slice(0, maxRows)),
    hidden: Math.max(0, oldPlaces.length - maxRows) + Math.max(0, newPlaces.length - maxRows),
  };
}

/** Every row of a relation, up to a limit. */
export async function allRows(
  client: SqlClient,
  { leaf, columns, maxRows }: { leaf: Leaf; columns: readonly ColumnShape[]; maxRows: number },
): Promise<LeafRows> {
  const all = await places(
    client,
    `SELECT ctid::text FROM ONLY ${leaf.name} LIMIT ${MAX_CANDIDATES}`,
    [],
  );
  return {
    before: [],
    now: await rowsAt(client, leaf, columns, all.slice(0, maxRows)),
    hidden: Math.max(0, all.length - maxRows),
  };
}

async function places(
  client: SqlClient,
  text: string,
  values: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await client.query(text, values);
  return rows.map(([place]) => place ?? "");
}

/** The places of which the other side sees no tuple. */
async function without(
  candidates: readonly string[],
  other: SqlClient,
  leaf: Leaf,
): Promise<readonly string[]> {
  const left: string[] = [];
  for (const chunk of chunks(candidates, CHUNK_ROWS * 20)) {
    const seen = new Set(
      await places(other, `SELECT ctid::text FROM ONLY ${leaf.name} WHERE ctid = ANY ($1::tid[])`, [
        arrayText(chunk),
      ]),
    );
    left.push(...chunk.filter((place) => !seen.has(place)));
  }
  return left;
}

/** The rows at these places that the transaction of this connection sees. */
async function rowsAt(
  client: SqlClient,
  leaf: Leaf,
  columns: readonly ColumnShape[],
  at: readonly string[],
): Promise<readonly RowValues[]> {
  return [...(await rowsByPlace(client, leaf, columns, at)).values()];
}

/** The rows at these places, by their place. */
export async function rowsByPlace(
  client: SqlClient,
  leaf: Leaf,
  columns: readonly ColumnShape[],
  at: readonly string[],
): Promise<ReadonlyMap<string, RowValues>> {
  const list = columns.map(({ name }) => `, ${quoted(name)}`).join("");
  const found = new Map<string, RowValues>();
  for (const chunk of chunks(at, CHUNK_ROWS)) {
    const { rows } = await client.query(
      `SELECT ctid::text${list} FROM ONLY ${leaf.name} WHERE ctid = ANY ($1::tid[])`,
      [arrayText(chunk)],
    );
    for (const [place, ...values] of rows) found.set(place ?? "", values);
  }
  return found;
}

function chunks<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}
