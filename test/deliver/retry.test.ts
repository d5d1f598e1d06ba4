import { assert, double, integer, nat, option, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { DEFAULT_RETRY, retryAfterOf, waitAfter } from "../../src/deliver/retry.ts";

const NOW = Date.parse("2026-11-30T10:00:00Z");

describe("the wait", () => {
  const table: readonly [number, number, number | null, number][] = [
    [1, 0, null, 0],
    [1, 0.5, null, 500],
    [1, 1, null, 1_000],
    [2, 1, null, 2_000],
    [4, 1, null, 8_000],
    [5, 1, null, 15_000],
    [8, 1, null, 15_000],
    [1_000, 1, null, 15_000],
    [1, 0.5, 3_000, 3_000],
    [5, 1, 3_000, 15_000],
    [1, 0, 3_600_000, 60_000],
  ];
  test.each(table)(
    "after try %i with chance %d, asked for %j: %i ms",
    (tries, chance, retryAfterMs, wait) => {
      expect(waitAfter(tries, { chance, retryAfterMs })).toBe(wait);
    },
  );

  test("is never longer than the longer of its two bounds, and never shorter than a bounded Retry-After", () => {
    const asked = option(nat(10_000_000));
    const chances = double({ min: 0, max: 1, noNaN: true });
    assert(
      property(integer({ min: 1, max: 100 }), chances, asked, (tries, chance, retryAfterMs) => {
        const wait = waitAfter(tries, { chance, retryAfterMs });
        expect(wait).toBeLessThanOrEqual(DEFAULT_RETRY.maxRetryAfterMs);
        expect(wait).toBeGreaterThanOrEqual(
          Math.min(retryAfterMs ?? 0, DEFAULT_RETRY.maxRetryAfterMs),
        );
      }),
    );
  });
});

test.each([
  [null, null],
  ["2", 2_000],
  [" 0 ", 0],
  ["-5", null],
  ["2.5", null],
  ["soon", null],
  ["", null],
  ["99999999999", null],
  ["Mon, 30 Nov 2026 10:00:30 GMT", 30_000],
  ["Mon, 30 Nov 2026 09:00:00 GMT", null],
  ["2026", 2_026_000],
] as const)("Retry-After %j is %j ms", (header, wait) => {
  expect(retryAfterOf(header, NOW)).toBe(wait);
});
