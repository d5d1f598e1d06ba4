import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { shellScenario, suitePlace, toldSuite, WRITTEN } from "../worlds/suite-place.ts";

const LATE = 120_000;

const check = (body: string): string => `export function check(world, calls) { ${body} }`;

/** One scenario a row. `checks/g.mjs` is the row's `check`; without `yaml`, the agent does nothing and `g` decides. */
const rows: readonly {
  what: string;
  yaml?: string;
  check?: string;
  files?: Record<string, string>;
  status: string;
  exit: number;
  domain?: string;
  gap?: string;
  says?: RegExp;
}[] = [
  {
    what: "a condition holds",
    yaml: shellScenario("echo done > out.txt", `[${WRITTEN}]`),
    status: "passed",
    exit: 0,
  },
  {
    what: "a condition does not hold",
    yaml: shellScenario("true", `[${WRITTEN}]`),
    status: "failed",
    exit: 1,
  },
  {
    what: "a check holds over files, changes, the reply and calls",
    yaml: shellScenario(
      'echo done > out.txt; echo said; echo \'{"name":"pay","arguments":{"n":1},"result":null,"outcome":"ok"}\' > "$UPHELD_CALLS"',
      "[g]",
    ),
    check: check(`
      const file = world.file("out.txt");
      const [change] = world.changes;
      const [call] = calls;
      return file.text === "done\\n" && change.uri === "workspace:/out.txt" && change.change === "created"
        && world.reply.includes("said") && call.name === "pay" && call.arguments.n === 1 && call.ok ? "  " : "no";`),
    status: "passed",
    exit: 0,
  },
  {
    what: "a check sees what was there before the run",
    check: check('return world.file("old.txt").text === "old" && world.changes.length === 0;'),
    files: { "world/old.txt": "old" },
    status: "passed",
    exit: 0,
  },
  {
    what: "a check says why not",
    check: check('return "order 7 is gone"'),
    status: "failed",
    exit: 1,
    says: /order 7 is gone/,
  },
  {
    what: "a check that looks at calls which nobody recorded decides nothing, whatever it says",
    check: check('return calls.length > 0 ? "called" : null'),
    status: "undecided",
    exit: 2,
    gap: "evidence_kind_missing",
  },
  ...["throw new Error('ours')", "return 7", "return undefined", "process.exit(0)", "}}"].map(
    (body) => ({
      what: `a broken check is not the agent's fault: ${body}`,
      check: check(body),
      status: "errored",
      exit: 5,
      domain: "grading",
      gap: "check_broken",
    }),
  ),
  {
    what: "a file without its function is a broken check",
    check: "export const other = 1;",
    status: "errored",
    exit: 5,
    domain: "grading",
    gap: "check_broken",
  },
  {
    what: "a broken check beside a sub-goal that does not hold: a no is a no",
    yaml: shellScenario("true", `[${WRITTEN}, g]`),
    check: check("throw new Error('ours')"),
    status: "failed",
    exit: 1,
  },
  {
    what: "what is left to a judge is no pass",
    yaml: shellScenario("echo done > out.txt", `[${WRITTEN}, { name: g, judged: It was kind. }]`),
    status: "undecided",
    exit: 2,
    gap: "not_judged",
  },
  {
    what: "an agent that cannot be started",
    yaml: `agent: { command: [no-such-command] }\nsubGoals: [${WRITTEN}]`,
    status: "errored",
    exit: 4,
    domain: "agent",
  },
  {
    what: "an agent that does not end in its time",
    yaml: `timeoutSeconds: 1\nagent: { command: [sleep, "60"] }\nsubGoals: [${WRITTEN}]`,
    status: "errored",
    exit: 4,
    domain: "agent",
  },
  {
    what: "a setup that fails is tried again, and is the environment's failure",
    yaml: shellScenario(
      "true",
      `[${WRITTEN}]`,
      'world: { setup: [sh, -c, "echo no disk >&2; exit 3"] }',
    ),
    status: "errored",
    exit: 5,
    domain: "environment",
    says: /no disk/,
  },
  {
    what: "a world that cannot be had is tried again, and is the environment's failure",
    yaml: shellScenario(
      "true",
      `[${WRITTEN}]`,
      "world: { databases: { shop: env:NO_SUCH_VARIABLE } }",
    ),
    status: "errored",
    exit: 5,
    domain: "environment",
    says: /NO_SUCH_VARIABLE is not set/,
  },
  {
    what: "a scenario that is skipped is no pass",
    yaml: `skip: waits for the new API\n${shellScenario("true", `[${WRITTEN}]`)}`,
    status: "skipped",
    exit: 2,
    says: /waits for the new API/,
  },
];

describe("a scenario has its status and its exit code", () => {
  test.each(rows)("$what", { timeout: LATE }, async (row) => {
    using place = suitePlace({
      "scenarios/s/scenario.yaml": row.yaml ?? shellScenario("true", "[g]"),
      ...(row.check === undefined ? {} : { "scenarios/s/checks/g.mjs": row.check }),
      ...Object.fromEntries(
        Object.entries(row.files ?? {}).map(([name, text]) => [`scenarios/s/${name}`, text]),
      ),
    });
    const printed = await place.upheld(["test", "--json"]);
    const { scenarios, passed } = toldSuite(printed);
    const [only] = scenarios;
    expect([only?.status, printed.code, only?.failure?.domain], printed.stdout).toEqual([
      row.status,
      row.exit,
      row.domain,
    ]);
    if (row.status !== "passed") expect(passed?.lower ?? 0).toBe(0);
    // Only what a fresh world can mend is tried again.
    const tries = row.status === "skipped" ? 0 : row.domain === "environment" ? 2 : 1;
    expect(only?.attempts).toBe(tries);
    const gaps = only?.subGoals.flatMap(({ verdict }) => verdict.gaps ?? []) ?? [];
    if (row.gap !== undefined) expect(gaps.map(({ code }) => code)).toContain(row.gap);
    if (row.says !== undefined) expect(printed.stdout).toMatch(row.says);
    // No world is left behind.
    if (tries > 0) expect(readdirSync(join(place.state, "runs"))).toEqual([]);
  });
});

describe("upheld test", () => {
  test(
    "gives several at a time a world of their own, and tells shares as intervals",
    async () => {
      const goals = `[${WRITTEN}, { name: kind, judged: It was kind }]`;
      // A file of another run would be seen.
      const alone = shellScenario('[ "$(ls)" = own.txt ] && echo done > out.txt', goals);
      using place = suitePlace({
        ...Object.fromEntries(
          ["a", "b", "c", "d"].flatMap((name) => [
            [`scenarios/${name}/scenario.yaml`, alone],
            [`scenarios/${name}/world/own.txt`, name],
          ]),
        ),
        "scenarios/e/scenario.yaml": shellScenario("true", `[${WRITTEN}]`),
        "scenarios/f/scenario.yaml": `skip: later\n${shellScenario("true", `[${WRITTEN}]`)}`,
      });
      const printed = await place.upheld(["test", "--json", "--parallel", "3"]);
      const { scenarios, passed, counts } = toldSuite(printed);
      expect(scenarios.map(({ name, status }) => `${name} ${status}`)).toEqual([
        "a undecided",
        "b undecided",
        "c undecided",
        "d undecided",
        "e failed",
        "f skipped",
      ]);
      expect(passed).toEqual({ lower: 0, upper: 0.8, decided: 1, total: 5 });
      expect(counts).toEqual({ passed: 0, failed: 1, errored: 0, skipped: 1, undecided: 4 });
      expect(printed.code).toBe(1);
      // Each end is told as it comes.
      for (const name of ["a", "b", "c", "d", "e", "f"])
        expect(printed.stderr).toMatch(new RegExp(`^ {2}\\w+ +${name} `, "m"));
    },
    LATE,
  );

  test(
    "tries again in a fresh world where the infrastructure failed, and the second try counts",
    async () => {
      using place = suitePlace({
        "scenarios/s/scenario.yaml": shellScenario(
          "[ ! -e left ] && echo done > out.txt",
          `[${WRITTEN}]`,
          'world: { setup: [sh, -c, "touch left; [ -e {suite}/tried ] || { touch {suite}/tried; exit 1; }; rm left"], teardown: [sh, -c, "echo x >> {suite}/torn-down"] }',
        ),
      });
      const printed = await place.upheld(["test", "--json"]);
      const [only] = toldSuite(printed).scenarios;
      expect([only?.status, only?.attempts, printed.code]).toEqual(["passed", 2, 0]);
      expect(existsSync(join(place.root, "torn-down"))).toBe(true);
    },
    LATE,
  );

  test(
    "what a setup sets reaches the agent; secrets reach neither output nor error",
    async () => {
      using place = suitePlace({
        "scenarios/s/scenario.yaml": shellScenario(
          'echo "$NAME" > out.txt; echo "$TOKEN"',
          '[{ name: said, condition: { kind: content_written, uri: "workspace:/out.txt", matcher: { kind: contains, value: done } } }, g]',
          'world: { setup: [sh, -c, "echo NAME=done >> $UPHELD_ENV"] }',
        ),
        "scenarios/s/checks/g.mjs": check("return `the reply is ${world.reply}`"),
        "scenarios/t/scenario.yaml": shellScenario(
          "true",
          `[${WRITTEN}]`,
          'world: { setup: [sh, -c, "echo $TOKEN >&2; exit 1"] }',
        ),
      });
      const TOKEN = "correct-horse-battery";
      for (const form of [["--json"], []]) {
        const printed = await place.upheld(["test", "--secret", "env:TOKEN", ...form], { TOKEN });
        expect(printed.code, printed.stdout).toBe(1);
        expect(printed.stdout).toContain("the reply is <redacted:");
        expect(printed.stdout + printed.stderr).not.toContain(TOKEN);
      }
    },
    LATE,
  );

  test.each([
    { what: "a scenario that nobody knows", args: ["--scenario", "x"], says: /there are: s/ },
    { what: "no agent at all", args: [], says: /scenarios\/s: no agent; give one/ },
    { what: "two agents", args: ["--endpoint", "http://x", "--", "sh"], says: /not both/ },
    { what: "a count that is none", args: ["--parallel", "0"], says: /whole number from 1/ },
  ])("refuses $what before anything runs", { timeout: LATE }, async ({ args, says }) => {
    using place = suitePlace({ "scenarios/s/scenario.yaml": `subGoals: [${WRITTEN}]` });
    const printed = await place.upheld(["test", ...args]);
    expect(printed.code).toBe(64);
    expect(printed.stderr).toMatch(says);
    expect(printed.stdout).toBe("");
  });

  test(
    "a judged sub-goal without a judge is to judge in the text, and no line calls it passed",
    async () => {
      using place = suitePlace({
        "scenarios/s/scenario.yaml": shellScenario("true", "[{ name: g, judged: It was kind. }]"),
      });
      const { stdout, stderr, code } = await place.upheld(["test"]);
      expect(code).toBe(2);
      expect(stdout).toMatch(/undecided +s/);
      expect(stdout).toMatch(/to judge +g/);
      expect(stdout).toMatch(/passed: 0 % to 100 % of 1, 1 undecided/);
      expect(stdout + stderr).not.toMatch(/^ *(passed|upheld) +[sg]\b/m);
    },
    LATE,
  );
});
