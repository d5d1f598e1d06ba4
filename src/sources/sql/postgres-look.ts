import { UpheldError } from "../../core/errors.ts";
import { gap, type GapCode } from "../../core/gap.ts";
import type { Digest } from "../../core/ids.ts";
import { connectPostgres, isConnectionError, sqlCode, type SqlClient } from "./client.ts";
import type { LookLimits, SqlDelta } from "./delta.ts";
import { readCatalog, type Catalog } from "./postgres-catalog.ts";
import { databaseDelta } from "./postgres-delta.ts";
import type { HeldSnapshot } from "./postgres-hold.ts";
import { hasJustEnded, openGaps, openWriters } from "./postgres-open.ts";
import type { PostgresMoment } from "./postgres-world.ts";
import type { StoredTable } from "./row-digest.ts";

/** The world before a run. */
export interface KnownWorld {
  readonly digest: Digest;
  readonly catalog: Catalog;
  readonly snapshot?: HeldSnapshot | undefined;
  readonly stored: ReadonlyMap<string, StoredTable>;
  /** Why no snapshot is held, where one was wished for. */
  readonly reason?: string | undefined;
}

export interface LookOptions {
  readonly root: string;
  readonly url: string;
  readonly statementTimeoutMs: number;
  /** Takes over the connection of a look, with its transaction. Without it the connection is closed. */
  readonly keep?: ((moment: PostgresMoment) => void) | undefined;
}

/** How often a look is taken again because a transaction ended in the middle of it. */
const MAX_LOOKS = 5;

/** Looks at the database once and says what differs from before. A database that cannot be read is a gap. */
export async function lookAtPostgres(
  before: KnownWorld | undefined,
  options: LookOptions,
  limits: LookLimits,
  signal: AbortSignal | undefined,
): Promise<SqlDelta> {
  const { root } = options;
  try {
    return await connectedLook(before, options, limits, signal);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof UpheldError) return unavailable(root, error.message);
    if (!isConnectionError(error) && !/^[0-9A-Z]{5}$/.test(sqlCode(error))) throw error;
    return unavailable(root, sqlCode(error));
  }
}

async function connectedLook(
  before: KnownWorld | undefined,
  options: LookOptions,
  limits: LookLimits,
  signal: AbortSignal | undefined,
): Promise<SqlDelta> {
  const client = await connectPostgres(options.url, options);
  let isKept = false;
  try {
    using _ = destroyedBy(signal, client, before?.snapshot?.client);
    const { delta, catalog } = await look(client, before, options.root, limits);
    options.keep?.({ client, catalog });
    isKept = options.keep !== undefined;
    return delta;
  } finally {
    if (!isKept) await client[Symbol.asyncDispose]();
  }
}

async function look(
  client: SqlClient,
  before: KnownWorld | undefined,
  root: string,
  limits: LookLimits,
): Promise<{ readonly delta: SqlDelta; readonly catalog: Catalog }> {
  const writers = await openWriters(client);
  const isSettled = await beginLook(client);
  const catalog = await readCatalog(client, root);
  const open = [
    ...openGaps([...writers, ...(await openWriters(client))], catalog, root),
    ...(isSettled ? [] : [gap("transaction_open", `${root}:/`, { detail: "one after the other" })]),
  ];
  const base = { tables: catalog.tables.size, readBytes: 0, hidden: 0, metadata: told(catalog) };
  if (before === undefined) {
    const gaps = [gap("baseline_missing", `${root}:/`)];
    return { catalog, delta: { ...base, method: "none", entries: [], gaps } };
  }
  const exact = await exactLook(client, before, catalog, limits);
  const found = exact ?? (await storedLook(client, before, catalog, { root, limits }));
  const gaps = [...open, ...found.gaps];
  return { catalog, delta: { ...base, ...found, gaps, baseline: before.digest } };
}

type Found = Pick<SqlDelta, "entries" | "gaps" | "hidden" | "method" | "reason">;

/** By the held snapshot; undefined where it is gone, also when that happens in the middle. */
async function exactLook(
  client: SqlClient,
  { snapshot, catalog: was, stored }: KnownWorld,
  catalog: Catalog,
  limits: LookLimits,
): Promise<Found | undefined> {
  if (snapshot === undefined || snapshot.released !== undefined) return undefined;
  try {
    const { rows } = await client.query("SELECT age(xid($1::xid8))::text", [snapshot.xmin]);
    const observer = { client, sinceBaseline: rows[0]?.[0] ?? "0" };
    const known = {
      catalog: was,
      held: snapshot,
      stored,
      missing: { code: "baseline_released" } as const,
    };
    return { ...(await databaseDelta(known, observer, catalog, limits)), method: "exact" };
  } catch (error) {
    if (snapshot.released === undefined) throw error;
    return undefined;
  }
}

/** By stored digests; a table of which there are none is a gap. */
async function storedLook(
  client: SqlClient,
  { snapshot, catalog: was, stored, reason }: KnownWorld,
  catalog: Catalog,
  { root, limits }: { readonly root: string; readonly limits: LookLimits },
): Promise<Found> {
  const code: GapCode = snapshot === undefined ? "baseline_partial" : "baseline_released";
  const gone = snapshot?.released;
  const why = gone === undefined ? reason : `the snapshot was let go: ${gone}`;
  const detail = why === undefined ? {} : { detail: why };
  const told = why === undefined ? {} : { reason: why };
  if (stored.size === 0 && was.tables.size > 0)
    return {
      method: "none",
      entries: [],
      hidden: 0,
      gaps: [gap(code, `${root}:/`, detail)],
      ...told,
    };
  const known = { catalog: was, stored, missing: { code, ...detail } };
  const found = await databaseDelta(known, { client, sinceBaseline: "0" }, catalog, limits);
  return { ...found, method: "baseline", ...told };
}

/** Takes a moment in which no transaction ended between its snapshot and the look at what is open; false where there was none. */
async function beginLook(client: SqlClient): Promise<boolean> {
  for (let looks = 1; ; looks += 1) {
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const isSettled = !(await hasJustEnded(client));
    if (isSettled || looks === MAX_LOOKS) return isSettled;
    await client.query("ROLLBACK");
  }
}

function unavailable(root: string, detail: string): SqlDelta {
  return {
    method: "none",
    entries: [],
    gaps: [gap("database_unavailable", `${root}:/`, { detail })],
    tables: 0,
    hidden: 0,
    readBytes: 0,
    metadata: {},
  };
}

/** What a delta of a database does not hold. */
function told({ others }: Catalog): Readonly<Record<string, string>> {
  const names = others.slice(0, 40).map(({ uri, kind }) => `${kind} ${uri}`);
  const more = others.length > names.length ? [`and ${others.length - names.length} more`] : [];
  const never = "sequences, large objects, functions, grants, other databases";
  return {
    writers: "changes of every writer, not of the agent alone",
    notRead: [never, ...names, ...more].join(", "),
  };
}

/** Drops connections when a signal is aborted, until it is disposed. */
export function destroyedBy(
  signal: AbortSignal | undefined,
  ...clients: readonly (SqlClient | undefined)[]
): Disposable {
  const destroy = (): void => {
    for (const client of clients) client?.destroy();
  };
  signal?.addEventListener("abort", destroy);
  if (signal?.aborted === true) destroy();
  return { [Symbol.dispose]: () => signal?.removeEventListener("abort", destroy) };
}
