import { UpheldError } from "../../core/errors.ts";
import { gap } from "../../core/gap.ts";
import { timestampOf } from "../../core/timestamp.ts";
import { connectPostgres, isConnectionError, sqlCode, type SqlClient } from "./client.ts";
import type { SqlBaseline, SqlEngine } from "./engine.ts";
import type { LookLimits, SqlDelta } from "./delta.ts";
import { readCatalog, type Catalog } from "./postgres-catalog.ts";
import { exactDelta } from "./postgres-delta.ts";
import { HeldSnapshot } from "./postgres-hold.ts";
import { hasJustEnded, openGaps, openWriters } from "./postgres-open.ts";

export interface PostgresOptions {
  readonly root: string;
  readonly url: string;
  readonly statementTimeoutMs: number;
  readonly holdMs: number;
}

/** A snapshot that is held on a connection. */
interface SnapshotBaseline extends SqlBaseline {
  readonly snapshot: HeldSnapshot;
}

/** A Postgres server. */
export function postgresEngine(options: PostgresOptions): SqlEngine {
  const { root } = options;
  return {
    name: "postgres",
    async baseline(_attribution, signal) {
      signal?.throwIfAborted();
      const snapshot = await naming(root, () => HeldSnapshot.take(options.url, options));
      const baseline: SnapshotBaseline = {
        snapshot,
        digest: snapshot.digest,
        method: "exact",
        takenAt: timestampOf(BigInt(Date.now()) * 1_000_000n),
        [Symbol.asyncDispose]: () => snapshot[Symbol.asyncDispose](),
      };
      return baseline;
    },
    save: () => Promise.reject(new UpheldError("internal", "not yet")),
    open: () => Promise.reject(new UpheldError("internal", "not yet")),
    observe: (baseline, limits, signal) =>
      observePostgres(snapshotOf(baseline), options, limits, signal),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function snapshotOf(baseline: SqlBaseline | undefined): HeldSnapshot | undefined {
  return baseline !== undefined && "snapshot" in baseline
    ? (baseline as SnapshotBaseline).snapshot
    : undefined;
}

/** Says of which database an error speaks. */
async function naming<T>(root: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const why =
      error instanceof UpheldError ? error.message : `it cannot be read (${sqlCode(error)})`;
    throw new UpheldError("database_unavailable", `the database ${root}: ${why}`);
  }
}

/** How often a look is taken again because a transaction ended in the middle of it. */
const MAX_LOOKS = 5;

/** Looks at the database once and says what differs from the held snapshot. A database that cannot be read is a gap. */
async function observePostgres(
  held: HeldSnapshot | undefined,
  options: PostgresOptions,
  limits: LookLimits,
  signal: AbortSignal | undefined,
): Promise<SqlDelta> {
  const { root } = options;
  try {
    await using client = await connectPostgres(options.url, options);
    using _ = destroyedBy(signal, client, held?.client);
    return await look(client, held, root, limits);
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof UpheldError) && !isConnectionError(error) && !isSqlError(error))
      throw error;
    return unavailable(root, error instanceof UpheldError ? error.message : sqlCode(error));
  }
}

function isSqlError(error: unknown): boolean {
  return /^[0-9A-Z]{5}$/.test(sqlCode(error));
}

async function look(
  client: SqlClient,
  held: HeldSnapshot | undefined,
  root: string,
  limits: LookLimits,
): Promise<SqlDelta> {
  const before = await openWriters(client);
  const isSettled = await beginLook(client);
  const catalog = await readCatalog(client, root);
  const open = [
    ...openGaps([...before, ...(await openWriters(client))], catalog, root),
    ...(isSettled ? [] : [gap("transaction_open", `${root}:/`, { detail: "one after the other" })]),
  ];
  const base = { tables: catalog.tables.size, readBytes: 0, hidden: 0, metadata: told(catalog) };
  const none = (code: "baseline_missing" | "baseline_released", detail?: string): SqlDelta => ({
    ...base,
    method: "none",
    ...(detail === undefined ? {} : { reason: detail }),
    entries: [],
    gaps: [gap(code, `${root}:/`, detail === undefined ? {} : { detail })],
  });
  if (held === undefined) return none("baseline_missing");
  if (held.released !== undefined) return none("baseline_released", held.released);
  try {
    const sinceBaseline = await transactionsSince(client, held.xmin);
    const found = await exactDelta(held, { client, sinceBaseline }, catalog, limits);
    return {
      ...base,
      ...found,
      gaps: [...open, ...found.gaps],
      method: "exact",
      baseline: held.digest,
    };
  } catch (error) {
    if (held.released === undefined) throw error;
    return none("baseline_released", held.released);
  }
}

/** Takes a moment in which no transaction ended between its snapshot and the look at what is still open; false where there was none. */
async function beginLook(client: SqlClient): Promise<boolean> {
  for (let looks = 1; ; looks += 1) {
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const isSettled = !(await hasJustEnded(client));
    if (isSettled || looks === MAX_LOOKS) return isSettled;
    await client.query("ROLLBACK");
  }
}

async function transactionsSince(client: SqlClient, xmin: string): Promise<string> {
  const { rows } = await client.query("SELECT age(xid($1::xid8))::text", [xmin]);
  return rows[0]?.[0] ?? "0";
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
  return {
    writers: "changes of every writer, not of the agent alone",
    notRead: [
      "sequences, large objects, functions, grants, other databases",
      ...names,
      ...more,
    ].join(", "),
  };
}

function destroyedBy(
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
