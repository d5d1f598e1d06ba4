import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { EXIT, exitOfSubGoals, exitUnder } from "../../src/cli/exit.ts";
import { all, any, not, type Verdict } from "../../src/core/verdict.ts";
import { intervalOf, intervalText } from "../../src/report/bounds.ts";
import { githubAnnotations, githubSummary } from "../../src/report/github.ts";
import { junitXml } from "../../src/report/junit.ts";
import { sarifLog } from "../../src/report/sarif.ts";
import { junitFaults } from "../support/report-forms.ts";
import { groupOf, subGoalOf, verdictOf } from "../worlds/outcomes.ts";

type Value = Verdict["value"];

interface Case {
  readonly id: string;
  readonly input: {
    readonly verdicts: Readonly<Record<Value, number>>;
    readonly checks: readonly { readonly id: string; readonly verdict: Value }[];
    readonly expressions: readonly string[];
  };
  readonly want: Readonly<Record<string, unknown>>;
}

const cases: readonly Case[] = JSON.parse(
  readFileSync(new URL("reports.json", import.meta.url), "utf8"),
);

const HELD: Readonly<Record<Value, boolean | null>> = {
  upheld: true,
  refuted: false,
  undetermined: null,
};

function heldIn({ input: { verdicts } }: Case): readonly (boolean | null)[] {
  const values: readonly Value[] = ["upheld", "refuted", "undetermined"];
  return values.flatMap((value) => Array.from({ length: verdicts[value] }, () => HELD[value]));
}

/** "all(upheld, undetermined)". */
function valueOf(expression: string): Value {
  const [, name, given = ""] = /^(\w+)\((.*)\)$/.exec(expression) ?? [];
  const verdicts = given.split(", ").map((each) => verdictOf(each as Value)); // as the cases say
  const [only] = verdicts;
  if (name === "all") return all(verdicts).value;
  if (name === "any") return any(verdicts).value;
  if (name === "not" && only !== undefined) return not(only).value;
  throw new Error(`${expression} is no expression`);
}

const examined: Readonly<Record<string, (given: Case) => void | Promise<void>>> = {
  "reports-01": (given) => {
    const { lower, upper, decided, total } = given.want;
    expect(intervalOf(heldIn(given))).toEqual({ lower, upper, decided, total });
    expect(intervalText(intervalOf(heldIn(given)))).toBe("60 % to 90 %");
  },
  "reports-02": async ({ input: { checks }, want }) => {
    const groups = [groupOf(checks.map(({ id, verdict }) => subGoalOf(id, verdictOf(verdict))))];
    const xml = junitXml(groups);
    expect(await junitFaults(xml)).toEqual([]);
    expect(want["junit"]).toMatchObject({ tests: 3, failures: 1 });
    expect(xml).toContain('tests="3" failures="1" errors="0" skipped="1"');
    expect(/<testcase name="c"[^>]*><(\w+)/.exec(xml)?.[1]).toBe("skipped");
    const texts = [xml, githubSummary(groups), githubAnnotations(groups)];
    expect(want["must_occur"]).toEqual(["listing_failed"]);
    for (const text of [...texts, JSON.stringify(sarifLog(groups, "0.1.0"))])
      expect(text).toContain("listing_failed");
    const codes = [
      [true, true],
      [true, false, null],
      [true, null],
    ].map((held) => exitOfSubGoals(held, undefined));
    expect(codes).toEqual([EXIT.asExpected, EXIT.notAsExpected, EXIT.undetermined]);
  },
  "reports-03": (given) => {
    const held = heldIn(given);
    expect(intervalOf(held)).toBe(null);
    const groups = [groupOf([])];
    const texts = [intervalText(intervalOf(held)), junitXml(groups), githubSummary(groups)];
    for (const text of texts) {
      expect(text).toContain("nothing was asked");
      // The version of XML is no score.
      const told = text.replace(/^<\?xml.*\?>/, "");
      for (const never of ["1.0", "100%", "100 %", "0%", "0 %", "NaN", "null"])
        expect(told).not.toContain(never);
    }
    expect(exitUnder("pass", EXIT.undetermined, [])).toBe(EXIT.undetermined);
  },
  "reports-04": ({ input: { expressions }, want }) => {
    expect(expressions.map(valueOf)).toEqual(want["results"]);
  },
};

describe("reports.json", () => {
  test("each case is examined", () => {
    expect(Object.keys(examined)).toEqual(cases.map(({ id }) => id));
  });

  test.each(cases)("$id", (given) => examined[given.id]?.(given));
});
