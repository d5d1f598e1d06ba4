import { describe, expect, test } from "vitest";
import { callValue, ToolCall } from "../../../src/core/tool-call.ts";
import { callWords, relevanceOf } from "../../../src/evidence/world/call-words.ts";

const callOf = (name: string, given: unknown, result: unknown = null): ToolCall =>
  ToolCall.parse({
    uri: "calls:/0",
    sightings: [
      {
        recorder: "file",
        provenance: "reported",
        sequence: 0,
        name,
        arguments: callValue(given, 16_384),
        result: callValue(result, 16_384),
        outcome: "ok",
      },
    ],
  });

describe("which table a call speaks of", () => {
  test.each([
    ["book_ride", {}, "bookings", "audit_entries"],
    ["cancelOrder", {}, "orders", "customers"],
    ["get", { customer_id: 1 }, "customers", "orders"],
    ["HTTPOrderQuery", {}, "order_lines", "people"],
    ["query", { sql: "SELECT * FROM invoices" }, "invoices", "payments"],
    ["read_log", {}, "log", "catalog"],
  ])("%s(%j) is nearer to %s than to %s", (name, given, near, far) => {
    const words = callWords([callOf(name, given)]);
    const [one, other] = [near, far].map((table) => relevanceOf(`shop:/public/${table}`, words));
    expect(one).toBeGreaterThan(other ?? 0);
  });

  test.each([
    ["no call", [], "orders"],
    ["words that name nothing", [callOf("get_all", { id: 1, name: "x" })], "all_names"],
    ["a part of three letters", [callOf("log", {})], "catalog"],
  ])("%s has nothing to do with a table", (_, calls, table) => {
    expect(relevanceOf(`shop:/${table}`, callWords(calls))).toBe(0);
  });
});

describe("the texts that may be keys", () => {
  test("stand in arguments before results, each once, as a whole and word by word", () => {
    const { terms } = callWords([
      callOf("cancel", { ids: [42, "A-7"], note: "see order 43." }, { next: 44, again: 42 }),
    ]);
    expect(terms).toEqual(["42", "A-7", "see order 43.", "see", "order", "43.", "44"]);
  });

  test("are counted where there are more than can be asked for", () => {
    const words = callWords([
      callOf("read", { ids: Array.from({ length: 3_000 }, (_, id) => id) }),
    ]);
    expect([words.terms.length, words.termsTotal]).toEqual([2_000, 3_000]);
  });

  test("are found however deep a call nests", () => {
    let given: unknown = "deep-1";
    for (let depth = 0; depth < 60; depth += 1) given = [given];
    expect(callWords([callOf("read", { given })]).terms).toContain("deep-1");
  });
});
