import { expect, test } from "vitest";
import { gap } from "../../src/core/gap.ts";
import { MAX_DELTA_LINES } from "../../src/report/delta-text.ts";
import { runReport, type ReportInput } from "../../src/report/run-report.ts";
import { reportText } from "../../src/report/text.ts";
import type { Observation } from "../../src/core/observation.ts";
import type { SurfaceEntry } from "../../src/core/entry.ts";
import {
  created,
  deleted,
  directory,
  file,
  link,
  modified,
  moved,
  observe,
  touched,
  unknown,
} from "../worlds/observations.ts";

function textOf(
  deltas: readonly Observation[],
  more: Partial<ReportInput> = {},
): readonly string[] {
  const report = runReport({ run: null, deltas, observations: [], subGoals: [], ...more });
  return reportText({ report, deltas }).trimEnd().split("\n");
}

function deltaOf(...entries: readonly SurfaceEntry[]): Observation {
  return observe({ extent: "delta", entries });
}

/** One row, one entry and its line. */
const LINES: readonly (readonly [string, SurfaceEntry, string])[] = [
  ["a new text", created("workspace:/a", file("42")), "+ /a   2 B   text"],
  ["a new binary", created("workspace:/a", file(Uint8Array.of(0, 1, 255))), "+ /a   3 B   binary"],
  ["a new directory", created("workspace:/a", directory()), "+ /a/   directory"],
  ["a new link", created("workspace:/a", link("/etc/hosts")), "+ /a   link to /etc/hosts"],
  ["lines", modified("workspace:/a", file("1\n2\n"), file("1\nx\ny\n")), "~ /a   +2 -1 lines"],
  [
    "a binary that grew",
    modified("workspace:/a", file(Uint8Array.of(0)), file(new Uint8Array(2048))),
    "~ /a   1 B -> 2.0 KiB   binary",
  ],
  ["another type", modified("workspace:/a", file("x"), link("b")), "~ /a   file -> link to b"],
  ["what was deleted", deleted("workspace:/a", file("x")), "- /a   was 1 B   text"],
  ["what was moved", moved("workspace:/a", "workspace:/b", file("x")), "> /a -> /b   1 B   text"],
  ["times", touched("workspace:/a", file("x"), file("x")), ". /a   times only"],
  [
    "a mode",
    touched("workspace:/a", file("x"), file("x", { mode: 0o755 })),
    ". /a   mode 644 -> 755",
  ],
  [
    "what is not known",
    unknown("workspace:/a", ["clock_uncertain"], file("x")),
    "? /a   not known: clock_uncertain",
  ],
];

test.each(LINES)("%s", (_, entry, line) => {
  expect(textOf([deltaOf(entry)])[1]?.trim()).toBe(line);
});

test("the counts of a delta, rarer marks in words", () => {
  const entries = [
    created("workspace:/d", directory()),
    created("workspace:/d/a", file("1")),
    created("workspace:/d/b", file("1")),
    deleted("workspace:/old", file("1")),
    touched("workspace:/t", file("1"), file("1")),
  ];
  expect(textOf([deltaOf(...entries)])[0]).toBe(
    "  changed    + 2 files and 1 directory   - 1 file   . 1 file touched   workspace:/  (baseline)",
  );
});

test("3,412 files of one directory are one line", () => {
  const entries = Array.from({ length: 3_412 }, (_, at) =>
    created(`workspace:/node_modules/p${at % 7}/${at}.js`, file("x")),
  );
  const lines = textOf([deltaOf(created("workspace:/README.md", file("x")), ...entries)]);
  expect(lines.length).toBeLessThanOrEqual(MAX_DELTA_LINES + 2);
  expect(lines.join("\n")).toContain("README.md");
  expect(lines[0]).toContain("+ 3,413 files");
});

test("the books that git keeps are one line, and a new hook is another", () => {
  const books = [
    created("workspace:/.git/objects/3c/6d", file("x")),
    modified("workspace:/.git/index", file("1"), file("2")),
  ];
  const work = modified("workspace:/a", file("1\n"), file("1\n2\n"));
  const linesOf = (...entries: readonly SurfaceEntry[]): readonly string[] =>
    textOf([deltaOf(...entries, work)]).slice(1, -1);
  expect(linesOf(...books)).toEqual([
    "               * /.git/   + 1 file   ~ 1 file   (@noise: git)",
    "               ~ /a       +1 -0 lines",
  ]);
  const hook = created("workspace:/.git/hooks/post-commit", file("curl"));
  expect(linesOf(...books, hook)).toContain(
    "               + /.git/hooks/post-commit   4 B   text",
  );
});

test("what could not be seen is bounded, with the count of the rest", () => {
  const gaps = Array.from({ length: 40 }, (_, at) =>
    gap("listing_failed", `workspace:/d${at}`, { detail: "EACCES" }),
  );
  const lines = textOf([observe({ extent: "delta", gaps })]).filter((line) => line.includes("/d"));
  expect(lines[0]).toBe("  not seen   workspace:/d0  listing_failed (EACCES)");
  expect(lines).toHaveLength(10);
  expect(textOf([observe({ extent: "delta", gaps })])).toContainEqual(
    expect.stringContaining("and 30 more places"),
  );
});

test("colour stands only where it is wanted", () => {
  const deltas = [deltaOf(created("workspace:/a", file("1")))];
  const report = runReport({ run: null, deltas, observations: [], subGoals: [] });
  expect(reportText({ report, deltas })).not.toContain("\u001b");
  expect(reportText({ report, deltas, colour: true })).toContain("\u001b[32m+\u001b[0m");
});

test("a sub-goal without a score is for a judge, and held by nobody", () => {
  const subGoals = [
    {
      subGoal: { name: "kind", judged: "It is kind.", needs: [], polarity: "existential" as const },
    },
  ];
  const { subGoals: told } = runReport({ run: null, deltas: [], observations: [], subGoals });
  expect(told).toMatchObject([
    { held: null, verdict: { value: "undetermined", gaps: [{ code: "not_judged" }] } },
  ]);
  expect(textOf([], { subGoals })).toEqual([
    "  to judge      kind",
    "  0 of 1 sub-goal as expected, 1 to judge",
  ]);
});

test("--json holds no content of a file", () => {
  const deltas = [deltaOf(created("workspace:/a", file("top secret")))];
  const report = runReport({ run: null, deltas, observations: [], subGoals: [] });
  expect(JSON.stringify(report)).not.toContain("top secret");
  expect(report.delta[0]?.after?.sha256).toMatch(/^sha256:/);
});
