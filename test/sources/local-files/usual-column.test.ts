import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BigColumn, wordsColumn } from "../../../src/sources/local-files/column.ts";
import {
  usualBigs,
  usualWords,
  type UsualColumn,
} from "../../../src/sources/local-files/usual-column.ts";

const words = fc.array(
  fc.oneof(fc.constantFrom(0, 1000, 2 ** 31, 2 ** 32 - 1), fc.nat({ max: 2 ** 32 - 1 })),
  { minLength: 1, maxLength: 300 },
);
const bigs = fc.array(
  fc.oneof(
    fc.constantFrom(0n, 66_305n, -1n),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  ),
  { minLength: 1, maxLength: 300 },
);

function bytesOf(column: { bytes(count: number): Iterable<Uint8Array> }, count: number): string {
  let text = "";
  for (const bytes of column.bytes(count)) text += Buffer.from(bytes).toString("hex");
  return text;
}

/** Filled with the values, and each set once more to another one before. */
function filled<V>(column: UsualColumn<V>, values: readonly V[]): UsualColumn<V> {
  for (const [at, value] of values.entries()) column.set(at, value);
  for (const [at, value] of values.entries()) {
    column.set(at, values[0] ?? value);
    column.set(at, value);
  }
  return column;
}

describe("a column of values that are mostly one holds what a plain column holds", () => {
  test("numbers", () => {
    fc.assert(
      fc.property(words, (values) => {
        const plain = wordsColumn();
        for (const [at, value] of values.entries()) plain.set(at, value);
        const column = filled(usualWords(), values);
        expect(values.map((_, at) => column.get(at))).toEqual(values);
        expect(bytesOf(column, values.length)).toBe(bytesOf(plain, values.length));
        const other = usualWords();
        other.adopt(column.share(values.length));
        expect(values.map((_, at) => other.get(at))).toEqual(values);
      }),
    );
  });

  test("64-bit values", () => {
    fc.assert(
      fc.property(bigs, (values) => {
        const plain = new BigColumn();
        for (const [at, value] of values.entries()) plain.set(at, value);
        const column = filled(usualBigs(), values);
        expect(values.map((_, at) => column.get(at))).toEqual(values);
        const stored = Buffer.from(bytesOf(column, values.length), "hex");
        expect(stored.toString("hex")).toBe(bytesOf(plain, values.length));
        const read = usualBigs();
        expect(read.fill(values.length, stored)).toBe(stored.length);
        expect(values.map((_, at) => read.get(at))).toEqual(values);
      }),
    );
  });

  test("stored bytes that were cut are refused", () => {
    expect(() => usualBigs().fill(2, Buffer.alloc(15))).toThrow(RangeError);
  });

  test("what another thread sets is seen here", () => {
    const column = filled(usualWords(), [7, 7, 7]);
    const other = usualWords();
    other.adopt(column.share(3));
    other.set(1, 9);
    expect([0, 1, 2].map((at) => column.get(at))).toEqual([7, 9, 7]);
  });
});
