import type { Client } from "pg";
import { UpheldError } from "../../core/errors.ts";

export type SqlValue = string | null;
export type SqlRow = readonly SqlValue[];

/** A connection to a server that answers in its own text: every value as it was sent, or null. One statement a call. */
export interface SqlClient extends AsyncDisposable {
  query(text: string, values?: readonly SqlValue[]): Promise<{ readonly rows: readonly SqlRow[] }>;
  /** Drops the connection at once, with what runs on it. */
  destroy(): void;
  /** True once the connection is gone, by whatever cause. */
  readonly isLost: boolean;
}

/** Milliseconds that opening a connection may take. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Settings that decide how values print; without them a setting of the database could change what is compared. */
const SETTINGS: Readonly<Record<string, string>> = {
  timezone: "UTC",
  datestyle: "ISO, YMD",
  intervalstyle: "iso_8601",
  extra_float_digits: "1",
  bytea_output: "hex",
  lc_monetary: "C",
  search_path: "pg_catalog",
  xmloption: "content",
  default_transaction_read_only: "on",
  // The transaction is held while an agent works, which may take long.
  idle_in_transaction_session_timeout: "0",
  idle_session_timeout: "0",
  transaction_timeout: "0",
  lock_timeout: "2000",
  // Parallel workers would take what the agent may need.
  max_parallel_workers_per_gather: "0",
};

const RAW = { getTypeParser: () => (value: string) => value };

/** Opens a connection. Throws "database_unavailable", which never tells the address. */
export async function connectPostgres(
  url: string,
  options: { readonly statementTimeoutMs: number },
): Promise<SqlClient> {
  const client = await open(url);
  let lost = false;
  // A lost connection also rejects its query; without a listener this event would end the process.
  client.on("error", () => {
    lost = true;
  });
  client.on("end", () => {
    lost = true;
  });
  const own: SqlClient = {
    async query(text, values = []) {
      const config = {
        text,
        values: [...values],
        rowMode: "array",
        types: RAW,
        queryMode: "extended",
      };
      const { rows } = await client.query<(string | null)[]>(config);
      return { rows };
    },
    destroy() {
      lost = true;
      destroySocket(client);
    },
    get isLost() {
      return lost;
    },
    async [Symbol.asyncDispose]() {
      if (lost) destroySocket(client);
      else await client.end().catch(() => undefined);
    },
  };
  try {
    await client.connect();
    await configure(own, options.statementTimeoutMs);
  } catch (cause) {
    destroySocket(client);
    throw new UpheldError("database_unavailable", `it cannot be opened (${sqlCode(cause)})`);
  }
  return own;
}

async function open(url: string): Promise<Client> {
  // Loaded when it is needed: most runs watch no database, and start sooner without it.
  const postgres = await import("pg");
  try {
    return new postgres.Client({
      connectionString: url,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      application_name: "upheld",
    });
  } catch {
    // The error of a parser holds the whole address, with its password.
    throw new UpheldError("database_unavailable", "its address cannot be read");
  }
}

async function configure(client: SqlClient, statementTimeoutMs: number): Promise<void> {
  const settings = { ...SETTINGS, statement_timeout: String(statementTimeoutMs) };
  const names = Object.keys(settings);
  await client.query(
    `SELECT set_config(s.name, w.value, false) FROM pg_settings s
     JOIN unnest($1::text[], $2::text[]) AS w(name, value) ON lower(s.name) = w.name`,
    [arrayText(names), arrayText(Object.values(settings))],
  );
}

/** The connection's socket is no part of the declared types; what runs on it ends with it. */
function destroySocket(client: Client): void {
  const { connection } = client as unknown as {
    readonly connection?: { readonly stream?: { destroy(): void } };
  };
  connection?.stream?.destroy();
}

/** A list as the text of an array parameter. */
export function arrayText(items: readonly string[]): string {
  return `{${items.map((item) => `"${item.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(",")}}`;
}

/** A name as it stands in a statement. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The SQLSTATE or system code of an error; its text may hold values, names and addresses. */
export function sqlCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : "connection lost";
}

/** True where an error says that the connection or the server is gone, and not merely a statement. */
export function isConnectionError(error: unknown): boolean {
  const code = sqlCode(error);
  return !/^[0-9A-Z]{5}$/.test(code) || code.startsWith("08") || code.startsWith("57P");
}
