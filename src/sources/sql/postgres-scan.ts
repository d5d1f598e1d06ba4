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

/** Places of rows that differ, as the held snapshot and as the observer sees them. */
export interface DifferingPlaces {
  readonly before: readonly string[];
  readonly now: readonly string[];
}

/**
 * The rows of one relation that are not the same tuple on both sides. A new tuple was written by a transaction that was not
 * over when the held snapshot was taken; a gone one is visible to it and has been deleted, or locked, since. A tuple that both
 * sides see in the same place is the same: while the snapshot is held, no place is used again.
 */
export async function differingPlaces(
  held: SqlClient,
  observer: Observer,
  leaf: Leaf,
): Promise<DifferingPlaces> {
  // Each side is a process of the server of its own: they scan at the same time.
  const [fresh, stale] = await bothOf(
    places(
      observer.client,
      `SELECT ctid::text FROM ONLY ${leaf.name} WHERE age(xmin) BETWEEN 0 AND $1::int4 LIMIT ${MAX_CANDIDATES}`,
      [observer.sinceBaseline],
    ),
    places(
      held,
      `SELECT ctid::text FROM ONLY ${leaf.name} WHERE xmax <> '0'::xid LIMIT ${MAX_CANDIDATES}`,
      [],
    ),
  );
  if (fresh.length === MAX_CANDIDATES || stale.length === MAX_CANDIDATES)
    throw new TooManyCandidates();
  return {
    before: await without(stale, observer.client, leaf),
    now: await without(fresh, held, leaf),
  };
}

/** Waits for both, also where one fails: nothing may run on behind a failure. */
async function bothOf<T>(one: Promise<T>, other: Promise<T>): Promise<readonly [T, T]> {
  await Promise.allSettled([one, other]);
  return [await one, await other];
}

/** More rows were written or locked than are looked at. */
export class TooManyCandidates extends Error {}

/** The places of every row of a relation, up to a limit. */
export async function allPlaces(client: SqlClient, leaf: Leaf): Promise<DifferingPlaces> {
  const text = `SELECT ctid::text FROM ONLY ${leaf.name} LIMIT ${MAX_CANDIDATES}`;
  return { before: [], now: await places(client, text, []) };
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
