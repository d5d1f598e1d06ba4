import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { asOrdinaryUser, ordinaryUserMissing, scratchFolder } from "../worlds/ordinary-user.ts";

const MAIN = join(import.meta.dirname, "../../dist/cli/main.js");
const PERFORM = join(import.meta.dirname, "../worlds/perform-steps.mjs");

interface Case {
  readonly id: string;
  readonly kind: string;
  readonly needs?: string;
  readonly baseline?: "none";
  readonly world: readonly Readonly<Record<string, unknown>>[];
  readonly run: readonly Readonly<Record<string, unknown>>[];
  readonly limits?: Readonly<Record<string, number>>;
  readonly question: {
    readonly type: "content_written" | "changed_only";
    readonly uri?: string;
    readonly match?: string;
    readonly contains?: string;
    readonly equals?: string;
    readonly lineEndings?: string;
    readonly allow?: readonly string[];
  };
  readonly want: {
    readonly verdict: string;
    readonly accept?: readonly string[];
    readonly gaps?: readonly string[];
    readonly not_gaps?: readonly string[];
    readonly change?: string;
    readonly witness?: string;
    readonly must_not_occur?: readonly string[];
  };
}

interface Outcome {
  readonly subGoals: readonly {
    readonly held: boolean | null;
    readonly method: string;
    readonly rationale: string;
    readonly verdict: {
      readonly value: string;
      readonly witnesses?: readonly { uri: string; change?: string }[];
      readonly counterexamples?: readonly { uri: string; change?: string }[];
      readonly gaps?: readonly {
        code: string;
        location: string;
        detail?: string;
        remedy: string;
      }[];
    };
  }[];
  readonly delta: readonly { uri: string; change: string }[];
}

const read = (name: string): Case[] =>
  JSON.parse(readFileSync(join(import.meta.dirname, `../cases/${name}.json`), "utf8"));

/** The cases of the other surfaces have a test of their own. */
const isAboutFiles = (each: Case): boolean =>
  each.question.type === "changed_only" || (each.question.uri?.startsWith("file:") ?? false);

const CASES = [...read("files"), ...read("attribution"), ...read("text")].filter(isAboutFiles);

function conditionOf({ question }: Case): unknown {
  if (question.type === "changed_only") return { kind: "changed_only", allow: question.allow };
  const value = question.contains ?? question.equals;
  const kind = question.contains === undefined ? "equals" : "contains";
  const lines = question.lineEndings === undefined ? {} : { lineEndings: question.lineEndings };
  const { uri, match } = question;
  return { kind: "content_written", uri, match, matcher: { kind, value, ...lines } };
}

function perform(folder: string, root: string, name: string, steps: unknown): readonly string[] {
  const file = join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify(steps));
  const command = [process.execPath, PERFORM, file];
  if (name === "run") return command;
  const [program = "", ...args] = asOrdinaryUser(command);
  const done = spawnSync(program, args, { cwd: root, encoding: "utf8" });
  expect(done.status, done.stderr).toBe(0);
  return command;
}

function runCase(each: Case, extra: readonly string[]): { outcome: Outcome; everything: string } {
  using scratch = scratchFolder();
  const root = join(scratch.path, "root");
  const [program = "", ...args] = asOrdinaryUser(["mkdir", root]);
  spawnSync(program, args);
  mkdirSync(join(scratch.path, "state"));
  perform(scratch.path, root, "world", each.world);
  const claims = join(scratch.path, "claims.json");
  writeFileSync(
    claims,
    JSON.stringify({ subGoals: [{ name: "question", condition: conditionOf(each) }] }),
  );
  const bundle = join(scratch.path, "run.upheld");
  const limits = Object.entries(each.limits ?? {}).flatMap(([name, n]) => [
    "--limit",
    `${name}=${n}`,
  ]);
  const upheld = [
    process.execPath,
    MAIN,
    "run",
    "--root",
    "file=.",
    "--expect",
    claims,
    "--json",
    "--save",
    bundle,
  ];
  const agent = perform(scratch.path, root, "run", each.run);
  const [file = "", ...rest] = asOrdinaryUser([...upheld, ...limits, ...extra, "--", ...agent]);
  const env = {
    ...process.env,
    UPHELD_STATE_DIR: join(scratch.path, "own-state"),
    HOME: scratch.path,
  };
  const done = spawnSync(file, rest, { cwd: root, encoding: "utf8", env });
  expect(done.stdout, done.stderr).not.toBe("");
  const sealed = readFileSync(bundle, "latin1");
  return { outcome: JSON.parse(done.stdout), everything: done.stdout + done.stderr + sealed };
}

/** The location that a case's wanted change speaks of. */
function placeOf(each: Case, { subGoals: [goal] }: Outcome): string | undefined {
  const { question } = each;
  if (question.match === "exact") return question.uri;
  const shown = goal === undefined ? [] : shownBy(goal);
  return shown[0]?.uri ?? `file:/${String(each.world[0]?.["write"])}`;
}

type Goal = Outcome["subGoals"][number];

function check(each: Case, extra: readonly string[]): void {
  const { outcome, everything } = runCase(each, extra);
  const [goal] = outcome.subGoals;
  if (goal === undefined) throw new Error(`no sub-goal was decided: ${everything}`);
  const { want } = each;
  expect([want.verdict, ...(want.accept ?? [])], goal.rationale).toContain(goal.verdict.value);
  checkGaps(each, goal);
  for (const text of want.must_not_occur ?? []) expect(everything).not.toContain(text);
  if (want.witness !== undefined)
    expect(shownBy(goal).map(({ uri }) => uri)).toContain(want.witness);
  if (want.change !== undefined) checkChange(each, outcome, want.change);
}

function checkGaps({ want }: Case, { verdict }: Goal): void {
  const gaps = verdict.gaps ?? [];
  const codes = gaps.map(({ code }) => code);
  if (verdict.value === "undetermined")
    expect(codes).toEqual(expect.arrayContaining([...(want.gaps ?? [])]));
  for (const gap of gaps) {
    expect(gap.location).not.toBe("");
    expect(gap.remedy).not.toBe("");
  }
  for (const code of want.not_gaps ?? []) expect(codes).not.toContain(code);
}

function checkChange(each: Case, outcome: Outcome, wanted: string): void {
  const place = placeOf(each, outcome)?.normalize("NFC");
  const entry = outcome.delta.find(({ uri }) => uri.normalize("NFC") === place);
  expect(entry?.change ?? "unchanged", place).toBe(wanted);
}

function shownBy({ verdict }: Goal): readonly { readonly uri: string }[] {
  return [...(verdict.witnesses ?? []), ...(verdict.counterexamples ?? [])];
}

describe("the cases of files, attribution and text, through the command line", () => {
  for (const each of CASES) {
    test(`${each.id}: ${each.kind}`, { timeout: 60_000 }, (context) => {
      context.skip(ordinaryUserMissing !== undefined, ordinaryUserMissing);
      check(each, each.baseline === "none" ? ["--attribution", "window"] : []);
    });
  }
});

describe("the same in an overlay", () => {
  for (const each of CASES.filter(({ baseline }) => baseline !== "none")) {
    test(`${each.id}: ${each.kind}`, { timeout: 60_000 }, (context) => {
      context.skip(ordinaryUserMissing !== undefined, ordinaryUserMissing);
      check(each, ["--isolate"]);
    });
  }
});

test("text-04 with exact line endings is refuted", { timeout: 60_000 }, (context) => {
  context.skip(ordinaryUserMissing !== undefined, ordinaryUserMissing);
  const found = CASES.find(({ id }) => id === "text-04");
  expect(found).toBeDefined();
  if (found === undefined) return;
  const question = { ...found.question, lineEndings: "exact" };
  check({ ...found, question, want: { verdict: "refuted", gaps: [] } }, []);
});
