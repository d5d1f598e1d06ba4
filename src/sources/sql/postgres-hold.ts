import { createHash } from "node:crypto";
import { Digest } from "../../core/ids.ts";
import { connectPostgres, type SqlClient, sqlCode } from "./client.ts";
import { readCatalog, type Catalog } from "./postgres-catalog.ts";

export interface HoldOptions {
  readonly root: string;
  readonly statementTimeoutMs: number;
  /** Milliseconds after which the snapshot is let go whatever happens. */
  readonly holdMs: number;
}

/** Milliseconds between two looks at whether anyone waits for us. */
const WATCH_INTERVAL_MS = 200;

/**
 * Anyone that waits for the held transaction, or for this database to be left by everyone. Asked of the locks, which every role
 * sees: what another role's session waits for is hidden from a role that may only read.
 */
const WAITING = `
SELECT 'a session waits for the held snapshot' FROM pg_locks
WHERE NOT granted AND $1::int4 = ANY (pg_blocking_pids(pid))
UNION ALL
SELECT 'the database is to be dropped, renamed or copied' FROM pg_locks
WHERE locktype = 'object' AND classid = 'pg_database'::regclass AND objid = $2::oid AND pid <> pg_backend_pid()
  AND mode NOT IN ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')
LIMIT 1`;

/**
 * The world before a run: a transaction that sees it, on a connection of its own. It holds no lock on any table. A second
 * connection looks five times a second whether anyone waits for it, and lets it go the moment anyone does.
 */
export class HeldSnapshot implements AsyncDisposable {
  readonly client: SqlClient;
  readonly catalog: Catalog;
  /** The oldest transaction that was not over: what it and all later ones wrote may be new. */
  readonly xmin: string;
  readonly digest: Digest;
  readonly #watcher: SqlClient;
  readonly #timer: NodeJS.Timeout;
  #released: string | undefined;
  #busy = false;

  private constructor(
    client: SqlClient,
    watcher: SqlClient,
    seen: {
      readonly catalog: Catalog;
      readonly snapshot: string;
      readonly pid: string;
      readonly database: string;
    },
    holdMs: number,
  ) {
    this.client = client;
    this.catalog = seen.catalog;
    this.xmin = seen.snapshot.split(":")[0] ?? "";
    const tables = [...seen.catalog.tables.values()].map(({ uri, definition }) => [
      uri,
      definition,
    ]);
    const text = JSON.stringify([seen.snapshot, tables]);
    this.digest = Digest.parse(`sha256:${createHash("sha256").update(text).digest("hex")}`);
    this.#watcher = watcher;
    const until = performance.now() + holdMs;
    this.#timer = setInterval(() => {
      if (performance.now() > until) this.#release(`held for ${holdMs / 1000} s`);
      else void this.#watch(seen.pid, seen.database);
    }, WATCH_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Takes the snapshot. Throws "database_unavailable" where there is no connection to be had. */
  static async take(url: string, options: HoldOptions): Promise<HeldSnapshot> {
    const client = await connectPostgres(url, options);
    try {
      const watcher = await connectPostgres(url, { statementTimeoutMs: 5_000 });
      await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
      const { rows } = await client.query(
        `SELECT pg_current_snapshot()::text, pg_backend_pid()::text,
           (SELECT oid::text FROM pg_database WHERE datname = current_database())`,
      );
      const [snapshot, pid, database] = (rows[0] ?? []).map((value) => value ?? "");
      const catalog = await readCatalog(client, options.root);
      const seen = { catalog, snapshot: snapshot ?? "", pid: pid ?? "", database: database ?? "" };
      return new HeldSnapshot(client, watcher, seen, options.holdMs);
    } catch (error) {
      client.destroy();
      throw error;
    }
  }

  /** Why the snapshot is gone; undefined while it is held. */
  get released(): string | undefined {
    if (this.#released !== undefined) return this.#released;
    return this.client.isLost ? "the connection that held it was lost" : undefined;
  }

  /** The name under which another transaction can see the same moment. */
  async export(): Promise<string> {
    const { rows } = await this.client.query("SELECT pg_export_snapshot()");
    return rows[0]?.[0] ?? "";
  }

  async #watch(pid: string, database: string): Promise<void> {
    if (this.#busy || this.released !== undefined) return;
    this.#busy = true;
    try {
      const { rows } = await this.#watcher.query(WAITING, [pid, database]);
      if (rows[0] === undefined) return;
      this.#released = rows[0][0] ?? "";
      // A statement that runs on it would not notice that its client is gone.
      await this.#watcher.query("SELECT pg_terminate_backend($1::int4)::text", [pid]);
      this.#release(this.#released);
    } catch (error) {
      // Whether anyone waits is not known any more.
      this.#release(`whether anyone waits for it could not be seen (${sqlCode(error)})`);
    } finally {
      this.#busy = false;
    }
  }

  #release(reason: string): void {
    this.#released ??= reason;
    clearInterval(this.#timer);
    this.client.destroy();
    this.#watcher.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.client[Symbol.asyncDispose]();
    await this.#watcher[Symbol.asyncDispose]();
  }
}
