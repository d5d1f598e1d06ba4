import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { MAIN, Workplace } from "../cli/upheld.ts";

const PERFORM = join(import.meta.dirname, "../worlds/perform-steps.mjs");

interface Case {
  readonly id: string;
  readonly kind: string;
  readonly world: readonly unknown[];
  readonly run: readonly Readonly<Record<string, unknown>>[];
  readonly calls_file?: "absent";
  readonly question: {
    readonly type: "tools_called" | "content_written";
    readonly name?: string;
    readonly arguments?: unknown;
    readonly outcome?: string;
    readonly count?: number;
    readonly uri?: string;
    readonly contains?: string;
  };
  readonly want: {
    readonly verdict: string;
    readonly gaps?: readonly string[];
    readonly change?: string;
  };
}

interface Report {
  readonly subGoals: readonly [
    {
      readonly rationale: string;
      readonly verdict: { readonly value: string; readonly gaps?: readonly { code: string }[] };
    },
  ];
  readonly delta: readonly { readonly uri: string; readonly change: string }[];
  readonly calls: null | {
    readonly total: number;
    readonly list: readonly {
      readonly name: string;
      readonly outcome: string;
      readonly doubt: string | null;
      readonly effects: readonly unknown[];
    }[];
  };
}

const CASES: readonly Case[] = JSON.parse(
  readFileSync(join(import.meta.dirname, "tool-calls.json"), "utf8"),
);

function conditionOf({ question: { type, uri, contains, ...requirement } }: Case): unknown {
  return type === "tools_called"
    ? { kind: type, requirements: [requirement] }
    : { kind: type, uri, match: "exact", matcher: { kind: "contains", value: contains } };
}

function runCase(each: Case): { report: Report; stored: Report; text: string } {
  using place = new Workplace();
  const perform = (steps: unknown): readonly string[] => {
    const file = place.write(`steps-${JSON.stringify(steps).length}.json`, JSON.stringify(steps));
    return [process.execPath, PERFORM, file];
  };
  const [program = "", ...args] = perform(each.world);
  expect(spawnSync(program, args, { cwd: place.root }).status).toBe(0);
  const claims = place.write(
    "claims.json",
    JSON.stringify({ subGoals: [{ name: "question", condition: conditionOf(each) }] }),
  );
  const calls = join(place.path, "calls.jsonl");
  const sealed = join(place.path, "run.upheld");
  const upheld = (more: readonly string[]): string => {
    const done = spawnSync(process.execPath, [MAIN, ...more], {
      cwd: place.root,
      encoding: "utf8",
      env: place.environment,
    });
    expect(done.stdout, done.stderr).not.toBe("");
    return done.stdout;
  };
  const run = ["run", "--root", "file=.", "--expect", claims, "--calls", calls];
  const agent = ["--", ...perform(each.run)];
  const report = JSON.parse(upheld([...run, "--json", "--save", sealed, ...agent]));
  expect(existsSync(calls)).toBe(each.calls_file !== "absent");
  const stored = JSON.parse(upheld(["score", sealed, "--expect", claims, "--json"]));
  using again = new Workplace();
  const second = again.path;
  const text = spawnSync(
    process.execPath,
    [MAIN, "run", "--root", "file=.", "--calls", join(second, "calls.jsonl"), ...agent],
    { cwd: again.root, encoding: "utf8", env: again.environment },
  ).stdout;
  return { report, stored, text };
}

describe("the cases of tool calls, through the command line", () => {
  for (const each of CASES)
    test(`${each.id}: ${each.kind}`, { timeout: 60_000 }, () => {
      const { report, stored } = runCase(each);
      for (const { subGoals } of [report, stored]) {
        const [{ verdict, rationale }] = subGoals;
        expect(verdict.value, rationale).toBe(each.want.verdict);
        const codes = (verdict.gaps ?? []).map(({ code }) => code);
        if (each.want.gaps !== undefined) expect(codes).toEqual(each.want.gaps);
        if (each.question.type === "tools_called" && codes.length === 0)
          expect(rationale).toContain("Provenance: calls-file");
      }
      if (each.want.change !== undefined)
        expect(report.delta).toContainEqual(
          expect.objectContaining({ uri: each.question.uri, change: each.want.change }),
        );
    });
});

test("a refused call is shown, as an attempt", { timeout: 60_000 }, () => {
  const found = CASES.find(({ id }) => id === "tool-calls-01");
  const { report, text } = runCase(found!);
  expect(report.subGoals[0].rationale).toContain(
    "Called otherwise: calls:/1 cancel_order refused",
  );
  expect(text).toContain("1 tool call: 1 refused");
  expect(text).toMatch(/refused +cancel_order +A-7$/m);
});

test("an effect in spite of a failure stands beside the call", { timeout: 60_000 }, () => {
  const found = CASES.find(({ id }) => id === "tool-calls-04");
  const { report, text } = runCase(found!);
  expect(report.calls?.list).toEqual([
    expect.objectContaining({
      name: "write_file",
      outcome: "error",
      doubt: "changed_all_the_same",
      effects: [{ uri: "file:/data/x.txt", change: "created" }],
    }),
  ]);
  expect(text).toMatch(/error +write_file +data\/x\.txt +created file:\/data\/x\.txt, all the same/);
});

test("no record of calls is not a record of none", { timeout: 60_000 }, () => {
  const { report, text } = runCase(CASES.find(({ id }) => id === "tool-calls-03")!);
  expect(report).not.toHaveProperty("calls");
  expect(text).not.toContain("tool call");
});
