import { mkdir } from "node:fs/promises";
import { PGlite } from "@electric-sql/pglite";
import { UpheldError } from "../core/errors.ts";
import { rowOf, type Database, type Statements } from "./database.ts";
import { lockFolder } from "./folder-lock.ts";

/** What is used of the package, of a connection and of a transaction alike. */
interface Engine {
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: readonly Record<string, unknown>[] }>;
  exec(script: string): Promise<unknown>;
}

/**
 * Postgres inside the process, its files in a folder that one process holds at a time; statements wait for each other. Throws
 * "state_busy" where another process has the folder, and "database_unavailable" where it cannot be opened.
 */
export async function openPgliteDatabase(folder: string): Promise<Database> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const lock = lockFolder(folder);
  const engine = await PGlite.create(`${folder}/data`).catch((cause: unknown) => {
    lock.release();
    throw new UpheldError("database_unavailable", "the embedded database cannot be opened", {
      cause,
    });
  });
  return {
    ...statementsOf(engine),
    transaction: (work) => engine.transaction((inside) => work(statementsOf(inside))),
    async [Symbol.asyncDispose]() {
      await engine.close();
      lock.release();
    },
  };
}

function statementsOf(engine: Engine): Statements {
  return {
    async query(text, values = []) {
      const { rows } = await engine.query(text, [...values]);
      return rows.map(rowOf);
    },
    async run(script) {
      await engine.exec(script);
    },
  };
}
