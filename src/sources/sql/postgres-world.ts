import { gap, type Gap } from "../../core/gap.ts";
import type { TableLook, WorldCell, WorldLook, WorldQuestion } from "../../core/world.ts";
import {
  arrayText,
  isConnectionError,
  quoted,
  sqlCode,
  type SqlClient,
  type SqlRow,
} from "./client.ts";
import type { Catalog, Table } from "./postgres-catalog.ts";
import { statementGap } from "./postgres-delta.ts";
import { leavesOf } from "./postgres-digests.ts";
import type { ColumnShape } from "./row-entry.ts";
import { MAX_WORLD_CELL, orderedTables } from "./world-question.ts";

/** Milliseconds that one statement may take, within what is left of the whole. */
const STATEMENT_MS = 10_000;

/** Rows up to which those of a table without a key are sorted by all that they hold. */
const MAX_SORTED_ROWS = 10_000;

/** A connection within the transaction that was looked at, and the tables that it sees. */
export interface PostgresMoment {
  readonly client: SqlClient;
  readonly catalog: Catalog;
}

/** Reads what is there, table by table. The server counts, orders and cuts: no more than what is shown leaves it. */
export async function readPostgresWorld(
  { client, catalog }: PostgresMoment,
  question: WorldQuestion,
): Promise<WorldLook> {
  const endsAt = performance.now() + question.deadlineMs;
  const gaps: Gap[] = [];
  const tables: TableLook[] = [];
  for (const table of orderedTables([...catalog.tables.values()], question.first)) {
    const leaves = leavesOf(catalog, table);
    const isHidden = leaves.some(({ isReadable }) => !isReadable);
    if (isHidden) gaps.push(gap("rows_hidden", table.uri));
    const isWhole = leaves.length !== 1 || leaves[0]?.oid !== table.oid;
    const reader = new TableReader(client, table, { endsAt, isWhole });
    tables.push(isHidden ? reader.named([]) : await reader.read(question));
    gaps.push(...reader.gaps);
  }
  return { tables, gaps };
}

class TableReader {
  readonly gaps: Gap[] = [];
  readonly #client: SqlClient;
  readonly #table: Table;
  readonly #endsAt: number;
  readonly #isWhole: boolean;

  constructor(
    client: SqlClient,
    table: Table,
    how: { readonly endsAt: number; readonly isWhole: boolean },
  ) {
    this.#client = client;
    this.#table = table;
    this.#endsAt = how.endsAt;
    this.#isWhole = how.isWhole;
  }

  named(rows: TableLook["rows"], rowsTotal?: number): TableLook {
    const { uri, columns, key } = this.#table;
    return { uri, columns, key, rows, ...(rowsTotal === undefined ? {} : { rowsTotal }) };
  }

  async read({ terms, maxRows }: WorldQuestion): Promise<TableLook> {
    const name = await this.#statement("SELECT $1::oid::regclass::text", [this.#table.oid]);
    const [[relation]] = [name?.[0] ?? []];
    if (relation === undefined || relation === null) return this.named([]);
    const from = `FROM ${this.#isWhole ? "" : "ONLY "}${relation}`;
    const counted = await this.#statement(`SELECT count(*)::text ${from}`, []);
    const total = counted === undefined ? undefined : Number(counted[0]?.[0]);
    const asked = namedRows(this.#table, terms);
    const found = asked === undefined ? [] : await this.#rows(from, asked, maxRows, total);
    const others = await this.#rows(from, { where: "", values: [] }, maxRows, total);
    return this.named([...found, ...others], total);
  }

  async #rows(
    from: string,
    { where, values }: { readonly where: string; readonly values: readonly string[] },
    maxRows: number,
    total: number | undefined,
  ): Promise<TableLook["rows"]> {
    const { uri, columns } = this.#table;
    const isSmall = total !== undefined && total <= MAX_SORTED_ROWS;
    const order = orderOf(this.#table, isSmall);
    if (order === "" && total !== 0)
      this.gaps.push(gap("no_stable_key", uri, { detail: "which rows are shown is by chance" }));
    const names = columns.map((column) => quoted(column.name));
    const chosen = `SELECT ${names.join(", ")} ${from} ${where} ${order} LIMIT ${maxRows}`;
    const listed = columns.flatMap((column) => expressionsOf(column)).join(", ");
    const rows = await this.#statement(
      `SELECT ${listed || "1"} FROM (${chosen}) AS chosen`,
      values,
    );
    return (rows ?? []).map((row) => cellsOf(columns, row));
  }

  /** The rows of a statement, or undefined and a gap. One that fails would end the transaction; a savepoint keeps it. */
  async #statement(
    text: string,
    values: readonly string[],
  ): Promise<readonly SqlRow[] | undefined> {
    const left = Math.floor(Math.min(STATEMENT_MS, this.#endsAt - performance.now()));
    if (left <= 0) return this.#lost(gap("deadline_passed", this.#table.uri));
    await this.#client.query("SAVEPOINT one_statement");
    try {
      await this.#client.query(`SET LOCAL statement_timeout = ${left}`);
      return (await this.#client.query(text, values)).rows;
    } catch (error) {
      if (isConnectionError(error)) throw error;
      await this.#client.query("ROLLBACK TO SAVEPOINT one_statement");
      return this.#lost(statementGap(this.#table.uri, sqlCode(error)));
    }
  }

  #lost(found: Gap): undefined {
    if (this.gaps.every(({ code }) => code !== found.code)) this.gaps.push(found);
  }
}

/** The rows whose whole key stands among the terms; undefined where none can be asked for. */
function namedRows(
  { columns, key }: Table,
  terms: readonly string[],
): { readonly where: string; readonly values: readonly string[] } | undefined {
  const parts: string[] = [];
  const values: string[] = [];
  for (const name of key) {
    const type = columns.find((column) => column.name === name)?.type ?? "";
    const kind = KEY_KINDS.find(({ types }) => types.test(type));
    const fitting = kind === undefined ? [] : terms.filter((term) => kind.form.test(term));
    if (kind === undefined || fitting.length === 0) return undefined;
    values.push(arrayText(fitting));
    parts.push(`${quoted(name)} = ANY ($${values.length}::${kind.list})`);
  }
  return parts.length === 0 ? undefined : { where: `WHERE ${parts.join(" AND ")}`, values };
}

/** The types of keys that a text can name, and which texts can. */
const KEY_KINDS = [
  { types: /^(smallint|integer|bigint)$/, form: /^-?\d{1,18}$/, list: "int8[]" },
  { types: /^numeric/, form: /^-?\d{1,40}(\.\d{1,40})?$/, list: "numeric[]" },
  { types: /^uuid$/, form: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, list: "uuid[]" },
  { types: /^(text|character varying)/, form: /^[^\0]*$/, list: "text[]" },
] as const;

/** In the order of the key. Texts in the order of their bytes, which no setting changes, unless that would sort a large table. */
function orderOf({ columns, key }: Table, isSmall: boolean): string {
  const typeOf = (name: string): string =>
    columns.find((column) => column.name === name)?.type ?? "";
  const parts =
    key.length > 0
      ? key.map((name) => {
          const isText = /^(text|character|citext)/.test(typeOf(name));
          return `${quoted(name)}${isText && isSmall ? ' COLLATE "C"' : ""}`;
        })
      : isSmall
        ? columns.map(({ name }) => `${quoted(name)}::text COLLATE "C"`)
        : [];
  return parts.length === 0 ? "" : `ORDER BY ${parts.join(", ")}`;
}

const SHORT =
  /^(smallint|integer|bigint|boolean|real|double precision|oid|uuid|date|time|timestamp|interval|money|"char")(?!.*\[\])/;

/** What a column is read by: its value, or for one that can be long also its head and its size. */
function expressionsOf({ name, type }: ColumnShape): readonly string[] {
  const column = quoted(name);
  if (SHORT.test(type)) return [column];
  const text = `${column}::text`;
  const isLong = `length(${text}) > ${MAX_WORLD_CELL}`;
  return [
    `CASE WHEN ${isLong} THEN NULL ELSE ${column} END`,
    `CASE WHEN ${isLong} THEN left(${text}, ${MAX_WORLD_CELL}) END`,
    `CASE WHEN ${isLong} THEN octet_length(${text})::text END`,
  ];
}

function cellsOf(columns: readonly ColumnShape[], row: SqlRow): readonly WorldCell[] {
  let at = 0;
  return columns.map(({ type }) => {
    const value = row[at] ?? null;
    if (SHORT.test(type)) {
      at += 1;
      return value;
    }
    const [head, size] = [row[at + 1] ?? null, row[at + 2] ?? null];
    at += 3;
    return head === null ? value : { value: head, sizeBytes: Number(size) };
  });
}
