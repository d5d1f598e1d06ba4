import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sqliteDriver } from "../../src/sources/sql/sqlite/driver.ts";
import { scratchFolder } from "../worlds/ordinary-user.ts";

const MAIN = join(import.meta.dirname, "../../dist/cli/main.js");
const LIBSQL = join(import.meta.dirname, "../../node_modules/libsql");

interface Said {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function upheld(cwd: string, ...args: readonly string[]): Said {
  const env = {
    ...process.env,
    UPHELD_STATE_DIR: join(cwd, "../state"),
    SHOP: "sqlite:../shop.db",
  };
  return spawnSync(process.execPath, [MAIN, ...args], { cwd, env, encoding: "utf8" });
}

function use(file: string, ...statements: readonly string[]): void {
  const database = sqliteDriver()(file);
  for (const statement of statements) database.exec(statement);
  database.close();
}

test(
  "baseline, then observe in another process; the address is named again and kept nowhere",
  { timeout: 120_000 },
  () => {
    using scratch = scratchFolder();
    const root = join(scratch.path, "root");
    mkdirSync(root);
    const shop = join(scratch.path, "shop.db");
    use(
      shop,
      "CREATE TABLE orders (id INTEGER PRIMARY KEY, status)",
      "INSERT INTO orders VALUES (1, 'new')",
    );
    const before = join(scratch.path, "before");
    const taken = upheld(root, "baseline", "--db", "shop=env:SHOP", "--save", before);
    expect([taken.status, taken.stdout]).toEqual([0, expect.stringContaining("shop:/")]);
    expect(readFileSync(join(before, "baseline.json"), "utf8")).not.toContain("shop.db");
    use(shop, "UPDATE orders SET status = 'paid'");
    const claims = join(scratch.path, "claims.json");
    const condition = {
      kind: "rows_changed",
      uri: "shop:/orders",
      change: "updated",
      after: { status: "paid" },
      count: 1,
    };
    writeFileSync(claims, JSON.stringify({ subGoals: [{ name: "paid", condition }] }));
    const asked = ["observe", "--baseline", before, "--expect", claims, "--json"];
    const forgotten = upheld(root, ...asked);
    expect([forgotten.status, forgotten.stderr]).toEqual([
      64,
      expect.stringContaining("--db shop=URL"),
    ]);
    const observed = upheld(root, ...asked, "--db", "shop=env:SHOP");
    expect(observed.status, observed.stderr).toBe(0);
    const report = JSON.parse(observed.stdout);
    expect(report.subGoals[0].verdict).toMatchObject({
      value: "upheld",
      witnesses: [{ uri: "shop:/orders?id=1", detail: "status" }],
    });
    expect(report.delta).toMatchObject([{ uri: "shop:/orders?id=1", change: "modified" }]);
  },
);

test(
  "calls stand beside the rows that changed: what was said and not done, and what was done all the same",
  { timeout: 120_000 },
  () => {
    using scratch = scratchFolder();
    const root = join(scratch.path, "root");
    mkdirSync(root);
    use(
      join(scratch.path, "shop.db"),
      "CREATE TABLE orders (id INTEGER PRIMARY KEY, status)",
      "INSERT INTO orders VALUES (41, 'paid'), (42, 'pending'), (43, 'pending')",
    );
    const calls = [
      { name: "cancel_order", arguments: { order_id: 41 }, outcome: "ok" },
      { name: "cancel_order", arguments: { order_id: 42 }, outcome: "ok" },
      { name: "cancel_order", arguments: { order_id: "43" }, outcome: "refused" },
      { name: "get_order", arguments: { order_id: 42 }, outcome: "ok" },
    ];
    const agent = `
      const { appendFileSync } = require("node:fs");
      for (const call of ${JSON.stringify(calls)}) appendFileSync(process.env.UPHELD_CALLS, JSON.stringify(call) + "\\n");
      const Database = require(${JSON.stringify(LIBSQL)});
      const database = new Database("../shop.db");
      database.exec("UPDATE orders SET status = 'cancelled' WHERE id IN (41, 43)");
      database.close();`;
    const run = ["run", "--db", "shop=env:SHOP", "--calls", "../calls.jsonl"];
    const said = upheld(root, ...run, "--json", "--", process.execPath, "-e", agent);
    expect(said.status, said.stderr).toBe(0);
    const { list } = JSON.parse(said.stdout).calls;
    const beside = list.map((call: { effects: { uri: string }[]; doubt: string | null }) => [
      call.effects.map(({ uri }) => uri),
      call.doubt,
    ]);
    expect(beside).toEqual([
      [["shop:/orders?id=41"], null],
      [[], "no_change_seen"],
      [["shop:/orders?id=43"], "changed_all_the_same"],
      [[], null],
    ]);
  },
);

test("what --db cannot mean is said without the address", { timeout: 120_000 }, () => {
  using scratch = scratchFolder();
  const root = join(scratch.path, "root");
  mkdirSync(root);
  for (const [db, words] of [
    ["shop=env:NO_SUCH_VARIABLE", "NO_SUCH_VARIABLE is not set"],
    ["mysql://u:s3cret@h/shop", "must start with postgres:// or sqlite:"],
    ["workspace=sqlite:x.db", "the name workspace is given twice"],
    [
      "shop=postgres://u:s3cret@127.0.0.1:1/shop",
      "the database shop: it cannot be opened (ECONNREFUSED)",
    ],
  ] as const) {
    const said = upheld(root, "run", "--db", db, "--", "true");
    expect(said.stderr).toContain(words);
    expect(said.stderr + said.stdout).not.toContain("s3cret");
  }
});
