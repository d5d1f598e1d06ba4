import * as fc from "fast-check";
import { expect, test } from "vitest";
import { lineDiff } from "../../src/report/line-diff.ts";

test.each([
  ["nothing", "a\nb\n", "a\nb\n", 0, 0],
  ["one line more", "a\n", "a\nb\n", 1, 0],
  ["all lines", "", "a\nb\n", 2, 0],
  ["a line in the middle", "1\n2\n3\n4\n", "1\n2\nx\n4\n", 1, 1],
  ["a line moved", "a\nb\nc\n", "b\nc\na\n", 1, 1],
  ["everything", "a\nb\n", "c\nd\ne\n", 3, 2],
])("%s", (_, before, after, added, removed) => {
  expect(lineDiff(before, after)).toEqual({ added, removed });
});

/** 5,000 lines, each its own. */
const longText = (name: string): string =>
  textOf(Array.from({ length: 5_000 }, (_, line) => `${name} ${line}`));

const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

test("texts that differ everywhere are not counted to the end", () => {
  expect(lineDiff(longText("a"), longText("b"))).toBeUndefined();
});

/** The length of the longest common subsequence, by the textbook. */
function commonLines(left: readonly string[], right: readonly string[]): number {
  let row = Array.from({ length: right.length + 1 }, () => 0);
  for (const line of left) {
    const next = [0];
    for (const [at, other] of right.entries())
      next.push(line === other ? row[at]! + 1 : Math.max(row[at + 1]!, next[at]!));
    row = next;
  }
  return row.at(-1) ?? 0;
}

test("it finds the least number of lines", () => {
  const lines = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 12 });
  fc.assert(
    fc.property(lines, lines, (left, right) => {
      const common = commonLines(left, right);
      expect(lineDiff(textOf(left), textOf(right))).toEqual({
        added: right.length - common,
        removed: left.length - common,
      });
    }),
  );
});
