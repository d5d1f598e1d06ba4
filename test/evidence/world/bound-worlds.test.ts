import { array, assert, constantFrom, integer, property, record, string } from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJsonBytes } from "../../../src/core/canonical-json.ts";
import { boundWorlds } from "../../../src/evidence/world/bound-worlds.ts";
import { World, type WorldRow, type WorldTable } from "../../../src/evidence/world/world.ts";

/** What a salt adds to a part: `"salt":"<32 hex digits>",`. */
const SALT_BYTES = 42;

const bytesOf = (worlds: readonly World[]): number =>
  worlds.reduce((sum, world) => sum + canonicalJsonBytes(world).length + SALT_BYTES, 0);

interface ShortTable {
  readonly name: string;
  readonly changed?: number;
  readonly context?: number;
  readonly total?: number;
  readonly text: string;
}

function tableOf({ name, changed = 0, context = 0, total, text }: ShortTable): WorldTable {
  const row = (why: WorldRow["why"], index: number): WorldRow => ({
    why,
    ...(why === "changed" ? { change: "modified", before: [String(index), "was"] } : {}),
    now: [String(index), text],
  });
  const rows = [
    ...Array.from({ length: changed }, (_, index) => row("changed", index)),
    ...Array.from({ length: context }, (_, index) => row("context", changed + index)),
  ];
  return {
    uri: `shop:/public/${name}`,
    columns: [
      { name: "id", type: "integer" },
      { name: "line", type: "text" },
    ],
    key: ["id"],
    rowsShown: rows.length,
    changedShown: changed,
    rowsTotal: total ?? rows.length,
    changedTotal: changed,
    rows,
  };
}

function worldOf(tables: readonly WorldTable[], root = "shop", maxBytes = 131_072): World {
  return World.parse({
    schemaVersion: 1,
    root,
    bound: { maxRows: 40, maxBytes },
    callTerms: { used: 0, total: 0 },
    tables,
    omittedTables: [],
    omittedUnnamed: 0,
    gaps: [],
  });
}

const shownOf = ({ tables }: World): readonly string[] =>
  tables.map(({ uri, rows }) => `${uri.replace("shop:/public/", "")} ${rows.length}`);

describe("the world of a bundle", () => {
  test("is whole where it fits", () => {
    const world = worldOf([tableOf({ name: "orders", changed: 1, context: 39, text: "x" })]);
    expect(boundWorlds([world], 131_072)).toEqual([world]);
  });

  test("shows a row of every table that changed, before a large one shows more", () => {
    const world = worldOf([
      tableOf({ name: "log", changed: 40, total: 9_000_000, text: "z".repeat(3_500) }),
      tableOf({ name: "orders", changed: 3, total: 340, text: "cancelled" }),
      tableOf({ name: "users", context: 40, total: 40, text: "u".repeat(2_000) }),
    ]);
    const [bounded] = boundWorlds([world], 65_536);
    if (bounded === undefined) throw new Error("no world");
    expect(shownOf(bounded)).toEqual(["log 18", "orders 3"]);
    expect(bounded.omittedTables).toEqual([
      { uri: "shop:/public/users", reason: "byte_limit", rowsTotal: 40, changedTotal: 0 },
    ]);
    expect(bounded.tables.map(({ rowsShown, rowsTotal }) => [rowsShown, rowsTotal])).toEqual([
      [18, 9_000_000],
      [3, 340],
    ]);
  });

  test("cuts a value that would take the room of a table, and tells its size", () => {
    const world = worldOf([tableOf({ name: "pages", context: 2, text: "ü".repeat(100_000) })]);
    const [bounded] = boundWorlds([world], 131_072);
    expect(bounded?.tables[0]?.rows[0]?.now?.[1]).toEqual({
      value: "ü".repeat(2_048),
      sizeBytes: 200_000,
    });
  });

  test("counts the tables that it has no room to name", () => {
    const tables = Array.from({ length: 10_000 }, (_, index) =>
      tableOf({ name: `table_${index}`, context: 1, text: "x".repeat(50) }),
    );
    const [bounded] = boundWorlds([worldOf(tables)], 131_072);
    if (bounded === undefined) throw new Error("no world");
    expect(bytesOf([bounded])).toBeLessThanOrEqual(131_072);
    expect(bounded.tables.length + bounded.omittedTables.length + bounded.omittedUnnamed).toBe(
      10_000,
    );
    expect(bounded.tables.length).toBeGreaterThan(100);
  });

  const anyTable = record({
    changed: integer({ min: 0, max: 40 }),
    context: integer({ min: 0, max: 40 }),
    text: string({ maxLength: 400, unit: constantFrom("a", "é", "😀", '"', "\n") }),
  });

  test("never takes more than its bytes, loses no count, and keeps the order of rows", () => {
    assert(
      property(
        array(array(anyTable, { maxLength: 8 }), { minLength: 1, maxLength: 3 }),
        integer({ min: 2_000, max: 60_000 }),
        (roots, maxBytes) => {
          const worlds = roots.map((tables, root) =>
            worldOf(
              tables.map((table, index) => tableOf({ name: `t${index}`, ...table })),
              `root${root}`,
              maxBytes,
            ),
          );
          const bounded = boundWorlds(worlds, maxBytes);
          expect(bytesOf(bounded)).toBeLessThanOrEqual(maxBytes);
          for (const [at, { tables, omittedTables, omittedUnnamed }] of bounded.entries()) {
            const before = worlds[at]?.tables ?? [];
            expect(tables.length + omittedTables.length + omittedUnnamed).toBe(before.length);
            for (const table of tables) {
              const whole = before.find(({ uri }) => uri === table.uri);
              expect(whole?.rows.slice(0, table.rows.length)).toEqual(table.rows);
              expect(table.rowsShown).toBe(table.rows.length);
              expect(table.rowsTotal).toBe(whole?.rowsTotal);
            }
          }
        },
      ),
      { numRuns: 200 },
    );
  });
});
