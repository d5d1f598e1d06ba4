import { expect, test } from "vitest";
import * as fc from "fast-check";
import { isWellFormed } from "../../src/core/canonical-json.ts";
import { printable } from "../../src/report/printable.ts";

test.each([
  ["plain text, also beyond ASCII", "naïve 日本 🙂.txt", "naïve 日本 🙂.txt"],
  ["an escape sequence", "\u001b[31mred", "\\u001b[31mred"],
  ["the same in one byte", "\u009b31m", "\\u009b31m"],
  ["a line break", "a\r\nb", "a\\u000d\\u000ab"],
  ["an override of direction", "a\u202eb\u2066c", "a\\u202eb\\u2066c"],
  ["what has no width", "a\u200b\ufeff", "a\\u200b\\ufeff"],
  ["a separator of lines", "a\u2028b", "a\\u2028b"],
  ["half of a pair", "a\ud83db", "a\\ud83db"],
])("%s", (_, text, shown) => {
  expect(printable(text)).toBe(shown);
});

test("whatever the world holds, one line is printed that acts on nothing", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const shown = printable(text);
      // oxlint-disable-next-line no-control-regex -- these are what must not be there
      expect(shown).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/);
      expect(isWellFormed(shown)).toBe(true);
    }),
  );
});
