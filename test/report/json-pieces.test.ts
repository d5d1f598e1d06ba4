import * as fc from "fast-check";
import { expect, test } from "vitest";
import { jsonPieces } from "../../src/report/json-pieces.ts";
import { runReport, type RunReport } from "../../src/report/run-report.ts";

const empty = runReport({ run: null, deltas: [], observations: [], subGoals: [] });

/** A report of changes at these locations. */
function reportOf(names: readonly string[]): RunReport {
  return {
    ...empty,
    delta: names.map((name) => ({ uri: `workspace:/${name}`, change: "deleted" })),
  };
}

test.each([0, 1, 127, 128, 129, 300])(
  "the pieces of a delta of %i changes are one text",
  (count) => {
    const report = reportOf(Array.from({ length: count }, (_, at) => `file-${at}`));
    expect([...jsonPieces(report)].join("")).toBe(JSON.stringify(report));
  },
);

test("whatever the names hold, the text is the one that JSON.stringify gives", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary" }), { maxLength: 200 }), (names) => {
      const report = reportOf(names);
      expect([...jsonPieces(report)].join("")).toBe(JSON.stringify(report));
    }),
  );
});

test("a long delta is not one piece", () => {
  const pieces = [...jsonPieces(reportOf(Array.from({ length: 1000 }, (_, at) => `file-${at}`)))];
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(10_000);
});
