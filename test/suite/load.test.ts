import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { CLAIM_MISSING } from "../../src/suite/catalogue.ts";
import { loadSuite } from "../../src/suite/load.ts";

/** A suite on disk. */
class SuiteFolder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "upheld-suite-"));

  constructor(files: Readonly<Record<string, string>>) {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.path, name)), { recursive: true });
      writeFileSync(join(this.path, name), text);
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

const said = 'condition: { kind: said, matcher: { kind: contains, value: "no" } }';
const scenario = (names: readonly string[]): string =>
  JSON.stringify({ name: "x", instruction: "Do it.", sub_goals: names, extra: 1 });
const catalogue = (goals: readonly object[]): string => JSON.stringify({ sub_goals: goals });
const CHECK = "def check(world, calls):\n    return None\n";

const faulty: readonly { what: string; files: Record<string, string>; want: RegExp[] }[] = [
  { what: "no scenario at all", files: { "readme.txt": "x" }, want: [/no scenario/] },
  {
    what: "zero sub-goals",
    files: { "scenarios/a/scenario.yaml": "subGoals: []" },
    want: [/scenarios\/a\/scenario\.yaml:1:1: subGoals: .*nothing asked is no pass/],
  },
  {
    what: "faults of several files, all told",
    files: {
      "scenarios/a/scenario.yaml": "subGoals:\n  - name: ../x\n    judged: y",
      "scenarios/b/scenario.yaml": "subGoals:\n  - unknown-goal\n  - other-goal",
      "scenarios/c/note.txt": "",
    },
    want: [
      /a\/scenario\.yaml:2:5: subGoals\.0\.name: expected a plain name/,
      /scenarios\/b: unknown-goal: nothing decides it/,
      /scenarios\/b: other-goal: nothing decides it/,
      /scenarios\/c: scenario\.yaml is missing/,
    ],
  },
  {
    what: "two codes for one sub-goal",
    files: {
      "scenarios/a/scenario.yaml": `subGoals:\n  - name: g\n    ${said}`,
      "scenarios/a/checks/g.mjs": "export const check = () => null;",
    },
    want: [/g: a condition and a file in checks\/ both decide it/],
  },
  {
    what: "an empty check file, which is no judged sub-goal",
    files: { "scenarios/a/scenario.json": scenario(["g"]), "scenarios/a/checks/g.py": " \n" },
    want: [/checks\/g\.py is empty/],
  },
  {
    what: "code in the catalogue whose file is missing",
    files: {
      "sub_goals.json": catalogue([{ name: "g", check: CHECK }]),
      "scenarios/a/scenario.json": scenario(["g"]),
    },
    want: [/g: sub_goals\.json says that code decides it, and checks\/g is missing/],
  },
  {
    what: "a name that would leave the folder",
    files: { "scenarios/a/scenario.json": scenario(["../../evil"]) },
    want: [/sub_goals: expected plain file names/],
  },
  {
    what: "a condition about a root that the scenario does not have",
    files: {
      "scenarios/a/scenario.yaml":
        "subGoals:\n  - name: g\n    condition: { kind: rows_changed, uri: 'shop:/public/orders' }",
    },
    want: [/scenarios\/a: .*shop/],
  },
];

describe("a suite is refused for", () => {
  test.each(faulty)("$what", async ({ files, want }) => {
    using folder = new SuiteFolder(files);
    const error = await loadSuite(folder.path).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "suite_invalid" });
    for (const each of want) expect(String(error)).toMatch(each);
    expect(String(error)).not.toContain(folder.path);
  });
});

describe("the folders of another harness", () => {
  test("a coded goal stays coded where the catalogue also calls it judged; a judged one gets its text back", async () => {
    using folder = new SuiteFolder({
      "sub_goals.json": catalogue([
        { name: "both", what: "Both", judged: "never asked", check: CHECK },
        { name: "polite", what: "Is polite", judged: "The agent is polite." },
      ]),
      "scenarios/a/scenario.json": scenario(["both", "polite"]),
      "scenarios/a/checks/both.py": CHECK,
    });
    const { scenarios } = await loadSuite(folder.path);
    expect(scenarios[0]?.subGoals).toMatchObject([
      { name: "both", what: "Both", decision: { by: "check", file: { language: "python" } } },
      {
        name: "polite",
        what: "Is polite",
        decision: { by: "judge", judged: "The agent is polite." },
      },
    ]);
  });

  test("without a catalogue the marker stays, and is said", async () => {
    using folder = new SuiteFolder({ "scenarios/a/scenario.json": scenario(["polite"]) });
    const { scenarios, notes } = await loadSuite(folder.path);
    expect(scenarios[0]?.subGoals[0]?.decision).toMatchObject({ judged: CLAIM_MISSING });
    expect(notes).toEqual([
      "scenarios/a: polite: neither checks/ nor sub_goals.json says what it claims",
    ]);
  });
});
