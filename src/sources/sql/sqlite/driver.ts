import { createRequire } from "node:module";
import { UpheldError } from "../../../core/errors.ts";

/** The part of a SQLite package that is used: statements whose values are all text. */
export interface SqliteDatabase {
  prepare(text: string): { iterate(): Iterable<unknown>; all(): unknown[] };
  exec(text: string): unknown;
  close(): unknown;
}

/** Opens a database file. Throws the package's own error where it cannot. */
export type OpenSqlite = (file: string) => SqliteDatabase;

type Constructor = new (file: string) => SqliteDatabase;

const require = createRequire(import.meta.url);

/** Packages that bring SQLite, the first that is there: of Node itself, or better-sqlite3, or one of the same form. */
const PACKAGES = [
  { name: "node:sqlite", of: (found: object) => named(found, "DatabaseSync") },
  { name: "better-sqlite3", of: asConstructor },
  { name: "libsql", of: asConstructor },
] as const;

/** The SQLite that is installed. Throws "package_missing", which says what to install. */
export function sqliteDriver(): OpenSqlite {
  for (const { name, of } of PACKAGES) {
    const found = load(name);
    const Database = found === undefined ? undefined : of(found);
    if (Database !== undefined) return (file) => new Database(file);
  }
  throw new UpheldError(
    "package_missing",
    "a SQLite database needs Node 22.13 or later, or the package better-sqlite3: npm install better-sqlite3@12 (option --db)",
  );
}

function load(name: string): object | undefined {
  try {
    const found: unknown = require(name);
    return typeof found === "object" || typeof found === "function"
      ? (found ?? undefined)
      : undefined;
  } catch {
    return undefined;
  }
}

function named(found: object, name: string): Constructor | undefined {
  return name in found
    ? asConstructor((found as Readonly<Record<string, object>>)[name])
    : undefined;
}

function asConstructor(found: object | undefined): Constructor | undefined {
  // What the packages export is not known to the compiler, since none of them needs to be installed.
  return typeof found === "function" ? (found as Constructor) : undefined;
}
