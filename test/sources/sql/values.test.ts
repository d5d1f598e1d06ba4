import { afterAll, beforeAll, expect, test } from "vitest";
import type { SurfaceEntry } from "../../../src/core/entry.ts";
import { SqlSurfaceSource } from "../../../src/sources/sql/source.ts";
import {
  postgresMissing,
  startPostgres,
  type PostgresServer,
} from "../../worlds/postgres-server.ts";

let server: PostgresServer;

beforeAll(async () => {
  if (postgresMissing === undefined) server = await startPostgres();
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
});

/** A type, a value as SQL, the text that must be read, and another value that must not look the same. */
const VALUES: readonly (readonly [
  type: string,
  sql: string,
  text: string | null,
  other: string,
])[] = [
  ["int8", "9007199254740993", "9007199254740993", "9007199254740992"],
  ["numeric", "1.10", "1.10", "1.1"],
  ["numeric", "'NaN'", "NaN", "0"],
  [
    "numeric",
    "12345678901234567890.123456789",
    "12345678901234567890.123456789",
    "12345678901234567890.123456788",
  ],
  ["numeric[]", "'{1.10,NULL}'", "{1.10,NULL}", "'{1.1,NULL}'"],
  ["float8", "0.1::float8 + 0.2::float8", "0.30000000000000004", "0.3"],
  ["float8", "'NaN'", "NaN", "'Infinity'"],
  ["float8", "'-Infinity'", "-Infinity", "0"],
  ["float4", "0.1", "0.1", "0.10000001"],
  [
    "timestamptz",
    "'2026-03-01 10:00:00.123456+00'",
    "2026-03-01 10:00:00.123456+00",
    "'2026-03-01 10:00:00.123457+00'",
  ],
  ["timestamptz", "'infinity'", "infinity", "'-infinity'"],
  ["timestamp", "'2026-03-29 02:30:00'", "2026-03-29 02:30:00", "'2026-03-29 03:30:00'"],
  ["date", "'0044-03-15 BC'", "0044-03-15 BC", "'0044-03-15'"],
  ["date", "'2026-03-04'", "2026-03-04", "'2026-04-03'"],
  ["time", "'24:00:00'", "24:00:00", "'00:00:00'"],
  ["interval", "'1 mon'", "P1M", "'30 days'"],
  [
    "jsonb",
    `'{"b":1.10,"a":12345678901234567890}'`,
    `{"a": 12345678901234567890, "b": 1.10}`,
    `'{"b":1.1,"a":12345678901234567890}'`,
  ],
  ["json", `'{"a":1,"a":2}'`, `{"a":1,"a":2}`, `'{"a":2}'`],
  ["bytea", String.raw`'\xff00fe'`, String.raw`\xff00fe`, String.raw`'\xfe00fe'`],
  ["bool", "true", "t", "false"],
  ["char(5)", "'ab'", "ab   ", "'abc'"],
  ["text", "''", "", "NULL"],
  ["text", "NULL", null, "''"],
  ["text", "E'a\\nb\\u00e9'", "a\nb\u00e9", "E'a\\nbe\\u0301'"],
  ["money", "1234.50", "$1,234.50", "1234.51"],
  [
    "uuid",
    "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'",
    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12'",
  ],
  ["inet", "'10.0.0.1/8'", "10.0.0.1/8", "'10.0.0.1'"],
  ["bit(3)", "B'101'", "101", "B'100'"],
  ["int4range", "'[1,5)'", "[1,5)", "'[1,6)'"],
  ["point", "'(1.5,2)'", "(1.5,2)", "'(1.5,3)'"],
  ["tsvector", "'b a'", "'a' 'b'", "'a c'"],
  ["text[]", "ARRAY['a,b','',NULL]", `{"a,b","",NULL}`, "ARRAY['a','b','',NULL]"],
];

test(
  "every type is read as the server's own text, whatever the database is set to",
  { timeout: 60_000 },
  async (context) => {
    context.skip(postgresMissing !== undefined, postgresMissing);
    const { name, url } = await server.database();
    const admin = await server.connect(name);
    for (const setting of [
      "datestyle = 'German, DMY'",
      "timezone = 'Asia/Tokyo'",
      "bytea_output = 'escape'",
      "extra_float_digits = -3",
      "intervalstyle = 'postgres_verbose'",
      "search_path = 'nowhere'",
      "statement_timeout = '1h'",
      "client_encoding = 'LATIN1'",
    ])
      await admin.query(`ALTER DATABASE ${name} SET ${setting}`);
    const columns = VALUES.map(([type], index) => `c${index} ${type}`).join(", ");
    await admin.query("SET search_path = public");
    await admin.query("SET client_encoding = 'UTF8'");
    await admin.query("SET timezone = 'UTC'");
    await admin.query(`CREATE TABLE v (id int PRIMARY KEY, ${columns})`);
    const insert = (id: number, at: number): string =>
      `INSERT INTO v VALUES (${id}, ${VALUES.map(([, sql, , other], index) => (index === at ? other : sql)).join(", ")})`;
    // Row n differs from row 0 in column n alone.
    for (let id = 0; id <= VALUES.length; id += 1) await admin.query(insert(id, -1));
    await using source = new SqlSurfaceSource({ name: "shop", url });
    await using baseline = await source.baseline();
    for (let id = 1; id <= VALUES.length; id += 1)
      await admin.query(`UPDATE v SET c${id - 1} = ${VALUES[id - 1]?.[3]} WHERE id = ${id}`);
    await admin.query("UPDATE v SET c0 = c0 WHERE id = 0");
    await admin.end();
    const request = {
      scorable: { kind: "surface", uri: "shop:/**", surface: "sql", match: "glob" },
      extent: "delta",
    } as const;
    const [observation] = await source.observe([request], { baseline });
    const entries: readonly SurfaceEntry[] =
      observation?.payload.kind === "surface" ? observation.payload.entries : [];
    const byId = new Map(entries.map((entry) => [Number(entry.uri.split("=")[1]), entry]));
    expect(byId.get(0)?.change).toBe("touched");
    const texts = byId
      .get(0)
      ?.now?.row?.columns.slice(1)
      .map(({ value }) => value);
    expect(texts).toEqual(VALUES.map(([, , text]) => text));
    for (let id = 1; id <= VALUES.length; id += 1) {
      const entry = byId.get(id);
      expect(entry?.change, VALUES[id - 1]?.join(" ")).toBe("modified");
      const differing = (entry?.now?.row?.columns ?? []).filter(
        ({ value }, index) => value !== entry?.before?.row?.columns[index]?.value,
      );
      expect(differing.map((column) => column.name)).toEqual([`c${id - 1}`]);
    }
  },
);
