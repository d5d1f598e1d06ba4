import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Condition } from "../../src/core/condition.ts";
import type { SurfaceEntry } from "../../src/core/entry.ts";
import { gap } from "../../src/core/gap.ts";
import type { Observation } from "../../src/core/observation.ts";
import { matchRows } from "../../src/sources/sql/match-rows.ts";
import { keyState, rowEntry, rowState, type RowValues } from "../../src/sources/sql/row-entry.ts";
import { gapAt, observe, type World } from "../worlds/observations.ts";
import { claims, decide } from "./claims.ts";

const ORDERS = {
  uri: "shop:/public/orders",
  columns: [
    { name: "id", type: "integer" },
    { name: "status", type: "text" },
    { name: "total", type: "numeric(12,2)" },
  ],
  key: ["id"],
};
const LOG = { uri: "shop:/public/log", columns: [{ name: "line", type: "text" }], key: [] };

const rows = (before: readonly RowValues[], now: readonly RowValues[]): readonly SurfaceEntry[] =>
  matchRows(ORDERS, before, now);
const lines = (before: readonly string[], now: readonly string[]): readonly SurfaceEntry[] =>
  matchRows(
    LOG,
    before.map((line) => [line]),
    now.map((line) => [line]),
  );
const shop = (entries: readonly SurfaceEntry[], more: Partial<World> = {}): Observation =>
  observe({ uri: "shop:/**", surface: "sql", extent: "delta", entries: [...entries], ...more });

const changed = (more: Readonly<Record<string, unknown>> = {}): unknown => ({
  kind: "rows_changed",
  uri: ORDERS.uri,
  ...more,
});

const ONE_OF_EACH = rows(
  [
    ["1", "pending", "10.00"],
    ["2", "pending", "5.00"],
    ["3", "pending", "5.00"],
  ],
  [
    ["1", "cancelled", "10.00"],
    ["3", "pending", "5.00"],
    ["4", "new", "1.50"],
  ],
);
const refs = (...ids: readonly number[]): readonly string[] =>
  ids.map((id) => `${ORDERS.uri}?id=${id}`);

describe("rows_changed", () => {
  claims([
    {
      claim: "any change at all",
      condition: changed(),
      world: shop(ONE_OF_EACH),
      want: "upheld",
      refs: refs(1, 4, 2),
    },
    {
      claim: "a row that was rewritten with equal values did not change",
      condition: changed({ where: { id: 3 } }),
      world: shop(ONE_OF_EACH),
      want: "refuted",
      refs: [],
    },
    {
      claim: "inserted",
      condition: changed({ change: "inserted" }),
      world: shop(ONE_OF_EACH),
      want: "upheld",
      refs: refs(4),
    },
    {
      claim: "updated",
      condition: changed({ change: "updated" }),
      world: shop(ONE_OF_EACH),
      want: "upheld",
      refs: refs(1),
    },
    {
      claim: "deleted",
      condition: changed({ change: "deleted" }),
      world: shop(ONE_OF_EACH),
      want: "upheld",
      refs: refs(2),
    },
    {
      claim: "where, before and after together",
      condition: changed({
        where: { id: 1 },
        before: { status: "pending" },
        after: { status: "cancelled" },
      }),
      world: shop(ONE_OF_EACH),
      want: "upheld",
      refs: refs(1),
    },
    {
      claim: "another value after",
      condition: changed({ where: { id: 1 }, after: { status: "refunded" } }),
      world: shop(ONE_OF_EACH),
      want: "refuted",
    },
    {
      claim: "where holds of the row before as well",
      condition: changed({ change: "updated", where: { status: "pending" } }),
      world: shop(ONE_OF_EACH),
      want: "upheld",
      refs: refs(1),
    },
    {
      claim: "numbers compare by value, however they are written",
      condition: changed({ where: { id: "1.0" }, after: { total: 10 } }),
      world: shop(ONE_OF_EACH),
      want: "upheld",
      refs: refs(1),
    },
    {
      claim: "text that looks like a number does not",
      condition: changed({ after: { status: 1 } }),
      world: shop(rows([], [["1", "1.0", "1"]])),
      want: "refuted",
    },
    {
      claim: "a count that is met",
      condition: changed({ count: 3 }),
      world: shop(ONE_OF_EACH),
      want: "upheld",
    },
    {
      claim: "a count that is not",
      condition: changed({ count: 2 }),
      world: shop(ONE_OF_EACH),
      want: "refuted",
      refs: refs(1, 4, 2),
    },
    {
      claim: "none at all, as wished",
      condition: changed({ change: "deleted", where: { id: 3 }, count: 0 }),
      world: shop(ONE_OF_EACH),
      want: "upheld",
      refs: [],
    },
    {
      claim: "at least, at most",
      condition: changed({ atLeast: 2, atMost: 3 }),
      world: shop(ONE_OF_EACH),
      want: "upheld",
    },
    {
      claim: "rows of another table",
      condition: { kind: "rows_changed", uri: "shop:/public/order" },
      world: shop(ONE_OF_EACH),
      want: "refuted",
    },
    {
      claim: "one row by its own location",
      condition: { kind: "rows_changed", uri: `${ORDERS.uri}?id=4` },
      world: shop(ONE_OF_EACH),
      want: "upheld",
      refs: refs(4),
    },
    {
      claim: "a witness upholds whatever was not seen",
      condition: changed({ where: { id: 4 } }),
      world: shop(ONE_OF_EACH, { gaps: [gapAt("transaction_open", ORDERS.uri)] }),
      want: "upheld",
      refs: refs(4),
    },
    {
      claim: "no witness, and rows hidden",
      condition: changed({ where: { id: 9 } }),
      world: shop(ONE_OF_EACH, { gaps: [gapAt("rows_hidden", ORDERS.uri)] }),
      want: "undetermined",
      gaps: ["rows_hidden"],
    },
    {
      claim: "a gap at another table does not matter",
      condition: changed({ where: { id: 9 } }),
      world: shop(ONE_OF_EACH, { gaps: [gapAt("table_rewritten", "shop:/public/customers")] }),
      want: "refuted",
    },
    {
      claim: "a gap at a table whose name starts alike does not either",
      condition: { kind: "rows_changed", uri: "shop:/public/orders_old" },
      world: shop([], { gaps: [gapAt("table_rewritten", "shop:/public/order")] }),
      want: "refuted",
    },
    {
      claim: "a gap at the table of the asked row does",
      condition: { kind: "rows_changed", uri: `${ORDERS.uri}?id=9` },
      world: shop([], { gaps: [gapAt("table_rewritten", ORDERS.uri)] }),
      want: "undetermined",
      gaps: ["table_rewritten"],
    },
    {
      claim: "at most is refuted by too many, whatever was not seen",
      condition: changed({ atMost: 2 }),
      world: shop(ONE_OF_EACH, { gaps: [gapAt("rows_hidden", ORDERS.uri)] }),
      want: "refuted",
      refs: refs(1, 4, 2),
    },
    {
      claim: "at most is not upheld while rows are hidden",
      condition: changed({ atMost: 3 }),
      world: shop(ONE_OF_EACH, { gaps: [gapAt("rows_hidden", ORDERS.uri)] }),
      want: "undetermined",
      gaps: ["rows_hidden"],
    },
    {
      claim: "without a world before nothing is known",
      condition: changed(),
      world: shop([], { method: "none" }),
      want: "undetermined",
      gaps: ["baseline_missing"],
    },
    {
      claim: "a column that the table does not have is not known, and said",
      condition: changed({ where: { idd: 1 } }),
      world: shop(ONE_OF_EACH),
      want: "undetermined",
      gaps: ["evidence_kind_missing", "evidence_kind_missing", "evidence_kind_missing"],
      says: "no column idd",
    },
    {
      claim: "of a row before only its digest was kept: after is known, before is not",
      condition: changed({ before: { status: "pending" } }),
      world: shop([
        rowEntry(ORDERS, ["1", "x", "1"], {
          change: "modified",
          before: keyState(ORDERS, ["1"]),
          now: rowState(ORDERS, ["1", "x", "1"]),
        }),
      ]),
      want: "undetermined",
      gaps: ["prior_content_unknown"],
    },
    {
      claim: "and its key is",
      condition: changed({ change: "deleted", where: { id: 1 } }),
      world: shop([
        rowEntry(ORDERS, ["1", null, null], { change: "deleted", before: keyState(ORDERS, ["1"]) }),
      ]),
      want: "upheld",
      refs: refs(1),
    },
  ]);
});

const logged = (more: Readonly<Record<string, unknown>> = {}): unknown => ({
  kind: "rows_changed",
  uri: LOG.uri,
  ...more,
});

describe("rows_changed over a table without a key", () => {
  claims([
    {
      claim: "a row that came, where none went",
      condition: logged({ change: "inserted", count: 1 }),
      world: shop(lines(["a"], ["a", "b"])),
      want: "upheld",
    },
    {
      claim: "equal rows are counted one by one",
      condition: logged({ change: "inserted", count: 2 }),
      world: shop(lines(["a"], ["a", "a", "a"])),
      want: "upheld",
    },
    {
      claim: "something changed, whatever it was",
      condition: logged({ after: { line: "b" } }),
      world: shop(lines(["a"], ["b"])),
      want: "upheld",
    },
    {
      claim: "one went and one came: that may be an update",
      condition: logged({ change: "inserted" }),
      world: shop(lines(["a"], ["b"])),
      want: "undetermined",
      gaps: ["no_stable_key", "no_stable_key"],
    },
    {
      claim: "but not of a row that no side holds",
      condition: logged({ change: "updated", after: { line: "c" } }),
      world: shop(lines(["a"], ["b"])),
      want: "undetermined",
      gaps: ["no_stable_key"],
    },
  ]);
});

const secret = { kind: "contains", value: "sk-live-1" };

describe("the conditions of files, over rows", () => {
  claims([
    {
      claim: "a secret that landed in a row",
      condition: { kind: "content_written", uri: "shop:/**", match: "glob", matcher: secret },
      world: shop(rows([], [["1", "key sk-live-1 !", "1"]])),
      want: "upheld",
      refs: refs(1),
    },
    {
      claim: "a secret that was in the row before",
      condition: { kind: "content_written", uri: "shop:/**", match: "glob", matcher: secret },
      world: shop(rows([["1", "sk-live-1", "1"]], [["1", "sk-live-1", "2"]])),
      want: "refuted",
    },
    {
      claim: "a question about the table is about its rows",
      condition: { kind: "content_written", uri: ORDERS.uri, matcher: secret },
      world: shop(rows([], [["1", "sk-live-1", "1"]])),
      want: "upheld",
      refs: refs(1),
    },
    {
      claim: "values that stand side by side are not one text",
      condition: {
        kind: "content_written",
        uri: "shop:/**",
        match: "glob",
        matcher: { kind: "contains", value: "42" },
      },
      world: shop(rows([], [["4", "2", "1"]])),
      want: "refuted",
    },
    {
      claim: "rows elsewhere are counterexamples",
      condition: { kind: "changed_only", allow: [`${ORDERS.uri}?id=4`] },
      world: shop(ONE_OF_EACH),
      want: "refuted",
      refs: refs(1, 2),
    },
    {
      claim: "a row rewritten with equal values is no change",
      condition: { kind: "changed_only", allow: [] },
      world: shop(rows([["3", "a", "1"]], [["3", "a", "1"]])),
      want: "upheld",
    },
    {
      claim: "what is allowed of a table is allowed of its rows",
      condition: { kind: "changed_only", allow: [ORDERS.uri] },
      world: shop(ONE_OF_EACH),
      want: "upheld",
    },
    {
      claim: "a pattern over its rows",
      condition: { kind: "changed_only", allow: [`${ORDERS.uri}[?]*`] },
      world: shop(ONE_OF_EACH),
      want: "upheld",
    },
    {
      claim: "what was not seen of an allowed table can hide nothing",
      condition: { kind: "changed_only", allow: [ORDERS.uri] },
      world: shop(ONE_OF_EACH, { gaps: [gapAt("table_rewritten", ORDERS.uri)] }),
      want: "upheld",
    },
    {
      claim: "what was not seen of a table of which one row is allowed can",
      condition: { kind: "changed_only", allow: [`${ORDERS.uri}?id=4`] },
      world: shop(rows([], [["4", "a", "1"]]), { gaps: [gapAt("table_rewritten", ORDERS.uri)] }),
      want: "undetermined",
      gaps: ["table_rewritten"],
    },
    {
      claim: "a row that is gone",
      condition: { kind: "content_removed", uri: `${ORDERS.uri}?id=2` },
      world: shop(ONE_OF_EACH),
      want: "upheld",
      refs: refs(2),
    },
  ]);
});

test("a question that cannot be is refused", () => {
  for (const more of [
    { change: "inserted", before: { a: 1 } },
    { change: "deleted", after: { a: 1 } },
    { count: 1, atLeast: 1 },
    { atLeast: 2, atMost: 1 },
    { count: -1 },
    { where: {} },
  ])
    expect(Condition.safeParse(changed(more)).success, JSON.stringify(more)).toBe(false);
});

test("knowing less never turns a verdict into the other", () => {
  const id = fc.integer({ min: 1, max: 4 }).map(String);
  const row = fc.tuple(id, fc.constantFrom("a", "b"), fc.constant("1"));
  const world = fc.uniqueArray(row, { selector: ([key]) => key });
  const counts = fc.constantFrom({}, { count: 1 }, { count: 0 }, { atLeast: 2 }, { atMost: 1 });
  const asked = fc.record(
    {
      change: fc.constantFrom("inserted", "updated", "deleted"),
      where: fc.constantFrom({ id: 1 }, { status: "a" }),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(world, world, counts, asked, fc.nat(3), (before, now, count, more, drop) => {
      const entries = rows(before, now);
      const condition = changed({ ...count, ...more });
      const full = decide({ claim: "", condition, world: shop(entries), want: "upheld" }).verdict
        .value;
      const left = entries.filter((_, index) => index !== drop);
      for (const [kept, gaps] of [
        [left, [gapAt("transaction_open", ORDERS.uri)]],
        [entries, [gap("rows_hidden", "shop:/")]],
      ] as const) {
        const less = decide({ claim: "", condition, world: shop(kept, { gaps }), want: "upheld" });
        expect([full, "undetermined"]).toContain(less.verdict.value);
      }
    }),
    { numRuns: 300 },
  );
});
