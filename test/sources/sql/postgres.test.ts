import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SurfaceEntry } from "../../../src/core/entry.ts";
import type { SurfacePayload } from "../../../src/core/observation.ts";
import { SqlSurfaceSource, type SqlOptions } from "../../../src/sources/sql/source.ts";
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

const WHOLE = {
  scorable: { kind: "surface", uri: "shop:/**", surface: "sql", match: "glob" },
  extent: "delta",
} as const;

/** Statements before the run and in it; what the delta of the whole database is then. */
async function deltaOf(
  world: readonly string[],
  run: readonly string[],
  options: SqlOptions = {},
): Promise<SurfacePayload> {
  const { name, url } = await server.database();
  const client = await server.connect(name);
  for (const statement of world) await client.query(statement);
  await using source = new SqlSurfaceSource({ name: "shop", url }, options);
  await using baseline = await source.baseline();
  for (const statement of run) await client.query(statement);
  await client.end();
  const [observation] = await source.observe([WHOLE], { baseline });
  if (observation?.payload.kind !== "surface") throw new Error("no surface was observed");
  return observation.payload;
}

const told = ({ uri, change, from }: SurfaceEntry): string =>
  `${change} ${from === undefined ? "" : `${from} -> `}${uri.replace("shop:/public/", "")}`;

interface Row {
  readonly claim: string;
  readonly world: readonly string[];
  readonly run: readonly string[];
  readonly want: readonly string[];
  readonly gaps?: readonly string[];
}

const ORDERS = [
  "CREATE TABLE orders (id int PRIMARY KEY, status text)",
  "INSERT INTO orders VALUES (1, 'new'), (2, 'new'), (3, 'new')",
];

const ROWS: readonly Row[] = [
  { claim: "nothing happened", world: ORDERS, run: [], want: [] },
  {
    claim: "one of each",
    world: ORDERS,
    run: [
      "INSERT INTO orders VALUES (4, 'x')",
      "UPDATE orders SET status = 'paid' WHERE id = 2",
      "DELETE FROM orders WHERE id = 3",
    ],
    want: ["created orders?id=4", "modified orders?id=2", "deleted orders?id=3"],
  },
  {
    claim: "a row rewritten with equal values is touched",
    world: ORDERS,
    run: ["UPDATE orders SET status = status WHERE id = 1"],
    want: ["touched orders?id=1"],
  },
  {
    claim: "a rolled back transaction and a lock change nothing",
    world: ORDERS,
    run: [
      "BEGIN",
      "DELETE FROM orders",
      "ROLLBACK",
      "BEGIN",
      "SELECT * FROM orders FOR UPDATE",
      "COMMIT",
    ],
    want: [],
  },
  {
    claim: "savepoints: what was kept and what was not",
    world: ORDERS,
    run: [
      "BEGIN",
      "SAVEPOINT a",
      "INSERT INTO orders VALUES (4, 'kept')",
      "SAVEPOINT b",
      "INSERT INTO orders VALUES (5, 'lost')",
      "ROLLBACK TO b",
      "COMMIT",
    ],
    want: ["created orders?id=4"],
  },
  {
    claim: "inserted and deleted again within the run",
    world: ORDERS,
    run: ["INSERT INTO orders VALUES (4, 'x')", "DELETE FROM orders WHERE id = 4"],
    want: [],
  },
  {
    claim: "a composite key, with characters that a locator cannot hold",
    world: ["CREATE TABLE items (a text, b int, n int, PRIMARY KEY (b, a))"],
    run: ["INSERT INTO items VALUES ('x/y?z%&=', 1, 5)"],
    want: ["created items?b=1&a=x%2Fy%3Fz%25%26%3D"],
  },
  {
    claim: "a table created with its rows, and one dropped",
    world: [...ORDERS, "CREATE TABLE old (id int PRIMARY KEY)", "INSERT INTO old VALUES (1)"],
    run: [
      "CREATE TABLE stash (id int PRIMARY KEY, item text)",
      "INSERT INTO stash VALUES (1, 'copy')",
      "DROP TABLE old",
    ],
    want: ["created stash", "deleted old", "created stash?id=1", "deleted old?id=1"],
  },
  {
    claim: "an altered table",
    world: ORDERS,
    run: ["ALTER TABLE orders ADD COLUMN note text DEFAULT 'none'"],
    want: ["modified orders"],
  },
  {
    claim: "a renamed table, and a row in it",
    world: ORDERS,
    run: ["ALTER TABLE orders RENAME TO sales", "UPDATE sales SET status = 'x' WHERE id = 1"],
    want: ["moved shop:/public/orders -> sales", "modified sales?id=1"],
  },
  {
    claim: "a truncated table, by the digests stored beside the snapshot",
    world: ORDERS,
    run: ["TRUNCATE orders", "INSERT INTO orders VALUES (1, 'new'), (2, 'other')"],
    want: ["modified orders?id=2", "deleted orders?id=3"],
  },
  {
    claim: "a large truncated table, of which no digests were stored",
    world: [
      ...ORDERS,
      "ALTER TABLE orders ALTER status SET STORAGE PLAIN",
      "INSERT INTO orders SELECT g, repeat('x', 3000) FROM generate_series(10, 6000) g",
    ],
    run: ["TRUNCATE orders", "INSERT INTO orders VALUES (1, 'new')"],
    want: [],
    gaps: ["table_rewritten shop:/public/orders"],
  },
  {
    claim: "a table that is rewritten by a change of type",
    world: ORDERS,
    run: ["ALTER TABLE orders ALTER id TYPE bigint"],
    want: ["modified orders"],
  },
  {
    claim: "a row moved to another partition is one that went and one that came",
    world: [
      "CREATE TABLE events (id int, day int, note text, PRIMARY KEY (id, day)) PARTITION BY LIST (day)",
      "CREATE TABLE events_1 PARTITION OF events FOR VALUES IN (1)",
      "CREATE TABLE events_2 PARTITION OF events FOR VALUES IN (2)",
      "INSERT INTO events VALUES (1, 1, 'a'), (2, 2, 'b')",
    ],
    run: ["UPDATE events SET day = 2 WHERE id = 1", "UPDATE events SET note = 'c' WHERE id = 2"],
    want: ["modified events?id=2&day=2", "created events?id=1&day=2", "deleted events?id=1&day=1"],
  },
  {
    claim: "a partition that the run made",
    world: [
      "CREATE TABLE events (id int PRIMARY KEY, note text) PARTITION BY LIST (id)",
      "CREATE TABLE events_1 PARTITION OF events FOR VALUES IN (1)",
      "INSERT INTO events VALUES (1, 'a')",
    ],
    run: [
      "CREATE TABLE events_2 PARTITION OF events FOR VALUES IN (2)",
      "INSERT INTO events VALUES (2, 'b')",
    ],
    want: ["created events?id=2"],
  },
  {
    claim: "foreign keys lock parents, which did not change",
    world: [...ORDERS, "CREATE TABLE lines (id int PRIMARY KEY, orders int REFERENCES orders)"],
    run: ["INSERT INTO lines VALUES (1, 1), (2, 1), (3, 2)"],
    want: ["created lines?id=1", "created lines?id=2", "created lines?id=3"],
  },
  {
    claim: "a unique index that holds no null is a key; one that may is not",
    world: [
      "CREATE TABLE a (code text NOT NULL UNIQUE, n int)",
      "CREATE TABLE b (code text UNIQUE, n int)",
      "INSERT INTO a VALUES ('k', 1)",
      "INSERT INTO b VALUES ('k', 1)",
    ],
    run: ["UPDATE a SET n = 2"],
    want: ["modified a?code=k"],
  },
  {
    claim: "a view is no table; an identity and a generated column are columns",
    world: [
      "CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a int, b int GENERATED ALWAYS AS (a * 2) STORED)",
      "CREATE VIEW v AS SELECT * FROM t",
    ],
    run: ["INSERT INTO t (a) VALUES (4)"],
    want: ["created t?id=1"],
  },
  {
    claim: "a large value that did not change beside a small one that did",
    world: [
      "CREATE TABLE docs (id int PRIMARY KEY, body text, n int)",
      "INSERT INTO docs SELECT 1, string_agg(md5(g::text), ''), 1 FROM generate_series(1, 3000) g",
    ],
    run: ["UPDATE docs SET n = 2"],
    want: ["modified docs?id=1"],
  },
  {
    claim: "the same table made again",
    world: ORDERS,
    run: ["DROP TABLE orders", "CREATE TABLE orders (id int PRIMARY KEY, status text)"],
    want: ["modified orders", "deleted orders?id=1", "deleted orders?id=2", "deleted orders?id=3"],
  },
  {
    claim: "the same table made again with some of its rows",
    world: ORDERS,
    run: [
      "CREATE TABLE other AS SELECT * FROM orders WHERE id < 3",
      "DROP TABLE orders",
      "ALTER TABLE other RENAME TO orders",
    ],
    want: ["modified orders", "deleted orders?id=3"],
  },
];

describe("the delta of a Postgres database, by a held snapshot", () => {
  test.for(ROWS.map((row) => [row.claim, row] as const))("%s", async ([, row], context) => {
    context.skip(postgresMissing !== undefined, postgresMissing);
    const payload = await deltaOf(row.world, row.run);
    expect(payload.attribution.method).toBe("exact");
    expect(payload.entries.map(told).toSorted()).toEqual([...row.want].toSorted());
    expect(payload.coverage.gaps.map(({ code, location }) => `${code} ${location}`)).toEqual(
      row.gaps ?? [],
    );
  });
});
