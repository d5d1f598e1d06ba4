import { gap, type Gap } from "../../../core/gap.ts";
import type { TableLook, WorldCell, WorldLook, WorldQuestion } from "../../../core/world.ts";
import { MAX_WORLD_CELL, orderedTables } from "../world-question.ts";
import { isRow, readSqliteCatalog, rowsOf, type SqliteRow, type SqliteTable } from "./catalog.ts";
import { encodingOf, sqliteCode } from "./diff.ts";
import type { OpenSqlite, SqliteDatabase } from "./driver.ts";
import { literal, quoted, tagged, untagged, type TextEncodingName } from "./values.ts";

export interface WorldTask {
  readonly root: string;
  /** A copy that may be opened and written beside. */
  readonly file: string;
  readonly question: WorldQuestion;
}

/** Reads what is in a copy of a database, table by table. Throws where it is none. */
export function readSqliteWorld(open: OpenSqlite, { root, file, question }: WorldTask): WorldLook {
  const endsAt = performance.now() + question.deadlineMs;
  const database = open(file);
  try {
    const catalog = readSqliteCatalog(database, "main", root);
    const gaps: Gap[] = [];
    const encoding = encodingOf(database);
    const tables = orderedTables([...catalog.tables.values()], question.first).map((table) => {
      try {
        if (performance.now() <= endsAt) return read(database, table, { question, encoding });
        gaps.push(gap("deadline_passed", table.uri));
      } catch (error) {
        gaps.push(gap("database_unavailable", table.uri, { detail: sqliteCode(error) }));
      }
      return typedTable(table, []);
    });
    return { tables, gaps };
  } finally {
    database.close();
  }
}

function read(
  database: SqliteDatabase,
  table: SqliteTable,
  how: { readonly question: WorldQuestion; readonly encoding: TextEncodingName },
): TableLook {
  const { question, encoding } = how;
  const name = quoted(table.name);
  const [counted] = rowsOf(database, `SELECT CAST(count(*) AS TEXT) AS total FROM main.${name}`);
  const listed = table.columns.map(headOf).join(", ");
  const order = (table.key.length > 0 ? table.key : table.columns.map((column) => column.name))
    .map((column) => `${quoted(column)} COLLATE BINARY`)
    .join(", ");
  const rows = (where: string): readonly (readonly Read[])[] => {
    const text = `SELECT ${listed} FROM main.${name} AS t ${where} ORDER BY ${order} LIMIT ${question.maxRows}`;
    return database
      .prepare(text)
      .all()
      .filter(isRow)
      .map((row) => readCells(table, row, encoding));
  };
  const asked = namedRows(table, question.terms);
  const shown = [...(asked === undefined ? [] : rows(asked)), ...rows("")];
  return { ...typedTable(table, shown), rowsTotal: Number(counted?.["total"]) };
}

/** The rows whose whole key stands among the terms; undefined where none can be asked for. */
function namedRows({ key }: SqliteTable, terms: readonly string[]): string | undefined {
  const known = terms.filter((term) => !term.includes("\0"));
  if (key.length === 0 || known.length === 0) return undefined;
  const list = known.map(literal).join(", ");
  return `WHERE ${key.map((name) => `CAST(${quoted(name)} AS TEXT) IN (${list})`).join(" AND ")}`;
}

/** A column's value, or the head of a long one, and then its size. */
function headOf({ name }: SqliteTable["columns"][number], index: number): string {
  const column = `t.${quoted(name)}`;
  const isLong = `typeof(${column}) IN ('text', 'blob') AND length(${column}) > ${MAX_WORLD_CELL}`;
  const head = `CASE WHEN ${isLong} THEN substr(${column}, 1, ${MAX_WORLD_CELL}) ELSE ${column} END`;
  const size = `CASE WHEN ${isLong} THEN CAST(length(CAST(${column} AS BLOB)) AS TEXT) END`;
  return `${tagged(`(${head})`)} AS v${index}, ${size} AS s${index}`;
}

interface Read {
  readonly type: string;
  readonly value: string | null;
  readonly sizeBytes?: number;
}

function readCells(
  { columns }: SqliteTable,
  row: SqliteRow,
  encoding: TextEncodingName,
): readonly Read[] {
  return columns.map((column, index) => {
    const size = row[`s${index}`];
    const read = untagged(row[`v${index}`], encoding, column.type);
    return typeof size === "string" ? { ...read, sizeBytes: Number(size) } : read;
  });
}

/** Values have types of their own in SQLite: a column is of the type of the first value that is shown of it. */
function typedTable(
  { uri, columns, key }: SqliteTable,
  rows: readonly (readonly Read[])[],
): Pick<TableLook, "uri" | "columns" | "key" | "rows"> {
  const typed = columns.map(({ name, type }, index) => {
    const first = rows.map((row) => row[index]).find((cell) => (cell?.value ?? null) !== null);
    return { name, type: first?.type ?? type };
  });
  const told = rows.map((row) => row.map((cell, index) => cellOf(cell, typed[index]?.type)));
  return { uri, columns: typed, key, rows: told };
}

function cellOf({ type, value, sizeBytes }: Read, columnType: string | undefined): WorldCell {
  if (value === null) return null;
  if (type === columnType && sizeBytes === undefined) return value;
  return {
    value,
    ...(type === columnType ? {} : { type }),
    ...(sizeBytes === undefined ? {} : { sizeBytes }),
  };
}
