import { quoted, type SqlClient, type SqlRow } from "./client.ts";
import { tableUri } from "./place.ts";
import type { ColumnShape, TableShape } from "./row-entry.ts";

/** A relation that holds rows: an ordinary table, or a partition at the end of its tree. */
export interface Leaf {
  readonly oid: string;
  /** Schema and name, quoted, as statements name it. */
  readonly name: string;
  /** Where its rows are stored; another number after a rewrite or truncation. */
  readonly fileNode: string;
  /** The table of which it is a part, or itself. */
  readonly table: string;
  readonly isReadable: boolean;
}

/** A table as a user names it: an ordinary one, or the whole of a partitioned one. */
export interface Table extends TableShape {
  readonly oid: string;
  readonly definition: string;
}

export interface Catalog {
  readonly tables: ReadonlyMap<string, Table>;
  readonly leaves: ReadonlyMap<string, Leaf>;
  /** Views and foreign tables, which hold no rows of their own. */
  readonly others: readonly { readonly uri: string; readonly kind: string }[];
}

const RELATIONS = `
SELECT c.oid::text, n.nspname::text, c.relname::text, c.relkind::text, c.relfilenode::text,
  CASE WHEN c.relispartition THEN pg_partition_root(c.oid)::oid::text ELSE c.oid::text END,
  (has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
    AND NOT row_security_active(c.oid))::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't'
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'
ORDER BY n.nspname, c.relname, c.oid`;

const COLUMNS = `
SELECT a.attrelid::text, a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull::text,
  a.attidentity::text, a.attgenerated::text, pg_get_expr(d.adbin, d.adrelid)
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'
ORDER BY a.attrelid, a.attnum`;

/** Columns by which rows can be told apart: of the primary key first, else of a unique index that holds no null. */
const KEYS = `
SELECT k.indrelid::text, k.columns FROM (
  SELECT i.indrelid, i.indisprimary, i.indexrelid, to_json(array_agg(a.attname::text ORDER BY p.place))::text AS columns
  FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
  CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS p(attnum, place)
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = p.attnum
  WHERE i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
    AND p.place <= i.indnkeyatts AND c.relkind IN ('r', 'p')
  GROUP BY 1, 2, 3 HAVING bool_and(a.attnotnull)) k
ORDER BY k.indrelid, k.indisprimary DESC, k.indexrelid`;

/** Reads what tables there are. Takes no lock on any of them. */
export async function readCatalog(client: SqlClient, root: string): Promise<Catalog> {
  const relations = (await client.query(RELATIONS)).rows.map((row) => relationOf(row, root));
  const columns = columnsByTable((await client.query(COLUMNS)).rows);
  const keys = keysByTable((await client.query(KEYS)).rows);
  const tables = new Map<string, Table>();
  const leaves = new Map<string, Leaf>();
  for (const { oid, uri, kind, leaf } of relations) {
    if (!HOLDS_ROWS.has(kind)) continue;
    const shape = columns.get(oid) ?? NO_COLUMNS;
    if (leaf.table === oid) tables.set(oid, { oid, uri, key: keys.get(oid) ?? [], ...shape });
    if (kind === "r") leaves.set(oid, leaf);
  }
  const others = relations
    .filter(({ kind }) => !HOLDS_ROWS.has(kind))
    .map(({ uri, kind }) => ({ uri, kind: OTHER_KINDS[kind] ?? "other" }));
  return { tables, leaves, others };
}

const HOLDS_ROWS: ReadonlySet<string> = new Set(["r", "p"]);

interface Relation {
  readonly oid: string;
  readonly uri: string;
  readonly kind: string;
  readonly leaf: Leaf;
}

function relationOf(row: SqlRow, root: string): Relation {
  const texts = row.map((value) => value ?? "");
  const [oid = "", schema = "", name = "", kind = "", ...rest] = texts;
  const [fileNode = "", table = "", readable] = rest;
  const leaf = {
    oid,
    name: `${quoted(schema)}.${quoted(name)}`,
    fileNode,
    table,
    isReadable: readable === "true",
  };
  return { oid, uri: tableUri(root, [schema, name]), kind, leaf };
}

const OTHER_KINDS: Readonly<Record<string, string>> = {
  v: "view",
  m: "materialized view",
  f: "foreign table",
};

interface TableColumns {
  readonly columns: readonly ColumnShape[];
  readonly definition: string;
}

const NO_COLUMNS: TableColumns = { columns: [], definition: "" };

function columnsByTable(rows: readonly SqlRow[]): ReadonlyMap<string, TableColumns> {
  const found = new Map<string, TableColumns>();
  for (const row of rows) {
    const [table = "", name = "", type = "", ...rest] = row.map((value) => value ?? "");
    const known = found.get(table) ?? NO_COLUMNS;
    const line = [quoted(name), type, ...definitionOf(rest)].join(" ");
    found.set(table, {
      columns: [...known.columns, { name, type }],
      definition: known.definition === "" ? line : `${known.definition}\n${line}`,
    });
  }
  return found;
}

function definitionOf(parts: readonly string[]): readonly string[] {
  const [notNull, identity = "", generated = "", expression = ""] = parts;
  return [
    ...(notNull === "true" ? ["not null"] : []),
    ...(identity === "" ? [] : [`identity ${identity}`]),
    ...(expression === "" ? [] : [`${generated === "" ? "default" : "generated"} ${expression}`]),
  ];
}

function keysByTable(rows: readonly SqlRow[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const [table, columns] of rows)
    if (table !== null && table !== undefined && !found.has(table))
      found.set(table, (JSON.parse(columns ?? "[]") as unknown[]).map(String));
  return found;
}
