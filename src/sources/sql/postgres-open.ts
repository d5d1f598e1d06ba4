import { gap, type Gap } from "../../core/gap.ts";
import type { SqlClient } from "./client.ts";
import type { Catalog } from "./postgres-catalog.ts";

/** Which tables transactions that are still open have written to, by their locks. Prepared ones count. */
const WRITERS = `
SELECT DISTINCT l.relation::text FROM pg_locks l LEFT JOIN pg_class c ON c.oid = l.relation
WHERE l.locktype = 'relation' AND l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND l.mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
  AND l.relation >= 16384 AND (c.oid IS NULL OR (c.relkind IN ('r', 'p') AND c.relpersistence <> 't'))`;

/** Transactions of the snapshot that were open and are over by now: what they did is in no side. */
const ENDED_SINCE = `
SELECT x::text FROM pg_snapshot_xip(pg_current_snapshot()) AS x
WHERE NOT EXISTS (SELECT FROM pg_locks l WHERE l.locktype = 'transactionid' AND l.granted
  AND l.mode = 'ExclusiveLock' AND l.transactionid = x::xid)`;

/** The tables in which a transaction has work that is not over. */
export async function openWriters(client: SqlClient): Promise<readonly string[]> {
  const { rows } = await client.query(WRITERS);
  return rows.flatMap(([oid]) => oid ?? []);
}

/** True where a transaction was open when the snapshot was taken and has ended since: look again. */
export async function hasJustEnded(client: SqlClient): Promise<boolean> {
  return (await client.query(ENDED_SINCE)).rows.length > 0;
}

/** A gap for each table with open work; for one that is not visible yet, at the root. */
export function openGaps(oids: Iterable<string>, catalog: Catalog, root: string): readonly Gap[] {
  return [...new Set(oids)].flatMap((oid) => {
    const table = catalog.leaves.get(oid)?.table ?? oid;
    const uri = catalog.tables.get(table)?.uri;
    if (uri !== undefined) return [gap("transaction_open", uri)];
    return [gap("transaction_open", `${root}:/`, { detail: "in a table that is not visible yet" })];
  });
}
