import { describe, expect, test } from "vitest";
import { holdsQuote } from "../../src/judge/citation.ts";

const exhibit = {
  change: "modified",
  now: { row: { status: "cancelled", note: 'He said:\n  "never <b>again</b>"', amount: "12.50" } },
  tags: ["first", "second"],
};

describe("a quote occurs", () => {
  test.each([
    ["as a value", "cancelled"],
    ["as a part of a value", "never"],
    ["as JSON, key and value", '"status":"cancelled"'],
    ["with other space", 'He said: "never'],
    ["with the escapes of the line", String.raw`said:\n  \"never`],
    ["with the marks of the line", String.raw`\u003cb>again`],
    ["in a list", "second"],
    ["a number as it stands", "12.50"],
  ])("%s", (_name, quote) => {
    expect(holdsQuote(exhibit, quote)).toBe(true);
  });

  test("in the other form of a letter", () => {
    expect(holdsQuote("Cafe\u0301 Ole\u0301", "Café Olé")).toBe(true);
  });
});

describe("a quote does not occur", () => {
  test.each([
    ["invented", "refunded"],
    ["in another case", "Cancelled"],
    ["as a paraphrase", "the status is cancelled"],
    ["from two values at once", "cancelled never"],
    ["another number", "12.5 EUR"],
    ["blank", "  \n"],
    ["empty", ""],
    ["of the frame that we wrote", '"evidence"'],
  ])("%s", (_name, quote) => {
    expect(holdsQuote(exhibit, quote)).toBe(false);
  });
});
