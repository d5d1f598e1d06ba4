import { createHash } from "node:crypto";
import { Digest } from "../../core/ids.ts";
import type { ColumnShape, TableShape } from "./row-entry.ts";

/** A table as it was: a digest for each row, by its key; for each digest a count where there is no key. */
export interface StoredTable extends TableShape {
  /** What stays the same when a table is renamed. */
  readonly id: string;
  readonly definition: string;
  /** By the JSON of the key's values. */
  readonly rows: ReadonlyMap<string, string>;
  /** Of a table without a key: how many rows have each digest. */
  readonly counts: ReadonlyMap<string, number>;
}

/** A row as a comparison sees it: where it is now, its key and its digest. */
export interface DigestedRow {
  readonly place: string;
  readonly key: readonly string[];
  readonly digest: string;
}

/** What differs from a stored table. */
export interface DigestDifference {
  /** Rows that are not among the stored ones: created, or modified where their key is. */
  readonly created: readonly DigestedRow[];
  readonly modified: readonly DigestedRow[];
  /** The keys of rows that are gone; for a table without a key their digests. */
  readonly deleted: readonly (readonly string[])[];
  readonly unchanged: number;
}

/** Compares rows as they come with what was stored. */
export async function compareDigests(
  stored: StoredTable,
  rows: AsyncIterable<DigestedRow>,
): Promise<DigestDifference> {
  const created: DigestedRow[] = [];
  const modified: DigestedRow[] = [];
  const seen = new Set<string>();
  const left = new Map(stored.counts);
  let unchanged = 0;
  for await (const row of rows) {
    if (stored.key.length === 0) {
      const count = left.get(row.digest) ?? 0;
      if (count === 0) created.push(row);
      else unchanged += 1;
      if (count > 0) left.set(row.digest, count - 1);
      continue;
    }
    const key = JSON.stringify(row.key);
    seen.add(key);
    const digest = stored.rows.get(key);
    if (digest === undefined) created.push(row);
    else if (digest === row.digest) unchanged += 1;
    else modified.push(row);
  }
  const gone = [...stored.rows.keys()].filter((key) => !seen.has(key)).map(parseKey);
  const lost = [...left].flatMap(([digest, count]) =>
    Array.from({ length: count }, () => [digest]),
  );
  return { created, modified, deleted: [...gone, ...lost], unchanged };
}

export function parseKey(text: string): readonly string[] {
  return (JSON.parse(text) as unknown[]).map(String);
}

/** A name for all that was stored. */
export function digestOfTables(tables: Iterable<StoredTable>): Digest {
  const hash = createHash("sha256");
  for (const { uri, definition, rows, counts } of tables) {
    hash.update(JSON.stringify([uri, definition]));
    for (const line of sortedLines(rows)) hash.update(line);
    for (const line of sortedLines(counts)) hash.update(line);
  }
  return Digest.parse(`sha256:${hash.digest("hex")}`);
}

/** A server gives rows in the order in which it stores them, which is no part of what they are. */
function sortedLines(rows: ReadonlyMap<string, string | number>): readonly string[] {
  return Array.from(rows, ([key, value]) => `${key} ${value}\n`).toSorted();
}

/** The columns of before that are still there, in their order; undefined where one is gone. */
export function columnsStillThere(
  stored: TableShape,
  now: TableShape,
): readonly ColumnShape[] | undefined {
  const names = new Set(now.columns.map(({ name }) => name));
  return stored.columns.every(({ name }) => names.has(name)) ? stored.columns : undefined;
}
