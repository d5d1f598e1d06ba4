import type { SurfaceEntry } from "../../../core/entry.ts";
import { gap, type Gap } from "../../../core/gap.ts";
import type { SqlDelta } from "../delta.ts";
import { rowEntry, rowState, type RowChange } from "../row-entry.ts";
import { tableChanges } from "../table-changes.ts";
import { isRow, readSqliteCatalog, rowsOf, type SqliteRow, type SqliteTable } from "./catalog.ts";
import type { OpenSqlite, SqliteDatabase } from "./driver.ts";
import {
  literal,
  quoted,
  tagged,
  typedColumns,
  untagged,
  type TextEncodingName,
} from "./values.ts";

export interface DiffTask {
  readonly root: string;
  /** Copies that may be opened and written beside; undefined where there is no database. */
  readonly before: string | undefined;
  readonly now: string | undefined;
  readonly maxRows: number;
}

export type DiffResult = Pick<SqlDelta, "entries" | "gaps" | "hidden" | "tables" | "metadata">;

/** What differs between two copies of a database. Throws where one of them is none. */
export function diffSqlite(open: OpenSqlite, task: DiffTask): DiffResult {
  const database = open(task.now ?? ":memory:");
  try {
    database.exec(`ATTACH DATABASE ${literal(task.before ?? ":memory:")} AS old`);
    return diff(database, task);
  } finally {
    database.close();
  }
}

function diff(database: SqliteDatabase, { root, maxRows }: DiffTask): DiffResult {
  const now = readSqliteCatalog(database, "main", root);
  const before = readSqliteCatalog(database, "old", root);
  const encoding = encodingOf(database);
  const entries: SurfaceEntry[] = [...tableChanges(before, now)];
  const gaps: Gap[] = [];
  let hidden = 0;
  for (const name of new Set([...now.tables.keys(), ...before.tables.keys()])) {
    const pair = { before: before.tables.get(name), now: now.tables.get(name) };
    const uri = (pair.now ?? pair.before)?.uri ?? `${root}:/`;
    try {
      const room = Math.max(0, maxRows - entries.length);
      const found = new TableDiff(database, pair, encoding).read(room);
      entries.push(...found.entries);
      gaps.push(...found.gaps);
      hidden += found.hidden;
      if (found.hidden > 0)
        gaps.push(
          gap("row_limit_exceeded", uri, {
            detail: `${found.hidden} changed rows beyond the limit`,
            remedy: "Raise maxRows.",
          }),
        );
    } catch (error) {
      gaps.push(gap("database_unavailable", uri, { detail: sqliteCode(error) }));
    }
  }
  const others = now.others.slice(0, 40).join(", ");
  return {
    entries,
    gaps,
    hidden,
    tables: now.tables.size,
    metadata: {
      writers: "changes of every writer, not of the agent alone",
      ...(others === "" ? {} : { notRead: others }),
    },
  };
}

/** How the texts of a database are written in its file. */
export function encodingOf(database: SqliteDatabase): TextEncodingName {
  const [row] = rowsOf(database, "PRAGMA main.encoding");
  const name = String(row?.["encoding"]).toLowerCase();
  return name === "utf-16le" || name === "utf-16be" ? name : "utf-8";
}

/** The code of an error of SQLite; its message may quote a statement. */
export function sqliteCode(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const told = "errstr" in error ? String(error.errstr) : "code" in error ? String(error.code) : "";
  if (/not a database/.test(error.message)) return "file is not a database";
  if (/malformed/.test(error.message)) return "database disk image is malformed";
  return told === "" ? "unknown" : told;
}

interface Pair {
  readonly before: SqliteTable | undefined;
  readonly now: SqliteTable | undefined;
}

type Found = Pick<DiffResult, "entries" | "gaps" | "hidden">;

/** The rows of one table in both copies. */
class TableDiff {
  readonly #database: SqliteDatabase;
  readonly #pair: Pair;
  readonly #encoding: TextEncodingName;
  readonly #entries: SurfaceEntry[] = [];
  #room = 0;
  #hidden = 0;

  constructor(database: SqliteDatabase, pair: Pair, encoding: TextEncodingName) {
    this.#database = database;
    this.#pair = pair;
    this.#encoding = encoding;
  }

  read(room: number): Found {
    this.#room = room;
    const { before, now } = this.#pair;
    const table = now ?? before;
    if (table === undefined) return { entries: [], gaps: [], hidden: 0 };
    if (isKeyed(table, before)) this.#byKey(table);
    else if (isComparable(before, now)) this.#alike({ ...table, key: [] });
    else return { entries: [], hidden: 0, gaps: [gap("table_rewritten", table.uri)] };
    return { entries: this.#entries, gaps: [], hidden: this.#hidden };
  }

  #byKey(table: SqliteTable): void {
    const { before, now } = this.#pair;
    const name = quoted(table.name);
    const on = table.key.map((key) => `o.${quoted(key)} IS n.${quoted(key)}`).join(" AND ");
    const [first = ""] = table.key;
    const absent = (side: string): string => `${side}.${quoted(first)} IS NULL`;
    if (now !== undefined) {
      const from =
        before === undefined ? "" : ` LEFT JOIN old.${name} AS o ON ${on} WHERE ${absent("o")}`;
      this.#each(`SELECT ${listed(now, "n", "n")} FROM main.${name} AS n${from}`, (row) => {
        this.#add(table, "created", undefined, this.#side(now, row, "n"));
      });
    }
    if (before !== undefined) {
      const from =
        now === undefined ? "" : ` LEFT JOIN main.${name} AS n ON ${on} WHERE ${absent("n")}`;
      this.#each(`SELECT ${listed(before, "o", "o")} FROM old.${name} AS o${from}`, (row) => {
        this.#add(table, "deleted", this.#side(before, row, "o"), undefined);
      });
    }
    if (before === undefined || now === undefined) return;
    this.#each(
      `SELECT ${listed(now, "n", "n")}, ${listed(before, "o", "o")} FROM main.${name} AS n JOIN old.${name} AS o ON ${on}
       WHERE ${differs(before, now)}`,
      (row) => {
        this.#add(table, "modified", this.#side(before, row, "o"), this.#side(now, row, "n"));
      },
    );
  }

  /** Rows without a key: as many copies of each as there are more or less than before. */
  #alike(table: SqliteTable): void {
    const { before, now } = this.#pair;
    const name = quoted(table.name);
    const sides = [
      ...(now === undefined
        ? []
        : [`SELECT ${listed(table, "t", "n")}, 1 AS weight FROM main.${name} AS t`]),
      ...(before === undefined
        ? []
        : [`SELECT ${listed(table, "t", "n")}, -1 AS weight FROM old.${name} AS t`]),
    ];
    const names = table.columns.map((_, index) => `n${index}`).join(", ");
    this.#each(
      `SELECT ${names}, CAST(sum(weight) AS TEXT) AS weight FROM (${sides.join(" UNION ALL ")}) GROUP BY ${names} HAVING sum(weight) <> 0`,
      (row) => {
        const weight = Number(row["weight"]);
        const side = this.#side(table, row, "n");
        for (let copy = 1; copy <= Math.abs(weight); copy += 1)
          if (weight > 0) this.#add(table, "created", undefined, side, copy);
          else this.#add(table, "deleted", side, undefined, copy);
      },
    );
  }

  #each(text: string, take: (row: SqliteRow) => void): void {
    for (const row of this.#database.prepare(text).iterate()) if (isRow(row)) take(row);
  }

  #side(table: SqliteTable, row: SqliteRow, prefix: string): Side {
    const values = table.columns.map(({ type }, index) =>
      untagged(row[`${prefix}${index}`], this.#encoding, type),
    );
    const shape = { ...table, columns: typedColumns(table.columns, values) };
    return { values: values.map(({ value }) => value), shape };
  }

  #add(
    table: SqliteTable,
    change: "created" | "modified" | "deleted",
    before: Side | undefined,
    now: Side | undefined,
    copy: number = 1,
  ): void {
    if (this.#entries.length >= this.#room) {
      this.#hidden += 1;
      return;
    }
    const told: RowChange = {
      change,
      before:
        before === undefined
          ? undefined
          : rowState({ ...before.shape, key: table.key }, before.values),
      now: now === undefined ? undefined : rowState({ ...now.shape, key: table.key }, now.values),
    };
    const { shape, values } = now ?? before ?? { shape: table, values: [] };
    this.#entries.push(rowEntry({ ...shape, key: table.key }, values, told, copy));
  }
}

/** True where one key tells the rows of both sides apart. */
function isKeyed({ key }: SqliteTable, before: SqliteTable | undefined): boolean {
  return key.length > 0 && sameNames(key, before?.key ?? key);
}

/** Without a key, only rows of the same columns can be compared. */
function isComparable(before: SqliteTable | undefined, now: SqliteTable | undefined): boolean {
  return before === undefined || now === undefined || sameNames(namesOf(before), namesOf(now));
}

interface Side {
  readonly shape: Omit<SqliteTable, "columns"> & {
    readonly columns: readonly { name: string; type: string }[];
  };
  readonly values: readonly (string | null)[];
}

/** The columns of one side as tagged texts, under names of their places. */
function listed({ columns }: SqliteTable, from: string, prefix: string): string {
  return columns
    .map(({ name }, index) => `${tagged(`${from}.${quoted(name)}`)} AS ${prefix}${index}`)
    .join(", ");
}

/** True of a row that holds another value, or in a new column another one than rows of before hold in it. */
function differs(before: SqliteTable, now: SqliteTable): string {
  const old = new Set(namesOf(before));
  const parts = now.columns.map(({ name, fallback }) => {
    const column = `n.${quoted(name)}`;
    if (!old.has(name)) return `${column} IS NOT (${fallback ?? "NULL"})`;
    const was = `o.${quoted(name)}`;
    return `${column} IS NOT ${was} COLLATE BINARY OR typeof(${column}) <> typeof(${was})`;
  });
  return `(${parts.join(" OR ")})`;
}

function namesOf({ columns }: SqliteTable): readonly string[] {
  return columns.map(({ name }) => name);
}

function sameNames(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((name, index) => name === right[index]);
}
