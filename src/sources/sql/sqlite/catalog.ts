import { tableUri } from "../place.ts";
import type { TableShape } from "../row-entry.ts";
import type { SqliteDatabase } from "./driver.ts";
import { literal, quoted } from "./values.ts";

export interface SqliteColumn {
  readonly name: string;
  readonly type: string;
  /** The expression of what rows hold that were there before the column. */
  readonly fallback: string | null;
}

export interface SqliteTable extends TableShape {
  readonly name: string;
  readonly columns: readonly SqliteColumn[];
  readonly definition: string;
}

export interface SqliteCatalog {
  readonly tables: ReadonlyMap<string, SqliteTable>;
  /** Views and virtual tables, which hold no rows of their own. */
  readonly others: readonly string[];
}

/** The tables of one attached database, by their names. */
export function readSqliteCatalog(
  database: SqliteDatabase,
  schema: "main" | "old",
  root: string,
): SqliteCatalog {
  const tables = new Map<string, SqliteTable>();
  const others: string[] = [];
  const listed = rowsOf(
    database,
    `SELECT l.name AS name, l.type AS type, l.wr AS wr, s.sql AS sql FROM pragma_table_list AS l
     LEFT JOIN ${schema}.sqlite_schema AS s ON s.name = l.name AND s.type IN ('table', 'view')
     WHERE l.schema = '${schema}' AND l.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY l.name`,
  );
  for (const { name, type, wr, sql } of listed) {
    if (typeof name !== "string") continue;
    if (type === "view" || type === "virtual") {
      others.push(`${type === "view" ? "view" : "virtual table"} ${tableUri(root, [name])}`);
      continue;
    }
    const found = columnsOf(database, schema, name);
    const isNullable = Number(wr) === 0 && found.key.some((key) => found.nullable.has(key));
    const hasNull = isNullable && holdsNull(database, schema, name, found.key);
    const definition = typeof sql === "string" ? sql : "";
    const key = hasNull ? [] : found.key;
    tables.set(name, {
      name,
      uri: tableUri(root, [name]),
      columns: found.columns,
      key,
      definition,
    });
  }
  return { tables, others };
}

function columnsOf(
  database: SqliteDatabase,
  schema: string,
  table: string,
): { columns: SqliteColumn[]; key: readonly string[]; nullable: ReadonlySet<string> } {
  const columns: SqliteColumn[] = [];
  const key: { name: string; place: number }[] = [];
  const nullable = new Set<string>();
  const rows = rowsOf(
    database,
    `SELECT name, type, "notnull" AS required, dflt_value AS fallback, pk FROM pragma_table_xinfo(${literal(table)}, '${schema}') WHERE hidden <> 1`,
  );
  for (const { name, type, required, fallback, pk } of rows) {
    if (typeof name !== "string") continue;
    const declared = typeof type === "string" && type !== "" ? type.toLowerCase() : "any";
    columns.push({
      name,
      type: declared,
      fallback: typeof fallback === "string" ? fallback : null,
    });
    if (Number(pk) > 0) key.push({ name, place: Number(pk) });
    if (Number(required) === 0) nullable.add(name);
  }
  const ordered = key.toSorted((left, right) => left.place - right.place).map(({ name }) => name);
  return { columns, key: ordered, nullable };
}

/** A primary key of SQLite may hold nulls, and then tells no rows apart. */
function holdsNull(
  database: SqliteDatabase,
  schema: string,
  table: string,
  key: readonly string[],
): boolean {
  const isNull = key.map((name) => `${quoted(name)} IS NULL`).join(" OR ");
  return (
    rowsOf(database, `SELECT 1 AS found FROM ${schema}.${quoted(table)} WHERE ${isNull} LIMIT 1`)
      .length > 0
  );
}

export type SqliteRow = Readonly<Record<string, unknown>>;

export function rowsOf(database: SqliteDatabase, text: string): readonly SqliteRow[] {
  return database.prepare(text).all().filter(isRow);
}

export function isRow(value: unknown): value is SqliteRow {
  return typeof value === "object" && value !== null;
}
