import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holdsCell, type Cell } from "../../src/core/row.ts";

const HOLD: readonly (readonly [type: string, value: string | null, wanted: Cell])[] = [
  ["integer", "42", 42],
  ["integer", "42", "42"],
  ["bigint", "9007199254740993", "9007199254740993"],
  ["numeric(12,2)", "100.00", 100],
  ["numeric", "1.10", "1.1"],
  ["numeric", "0.00", "-0"],
  ["numeric", "1e3", 1000],
  ["double precision", "NaN", "nan"],
  ["double precision", "-Infinity", "-inf"],
  ["real", "1e-07", 1e-7],
  ["boolean", "t", true],
  ["boolean", "f", "false"],
  ["text", "", ""],
  ["text", null, null],
  ["timestamp with time zone", "2026-03-01 10:00:00.5+00", "2026-03-01T10:00:00.500Z"],
  ["date", "2026-03-01", "2026-03-01"],
];

const DIFFER: readonly (readonly [type: string, value: string | null, wanted: Cell])[] = [
  ["bigint", "9007199254740993", "9007199254740992"],
  ["text", "1.0", 1],
  ["text", "42 ", 42],
  ["text", "", null],
  ["text", "null", null],
  ["integer", null, 0],
  ["integer[]", "{1}", 1],
  ["boolean", "t", false],
  ["text", "t", true],
  ["timestamp with time zone", "2026-03-01 10:00:00.123456+00", "2026-03-01T10:00:00.123457Z"],
  ["numeric", "1", "1x"],
  ["jsonb", '{"a": 1}', '{"a":1}'],
];

describe("a column's value and what a condition states", () => {
  test.each(HOLD)("%s %j is %j", (type, value, wanted) => {
    expect(holdsCell({ type, value }, wanted)).toBe(true);
  });
  test.each(DIFFER)("%s %j is not %j", (type, value, wanted) => {
    expect(holdsCell({ type, value }, wanted)).toBe(false);
  });
});

test("every number is itself, however many zeros it is written with", () => {
  fc.assert(
    fc.property(fc.bigInt(), fc.nat(20), (whole, zeros) => {
      const text = `${whole}${zeros === 0 ? "" : `.${"0".repeat(zeros)}`}`;
      expect(holdsCell({ type: "numeric", value: text }, String(whole))).toBe(true);
      expect(holdsCell({ type: "numeric", value: text }, String(whole + 1n))).toBe(false);
    }),
  );
});
