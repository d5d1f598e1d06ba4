import { Pool } from "pg";
import { UpheldError } from "../core/errors.ts";
import { rowOf, type Database, type Statements } from "./database.ts";

/** Connections that one process keeps. */
const MAX_CONNECTIONS = 10;
const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 30_000;

/**
 * A Postgres server, by a pool of connections. Throws "database_unavailable" where no connection can be had; the message never
 * tells the address.
 */
export async function openPostgresDatabase(url: string): Promise<Database> {
  const pool = new Pool({
    connectionString: url,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    application_name: "upheld",
  });
  // A connection that is lost while it idles is replaced at the next use; without a listener it would end the process.
  pool.on("error", () => undefined);
  const database = databaseOf(pool);
  try {
    await database.query("SELECT 1");
  } catch (error) {
    await pool.end();
    throw error;
  }
  return database;
}

function databaseOf(pool: Pool): Database {
  return {
    async query(text, values) {
      await using held = await connect(pool);
      return await held.query(text, values);
    },
    async transaction(work) {
      await using held = await connect(pool);
      await held.query("BEGIN");
      try {
        const result = await work(held);
        await held.query("COMMIT");
        return result;
      } catch (error) {
        await held.query("ROLLBACK").catch(() => held.drop());
        throw error;
      }
    },
    async run(script) {
      await using held = await connect(pool);
      await held.run(script);
    },
    [Symbol.asyncDispose]: () => pool.end(),
  };
}

interface HeldConnection extends Statements, AsyncDisposable {
  /** Closes it instead of giving it back. */
  drop(): void;
}

async function connect(pool: Pool): Promise<HeldConnection> {
  const client = await pool.connect().catch((cause: unknown) => {
    throw new UpheldError("database_unavailable", "the database cannot be reached", { cause });
  });
  let isBroken = false;
  const broken = (): void => {
    isBroken = true;
  };
  client.on("error", broken);
  return {
    async query(text, values = []) {
      const { rows } = await reached(client.query<Record<string, unknown>>(text, [...values]));
      return rows.map(rowOf);
    },
    async run(script) {
      await reached(client.query(script));
    },
    drop: broken,
    [Symbol.asyncDispose]() {
      client.off("error", broken);
      client.release(isBroken);
      return Promise.resolve();
    },
  };
}

/** Classes of errors that say nothing about a statement: lost connections, too many of them, a server that stops. */
const OUTAGES = /^(08|53|57)/;

/** What a server answered. Throws "database_unavailable" where it did not. */
async function reached<T>(asking: Promise<T>): Promise<T> {
  try {
    return await asking;
  } catch (cause) {
    const code: unknown = Reflect.get(Object(cause), "code");
    const isAnswer = typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !OUTAGES.test(code);
    if (isAnswer) throw cause;
    throw new UpheldError("database_unavailable", "the database does not answer", { cause });
  }
}
