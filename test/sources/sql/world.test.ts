import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, type TestContext } from "vitest";
import type { WorldLook, WorldQuestion } from "../../../src/core/world.ts";
import { sqliteDriver } from "../../../src/sources/sql/sqlite/driver.ts";
import { SqlSurfaceSource } from "../../../src/sources/sql/source.ts";
import {
  postgresMissing,
  startPostgres,
  type PostgresServer,
} from "../../worlds/postgres-server.ts";

const WHOLE = {
  scorable: { kind: "surface", uri: "shop:/**", surface: "sql", match: "glob" },
  extent: "delta",
} as const;

const QUESTION: WorldQuestion = { terms: [], first: [], maxRows: 3, deadlineMs: 60_000 };

let server: PostgresServer;
let scratch = "";

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), "upheld-world-"));
  if (postgresMissing === undefined) server = await startPostgres();
});

afterAll(async () => {
  rmSync(scratch, { recursive: true, force: true });
  await server?.[Symbol.asyncDispose]();
});

interface Database {
  readonly url: string;
  readonly run: (...statements: readonly string[]) => Promise<void>;
}

type OpenDatabase = (context: TestContext) => Promise<Database>;

const ENGINES: { readonly postgres: OpenDatabase; readonly sqlite: OpenDatabase } = {
  async postgres(context) {
    context.skip(postgresMissing !== undefined, postgresMissing);
    const { name, url } = await server.database();
    return {
      url,
      async run(...statements) {
        const client = await server.connect(name);
        for (const statement of statements) await client.query(statement);
        await client.end();
      },
    };
  },
  sqlite() {
    const folder = mkdtempSync(join(scratch, "sqlite-"));
    mkdirSync(join(folder, "world"));
    const file = join(folder, "world", "shop.db");
    return Promise.resolve({
      url: `sqlite:${file}`,
      run(...statements) {
        const database = sqliteDriver()(file);
        for (const statement of statements) database.exec(statement);
        database.close();
        return Promise.resolve();
      },
    });
  },
};

/** What is there after one look, asked once more than it may be. */
async function lookAt(
  { url }: Database,
  question: Partial<WorldQuestion> = {},
): Promise<WorldLook> {
  const folder = mkdtempSync(join(scratch, "copies-"));
  await using source = new SqlSurfaceSource({ name: "shop", url }, { folder, keepsMoment: true });
  await using baseline = await source.baseline();
  await source.observe([WHOLE], { baseline });
  const look = await source.world({ ...QUESTION, ...question });
  const again = await source.world(QUESTION);
  expect(again.gaps.map(({ code }) => code)).toEqual(["database_unavailable"]);
  return look;
}

const told = ({ tables }: WorldLook): readonly string[] =>
  tables.map(({ uri, rowsTotal, rows }) => {
    const name = uri.replace("/public", "").replace("shop:/", "");
    const keys = rows.map(([cell]) => (typeof cell === "string" ? cell : JSON.stringify(cell)));
    return `${name} ${rowsTotal ?? "uncounted"}: ${keys.join(" ")}`;
  });

for (const [engine, open] of Object.entries(ENGINES))
  describe(`the world of ${engine}`, { timeout: 120_000 }, () => {
    test("has every table, counted, and its first rows in the order of the key", async (context) => {
      const database = await open(context);
      await database.run(
        "CREATE TABLE orders (id integer PRIMARY KEY, status text)",
        "INSERT INTO orders VALUES (10, 'new'), (9, 'new'), (2, 'new'), (30, 'old')",
        "CREATE TABLE notes (body text)",
        "INSERT INTO notes VALUES ('b'), ('a'), ('a')",
        "CREATE TABLE empty (id integer PRIMARY KEY)",
      );
      const look = await lookAt(database);
      expect(told(look)).toEqual(["empty 0: ", "notes 3: a a b", "orders 4: 2 9 10"]);
      expect(look.gaps).toEqual([]);
    });

    test("has the rows first whose whole key a text names", async (context) => {
      const database = await open(context);
      await database.run(
        "CREATE TABLE orders (id integer PRIMARY KEY, status text)",
        "INSERT INTO orders VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (77, 'e')",
        "CREATE TABLE parts (name text, number integer, PRIMARY KEY (name, number))",
        "INSERT INTO parts VALUES ('bolt', 1), ('bolt', 77), ('nut', 77)",
      );
      const look = await lookAt(database, {
        terms: ["77", "nut", "it''s; DROP TABLE orders --", "\u{0}", '{"1",2}'],
        maxRows: 1,
      });
      expect(told(look)).toEqual(["orders 5: 77 1", "parts 3: nut bolt"]);
    });

    test("reads the tables first that are asked for first", async (context) => {
      const database = await open(context);
      await database.run("CREATE TABLE alpha (id integer)", "CREATE TABLE omega (id integer)");
      const schema = engine === "postgres" ? "shop:/public/" : "shop:/";
      const look = await lookAt(database, { first: [`${schema}omega`] });
      expect(told(look).map((table) => table.split(" ")[0])).toEqual(["omega", "alpha"]);
    });

    test("tells of a long value its head and its size", async (context) => {
      const database = await open(context);
      await database.run("CREATE TABLE pages (id integer PRIMARY KEY, body text, other text)");
      await database.run(
        `INSERT INTO pages VALUES (1, '${"ü".repeat(300_000)}', NULL), (2, '', 'short')`,
      );
      const [table] = (await lookAt(database)).tables;
      expect(table?.rows).toEqual([
        ["1", { value: "ü".repeat(8_192), sizeBytes: 600_000 }, null],
        ["2", "", "short"],
      ]);
    });

    test("is of the moment that was observed, whatever came later", async (context) => {
      const database = await open(context);
      await database.run(
        "CREATE TABLE orders (id integer PRIMARY KEY)",
        "INSERT INTO orders VALUES (1)",
      );
      const folder = mkdtempSync(join(scratch, "copies-"));
      await using source = new SqlSurfaceSource(
        { name: "shop", url: database.url },
        { folder, keepsMoment: true },
      );
      await source.observe([WHOLE]);
      await database.run("INSERT INTO orders VALUES (2)", "CREATE TABLE later (id integer)");
      expect(told(await source.world(QUESTION))).toEqual(["orders 1: 1"]);
      expect(readdirSync(folder)).toEqual([]);
    });

    test("is a gap where no time is left, with every table named", async (context) => {
      const database = await open(context);
      await database.run("CREATE TABLE orders (id integer PRIMARY KEY)");
      const look = await lookAt(database, { deadlineMs: 1 });
      expect(look.gaps.map(({ code }) => code)).toEqual(["deadline_passed"]);
    });

    test("rejects with the reason of an abort, and leaves nothing open", async (context) => {
      const database = await open(context);
      await database.run("CREATE TABLE orders (id integer PRIMARY KEY)");
      const folder = mkdtempSync(join(scratch, "copies-"));
      await using source = new SqlSurfaceSource(
        { name: "shop", url: database.url },
        { folder, keepsMoment: true },
      );
      await source.observe([WHOLE]);
      const signal = AbortSignal.abort(new Error("stopped"));
      await expect(source.world(QUESTION, { signal })).rejects.toThrow("stopped");
      expect(readdirSync(folder)).toEqual([]);
    });
  });

describe("the world of a database that cannot be read whole", { timeout: 120_000 }, () => {
  test("names tables that the user may not read", async (context) => {
    const database = await ENGINES.postgres(context);
    await database.run(
      "CREATE TABLE orders (id integer PRIMARY KEY)",
      "CREATE TABLE salaries (id integer PRIMARY KEY)",
      "CREATE ROLE reader LOGIN",
      "GRANT SELECT ON orders TO reader",
    );
    const url = database.url.replace("//postgres", "//reader");
    const look = await lookAt({ ...database, url });
    expect(told(look)).toEqual(["orders 0: ", "salaries uncounted: "]);
    expect(look.gaps.map(({ code, location }) => `${code} ${location}`)).toEqual([
      "rows_hidden shop:/public/salaries",
    ]);
  });

  test("shows the other tables where one is locked", async (context) => {
    const database = await ENGINES.postgres(context);
    await database.run(
      "CREATE TABLE locked (id integer PRIMARY KEY)",
      "CREATE TABLE orders (id integer PRIMARY KEY)",
      "INSERT INTO orders VALUES (1)",
    );
    await using source = new SqlSurfaceSource(
      { name: "shop", url: database.url },
      { keepsMoment: true, attribution: "none" },
    );
    await source.observe([WHOLE]);
    const { pathname } = new URL(database.url);
    const blocker = await server.connect(pathname.slice(1));
    await blocker.query("BEGIN");
    await blocker.query("LOCK TABLE locked IN ACCESS EXCLUSIVE MODE");
    const look = await source.world(QUESTION);
    await blocker.end();
    expect(told(look)).toEqual(["locked uncounted: ", "orders 1: 1"]);
    expect(look.gaps.map(({ code, location }) => `${code} ${location}`)).toEqual([
      "deadline_passed shop:/public/locked",
    ]);
  });
});
