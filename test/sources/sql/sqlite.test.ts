import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SurfaceEntry } from "../../../src/core/entry.ts";
import type { Observation } from "../../../src/core/observation.ts";
import { sqliteDriver, type SqliteDatabase } from "../../../src/sources/sql/sqlite/driver.ts";
import { SqlSurfaceSource } from "../../../src/sources/sql/source.ts";

const WHOLE = {
  scorable: { kind: "surface", uri: "shop:/**", surface: "sql", match: "glob" },
  extent: "delta",
} as const;

interface World extends Disposable {
  readonly folder: string;
  readonly file: string;
  readonly source: SqlSurfaceSource;
}

function world(): World {
  const folder = mkdtempSync(join(tmpdir(), "upheld-sqlite-test-"));
  const file = join(folder, "world", "shop.db");
  const source = new SqlSurfaceSource(
    { name: "shop", url: `sqlite:${file}` },
    { folder: join(folder, "copies") },
  );
  return {
    folder,
    file,
    source,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function observed(source: SqlSurfaceSource, run: () => void): Promise<Observation> {
  await using baseline = await source.baseline();
  run();
  const [observation] = await source.observe([WHOLE], { baseline });
  if (observation === undefined) throw new Error("nothing was observed");
  return observation;
}

const entriesOf = ({ payload }: Observation): readonly SurfaceEntry[] =>
  payload.kind === "surface" ? payload.entries : [];
const told = (observation: Observation): readonly string[] =>
  entriesOf(observation)
    .map(({ change, uri }) => `${change} ${uri.replace("shop:/", "")}`)
    .toSorted();
const gapsOf = ({ payload }: Observation): readonly string[] =>
  payload.kind === "surface"
    ? payload.coverage.gaps.map(({ code, location }) => `${code} ${location}`)
    : [];

function use(file: string, ...statements: readonly string[]): void {
  const database = sqliteDriver()(file);
  for (const statement of statements) database.exec(statement);
  database.close();
}

interface Row {
  readonly claim: string;
  readonly world: readonly string[];
  readonly run: readonly string[];
  readonly want: readonly string[];
  readonly gaps?: readonly string[];
}

const ORDERS = [
  "CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT, total)",
  "INSERT INTO orders VALUES (1, 'new', 5), (2, 'new', 5), (3, 'new', 5)",
];

const ROWS: readonly Row[] = [
  {
    claim: "one of each, and one put back",
    world: ORDERS,
    run: [
      "INSERT INTO orders VALUES (4, 'x', 1)",
      "UPDATE orders SET status = 'paid' WHERE id = 2",
      "DELETE FROM orders WHERE id = 3",
      "UPDATE orders SET status = 'x' WHERE id = 1",
      "UPDATE orders SET status = 'new' WHERE id = 1",
    ],
    want: ["created orders?id=4", "deleted orders?id=3", "modified orders?id=2"],
  },
  {
    claim: "a number that becomes a text, and one that becomes a fraction of equal value",
    world: ORDERS,
    run: [
      "UPDATE orders SET total = '5' WHERE id = 1",
      "UPDATE orders SET total = 5.0 WHERE id = 2",
    ],
    want: ["modified orders?id=1", "modified orders?id=2"],
  },
  {
    claim: "upper and lower case in a column that ignores case",
    world: [
      "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT COLLATE NOCASE)",
      "INSERT INTO t VALUES (1, 'a')",
    ],
    run: ["UPDATE t SET a = 'A'"],
    want: ["modified t?id=1"],
  },
  {
    claim: "a text after a NUL",
    world: [
      "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)",
      "INSERT INTO t VALUES (1, 'x' || char(0) || 'y')",
    ],
    run: ["UPDATE t SET a = 'x' || char(0) || 'z'"],
    want: ["modified t?id=1"],
  },
  {
    claim: "integers beyond 2^53",
    world: [
      "CREATE TABLE t (id INTEGER PRIMARY KEY, a)",
      "INSERT INTO t VALUES (9007199254740993, 9007199254740993)",
    ],
    run: ["UPDATE t SET a = 9007199254740992"],
    want: ["modified t?id=9007199254740993"],
  },
  {
    claim: "tables made, dropped and altered",
    world: [...ORDERS, "CREATE TABLE old (id INTEGER PRIMARY KEY)", "INSERT INTO old VALUES (7)"],
    run: [
      "CREATE TABLE stash (id TEXT PRIMARY KEY)",
      "INSERT INTO stash VALUES ('a/b')",
      "DROP TABLE old",
      "ALTER TABLE orders ADD COLUMN note TEXT DEFAULT 'none'",
      "UPDATE orders SET note = 'x' WHERE id = 2",
    ],
    want: [
      "created stash",
      "created stash?id=a%2Fb",
      "deleted old",
      "deleted old?id=7",
      "modified orders",
      "modified orders?id=2",
    ],
  },
  {
    claim: "a table without a key, by how many there are of each row",
    world: ["CREATE TABLE log (line)", "INSERT INTO log VALUES ('a'), ('a'), ('b')"],
    run: ["DELETE FROM log WHERE rowid = 1", "INSERT INTO log VALUES ('b'), ('b')"],
    want: ["created", "created", "deleted"],
  },
  {
    claim: "a composite key without row ids",
    world: [
      "CREATE TABLE t (a TEXT, b INT, c INT, PRIMARY KEY (b, a)) WITHOUT ROWID",
      "INSERT INTO t VALUES ('x', 1, 1)",
    ],
    run: ["UPDATE t SET c = 2"],
    want: ["modified t?b=1&a=x"],
  },
  {
    claim: "the whole table written again",
    world: ORDERS,
    run: [
      "CREATE TABLE k AS SELECT * FROM orders",
      "DELETE FROM orders",
      "INSERT INTO orders SELECT * FROM k",
      "DROP TABLE k",
      "VACUUM",
    ],
    want: [],
  },
];

describe("the delta of a SQLite database", () => {
  for (const journal of ["delete", "wal"])
    test.each(ROWS.map((row) => [row.claim, row] as const))(`${journal}: %s`, async (_, row) => {
      using w = world();
      rmSync(join(w.folder, "world"), { recursive: true, force: true });
      mkdirOf(w.file);
      use(w.file, `PRAGMA journal_mode = ${journal}`, ...row.world);
      const observation = await observed(w.source, () => use(w.file, ...row.run));
      const short = row.claim.includes("without a key")
        ? told(observation).map((each) => each.split(" ")[0])
        : told(observation);
      expect(short).toEqual([...row.want].toSorted());
      expect(gapsOf(observation)).toEqual(row.gaps ?? []);
    });

  test("a writer that holds the database open in WAL mode: what it committed is seen, and nothing is left beside it", async () => {
    using w = world();
    mkdirOf(w.file);
    let writer: SqliteDatabase | undefined;
    use(w.file, "PRAGMA journal_mode = wal", ...ORDERS);
    const before = readdirSync(join(w.folder, "world"));
    const observation = await observed(w.source, () => {
      expect(readdirSync(join(w.folder, "world"))).toEqual(before);
      writer = sqliteDriver()(w.file);
      writer.exec("PRAGMA wal_autocheckpoint = 0");
      writer.exec("UPDATE orders SET status = 'in the log' WHERE id = 1");
      writer.exec("BEGIN");
      writer.exec("UPDATE orders SET status = 'not committed' WHERE id = 2");
    });
    writer?.close();
    expect(told(observation)).toEqual(["modified orders?id=1"]);
  });

  test("a transaction that is open in the rollback journal is said", async () => {
    using w = world();
    mkdirOf(w.file);
    let writer: SqliteDatabase | undefined;
    use(w.file, "PRAGMA journal_mode = delete", ...ORDERS);
    const observation = await observed(w.source, () => {
      writer = sqliteDriver()(w.file);
      writer.exec("PRAGMA cache_size = 1");
      writer.exec("PRAGMA cache_spill = 1");
      writer.exec("BEGIN");
      writer.exec(
        "INSERT INTO orders WITH RECURSIVE g(n) AS (SELECT 10 UNION ALL SELECT n + 1 FROM g WHERE n < 3000) SELECT n, hex(randomblob(200)), 1 FROM g",
      );
    });
    writer?.close();
    expect(gapsOf(observation)).toEqual(["transaction_open shop:/"]);
    expect(told(observation)).toEqual([]);
  });

  test("a database that the run made, and one that it removed", async () => {
    using w = world();
    mkdirOf(w.file);
    const made = await observed(w.source, () => use(w.file, ...ORDERS));
    expect(told(made)).toHaveLength(4);
    const removed = await observed(w.source, () => rmSync(w.file));
    expect(told(removed)).toEqual([
      "deleted orders",
      ...[1, 2, 3].map((id) => `deleted orders?id=${id}`),
    ]);
  });

  test("a corrupt file is a gap, not a crash", async () => {
    using w = world();
    mkdirOf(w.file);
    use(w.file, ...ORDERS);
    const observation = await observed(w.source, () =>
      writeFileSync(w.file, "this is no database".repeat(500)),
    );
    expect(observation.acquisition).toBe("unavailable");
    expect(gapsOf(observation)).toEqual(["database_unavailable shop:/"]);
  });

  test("across two processes, by a saved copy", async () => {
    using w = world();
    mkdirOf(w.file);
    use(w.file, ...ORDERS);
    const kept = join(w.folder, "kept");
    {
      await using baseline = await w.source.baseline();
      await w.source.saveBaseline(baseline, kept);
    }
    use(w.file, "DELETE FROM orders WHERE id = 2");
    const baseline = await w.source.openBaseline(kept);
    const [observation] = await w.source.observe([WHOLE], { baseline });
    expect(observation === undefined ? [] : told(observation)).toEqual(["deleted orders?id=2"]);
    expect(
      existsSync(join(w.folder, "copies")) ? readdirSync(join(w.folder, "copies")) : [],
    ).toEqual([]);
  });

  test("aborted, it rejects with the reason at once", async () => {
    using w = world();
    mkdirOf(w.file);
    use(w.file, ...ORDERS);
    await using baseline = await w.source.baseline();
    const controller = new AbortController();
    const asked = w.source.observe([WHOLE], { baseline, signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(asked).rejects.toThrow("enough");
  });
});

function mkdirOf(file: string): void {
  mkdirSync(join(file, ".."), { recursive: true });
}
