import { assert, bigInt, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { ScoringScope } from "../../src/core/scope.ts";
import { nanosecondsOf, Timestamp, timestampOf } from "../../src/core/timestamp.ts";

describe("a timestamp", () => {
  test.each([
    [0n, "1970-01-01T00:00:00.000000000Z"],
    [-1n, "1969-12-31T23:59:59.999999999Z"],
    [-1_000_000_000n, "1969-12-31T23:59:59.000000000Z"],
    [1_796_064_495_123_456_789n, "2026-11-30T18:48:15.123456789Z"],
    [253_402_300_799_999_999_999n, "9999-12-31T23:59:59.999999999Z"],
    [253_402_300_800_000_000_000n, "010000-01-01T00:00:00.000000000Z"],
    [-62_167_219_200_000_000_001n, "-000001-12-31T23:59:59.999999999Z"],
  ])("of %s nanoseconds is %s, and back", (nanoseconds, text) => {
    expect(timestampOf(nanoseconds)).toBe(text);
    expect(nanosecondsOf(Timestamp.parse(text))).toBe(nanoseconds);
  });

  const day = 86_400n * 1_000_000_000n;
  test("goes there and back over all that a date can hold", () => {
    assert(
      property(bigInt({ min: -100_000_000n * day, max: 100_000_000n * day }), (nanoseconds) => {
        expect(nanosecondsOf(timestampOf(nanoseconds))).toBe(nanoseconds);
      }),
      { numRuns: 2_000 },
    );
  });

  test("compares as text in the years 0 to 9999", () => {
    const inRange = bigInt({
      min: -62_167_219_200_000_000_000n,
      max: 253_402_300_799_999_999_999n,
    });
    assert(
      property(inRange, inRange, (left, right) => {
        expect(timestampOf(left) < timestampOf(right)).toBe(left < right);
      }),
    );
  });

  test("of a time that no date can hold is the nearest that one can", () => {
    expect(timestampOf(10n ** 30n)).toBe("275760-09-13T00:00:00.000000000Z");
    expect(timestampOf(-(10n ** 30n))).toBe("-271821-04-20T00:00:00.000000000Z");
  });
});

const isWindow = (from: bigint, to: bigint): boolean =>
  ScoringScope.safeParse({ window: [timestampOf(from), timestampOf(to)] }).success;

test("a window must not end before it starts, in any year", () => {
  expect([
    isWindow(0n, 0n),
    isWindow(1n, 0n),
    isWindow(0n, 10n ** 21n),
    isWindow(-(10n ** 20n), 0n),
    isWindow(10n ** 21n, 0n),
  ]).toEqual([true, false, true, true, false]);
});
