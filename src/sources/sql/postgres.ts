import { UpheldError } from "../../core/errors.ts";
import { timestampOf } from "../../core/timestamp.ts";
import { connectPostgres, sqlCode } from "./client.ts";
import { openDigests, saveDigests } from "./digest-file.ts";
import type { SqlBaseline, SqlEngine } from "./engine.ts";
import { readCatalog, type Catalog } from "./postgres-catalog.ts";
import { SIDE_BUDGET_BYTES, storeTables } from "./postgres-digests.ts";
import { HeldSnapshot } from "./postgres-hold.ts";
import { lookAtPostgres, type KnownWorld } from "./postgres-look.ts";
import { KeptMoment } from "./postgres-moment.ts";
import { digestOfTables, type StoredTable } from "./row-digest.ts";

export interface PostgresOptions {
  readonly root: string;
  readonly url: string;
  readonly statementTimeoutMs: number;
  readonly holdMs: number;
  readonly keepsMoment: boolean;
}

interface PostgresBaseline extends SqlBaseline {
  readonly world: KnownWorld;
}

/** A Postgres server. */
export function postgresEngine(options: PostgresOptions): SqlEngine {
  const { root } = options;
  const kept = new KeptMoment(root);
  const keep = options.keepsMoment ? kept.take : undefined;
  return {
    name: "postgres",
    async baseline(attribution, signal) {
      signal?.throwIfAborted();
      const world = await naming(root, () => worldBefore(options, attribution));
      return baselineOf(world, timestampOf(BigInt(Date.now()) * 1_000_000n));
    },
    nothing() {
      const catalog = { tables: new Map(), leaves: new Map(), others: [] };
      const world = { digest: digestOfTables([]), catalog, stored: new Map() };
      return baselineOf(world, timestampOf(BigInt(Date.now()) * 1_000_000n));
    },
    async save(baseline, folder) {
      const { catalog, stored, digest } = worldOf(baseline);
      const tables = [...catalog.tables.values()].map(({ oid, uri, definition, columns, key }) => ({
        id: oid,
        uri,
        definition,
        columns,
        key,
      }));
      await saveDigests(folder, { digest, takenAt: baseline.takenAt, tables, stored });
    },
    async open(folder) {
      const { digest, takenAt, tables, stored } = await openDigests(folder);
      const known = new Map(tables.map(({ id, ...table }) => [id, { oid: id, ...table }]));
      const catalog = { tables: known, leaves: new Map(), others: [] };
      return baselineOf({ digest, catalog, stored }, takenAt);
    },
    observe: (baseline, limits, signal) =>
      lookAtPostgres(
        baseline === undefined ? undefined : worldOf(baseline),
        { ...options, keep },
        limits,
        signal,
      ),
    world: (question, signal) => kept.world(question, signal),
    [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose](),
  };
}

function baselineOf(world: KnownWorld, takenAt: SqlBaseline["takenAt"]): PostgresBaseline {
  return {
    world,
    digest: world.digest,
    method: world.snapshot === undefined ? "baseline" : "exact",
    takenAt,
    [Symbol.asyncDispose]: async () => {
      await world.snapshot?.[Symbol.asyncDispose]();
    },
  };
}

function worldOf(baseline: SqlBaseline): KnownWorld {
  if (!("world" in baseline)) throw new UpheldError("internal", "a baseline of another kind");
  return (baseline as PostgresBaseline).world;
}

/** A held snapshot where one can be had, else the digests of every row. */
async function worldBefore(
  options: PostgresOptions,
  attribution: "auto" | "exact" | "baseline" | "none",
): Promise<KnownWorld> {
  if (attribution === "baseline") return storedWorld(options);
  let snapshot: HeldSnapshot;
  try {
    snapshot = await HeldSnapshot.take(options.url, options);
  } catch (error) {
    if (attribution === "exact") throw error;
    // One connection is enough for digests.
    const why = error instanceof UpheldError ? error.message : sqlCode(error);
    return storedWorld(options, `no snapshot could be held: ${why}`);
  }
  const { catalog, digest } = snapshot;
  return { digest, catalog, snapshot, stored: await storedBeside(snapshot, options) };
}

/** Digests of the smaller tables at the moment of the snapshot, for what it cannot tell: a truncated table, a lost connection. */
async function storedBeside(
  snapshot: HeldSnapshot,
  options: PostgresOptions,
): Promise<ReadonlyMap<string, StoredTable>> {
  try {
    // On a connection of its own, so that no lock on a table outlives it.
    await using client = await connectPostgres(options.url, options);
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    await client.query(`SET TRANSACTION SNAPSHOT '${await snapshot.export()}'`);
    return await storeTables(client, snapshot.catalog, SIDE_BUDGET_BYTES);
  } catch {
    return new Map();
  }
}

async function storedWorld(options: PostgresOptions, reason?: string): Promise<KnownWorld> {
  await using client = await connectPostgres(options.url, options);
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  const catalog: Catalog = await readCatalog(client, options.root);
  const stored = await storeTables(client, catalog);
  return { digest: digestOfTables(stored.values()), catalog, stored, reason };
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
