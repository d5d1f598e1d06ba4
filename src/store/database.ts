/** A value of a statement, and of a row: text, a number, bytes or nothing. Times and documents travel as text. */
export type DatabaseValue = string | number | boolean | Uint8Array | null;
export type DatabaseRow = Readonly<Record<string, DatabaseValue>>;

/** Where statements run: outside of a transaction, or in one. */
export interface Statements {
  /** One statement, its values as parameters. */
  query(text: string, values?: readonly DatabaseValue[]): Promise<readonly DatabaseRow[]>;
  /** Several statements that take no values: the schema. */
  run(script: string): Promise<void>;
}

/**
 * A Postgres database, a server's or one in the process. A transaction commits when its work resolves and leaves nothing
 * when it rejects. Throws "database_unavailable" where the database cannot be reached; an error of a statement passes through.
 */
export interface Database extends Statements, AsyncDisposable {
  transaction<T>(work: (statements: Statements) => Promise<T>): Promise<T>;
}

/** The text in a column that the schema says is one. Throws where the schema and the code differ. */
export function textIn(row: DatabaseRow, column: string): string {
  const value = row[column];
  if (typeof value === "string") return value;
  throw new TypeError(`column ${column} holds no text`);
}

/** The whole number in a column: 64-bit ones come as text from a server. */
export function numberIn(row: DatabaseRow, column: string): number {
  const value = row[column];
  const number = typeof value === "string" ? Number(value) : value;
  if (typeof number === "number" && Number.isSafeInteger(number)) return number;
  throw new TypeError(`column ${column} holds no whole number`);
}

/** The first row of an answer that has one. */
export function onlyRow(rows: readonly DatabaseRow[]): DatabaseRow {
  const [row] = rows;
  if (row === undefined) throw new TypeError("the statement returned no row");
  return row;
}

/** A row of a driver, where it holds what a statement of ours can return. Throws on any other type: cast it to text. */
export function rowOf(row: Readonly<Record<string, unknown>>): DatabaseRow {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [column, valueOf(column, value)]),
  );
}

function valueOf(column: string, value: unknown): DatabaseValue {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return value;
  if (value === null || value instanceof Uint8Array) return value;
  throw new TypeError(`column ${column} is of a type that is not read: cast it to text`);
}
