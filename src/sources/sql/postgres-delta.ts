import type { SurfaceEntry } from "../../core/entry.ts";
import { gap, type Gap } from "../../core/gap.ts";
import { isConnectionError, sqlCode, type SqlClient } from "./client.ts";
import type { LookLimits, SqlDelta } from "./delta.ts";
import { matchRows } from "./match-rows.ts";
import type { Catalog, Leaf, Table } from "./postgres-catalog.ts";
import type { HeldSnapshot } from "./postgres-hold.ts";
import { allRows, differingRows, type LeafRows, type Observer } from "./postgres-scan.ts";
import { tableChanges } from "./table-changes.ts";
import type { RowValues } from "./row-entry.ts";

type Parts = Pick<SqlDelta, "entries" | "gaps" | "hidden">;

/** What differs between the held snapshot and the observer's moment. Throws where a connection is lost. */
export async function exactDelta(
  held: HeldSnapshot,
  observer: Observer,
  catalog: Catalog,
  { maxRows }: LookLimits,
): Promise<Parts> {
  const entries: SurfaceEntry[] = [...tableChanges(held.catalog, catalog)];
  const gaps: Gap[] = [...lostRows(held.catalog, catalog)];
  let hidden = 0;
  for (const table of catalog.tables.values()) {
    const found = await tableDelta({ held, observer, catalog, maxRows }, table);
    const room = Math.max(0, maxRows - entries.length);
    entries.push(...found.entries.slice(0, room));
    const left = found.hidden + Math.max(0, found.entries.length - room);
    hidden += left;
    gaps.push(...found.gaps);
    if (left > 0)
      gaps.push(
        gap("row_limit_exceeded", table.uri, {
          detail: `${left} changed rows beyond the limit`,
          remedy: "Raise maxRows.",
        }),
      );
  }
  return { entries, gaps, hidden };
}

interface Look {
  readonly held: HeldSnapshot;
  readonly observer: Observer;
  readonly catalog: Catalog;
  readonly maxRows: number;
}

async function tableDelta(look: Look, table: Table): Promise<Parts> {
  const before: RowValues[] = [];
  const now: RowValues[] = [];
  const gaps: Gap[] = [];
  let hidden = 0;
  for (const leaf of look.catalog.leaves.values()) {
    if (leaf.table !== table.oid) continue;
    const found = await leafDelta(look, table, leaf);
    if ("code" in found) {
      gaps.push(found);
      continue;
    }
    for (const values of found.before) before.push(values);
    for (const values of found.now) now.push(values);
    hidden += found.hidden;
  }
  return { entries: matchRows(table, before, now), gaps, hidden };
}

async function leafDelta(
  { held, observer, catalog, maxRows }: Look,
  table: Table,
  leaf: Leaf,
): Promise<LeafRows | Gap> {
  if (!leaf.isReadable) return gap("rows_hidden", table.uri);
  const was = held.catalog.leaves.get(leaf.oid);
  const scan = { leaf, columns: table.columns, maxRows };
  if (was === undefined)
    return guarded([observer.client], table.uri, () => allRows(observer.client, scan));
  if (was.table !== leaf.table)
    return gap("table_rewritten", table.uri, { detail: "a partition was attached or detached" });
  // A truncated or rewritten table looks empty to the held snapshot.
  if (was.fileNode !== leaf.fileNode) return gap("table_rewritten", table.uri);
  if (!catalog.tables.has(table.oid)) return gap("changed_during_read", table.uri);
  return guarded([held.client, observer.client], table.uri, () =>
    differingRows(held.client, observer, scan),
  );
}

/** A statement that fails would end the transaction of its side; a savepoint keeps both. */
async function guarded(
  clients: readonly SqlClient[],
  uri: string,
  read: () => Promise<LeafRows>,
): Promise<LeafRows | Gap> {
  for (const client of clients) await client.query("SAVEPOINT one_table");
  try {
    return await read();
  } catch (error) {
    if (isConnectionError(error)) throw error;
    for (const client of clients) await client.query("ROLLBACK TO SAVEPOINT one_table");
    return statementGap(uri, sqlCode(error));
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

/** Tables of before whose rows can no longer be read: they are gone, or a partition of them is. */
function lostRows(before: Catalog, now: Catalog): readonly Gap[] {
  const uris = new Set<string>();
  for (const leaf of before.leaves.values()) {
    const table = before.tables.get(leaf.table);
    if (!now.leaves.has(leaf.oid) && table !== undefined) uris.add(table.uri);
  }
  return [...uris].map((uri) =>
    gap("table_rewritten", uri, { detail: "rows of a dropped table cannot be read any more" }),
  );
}
