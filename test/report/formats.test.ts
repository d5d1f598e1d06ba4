import { assert, array, constantFrom, property, record, string } from "fast-check";
import { describe, expect, test } from "vitest";
import { gap } from "../../src/core/gap.ts";
import { RunId } from "../../src/core/ids.ts";
import { undetermined, type Verdict } from "../../src/core/verdict.ts";
import { githubAnnotations, githubSummary } from "../../src/report/github.ts";
import { junitXml } from "../../src/report/junit.ts";
import { outcomeOf, reasonOf, type Outcome, type ReportedGroup } from "../../src/report/outcome.ts";
import { sarifLog } from "../../src/report/sarif.ts";
import { junitFaults, SarifLog } from "../support/report-forms.ts";
import { groupOf, subGoalOf, verdictOf } from "../worlds/outcomes.ts";

const judged = { decidedBy: "judge", method: "judge" } as const;
const notJudged = undetermined([gap("not_judged", "kind")]);
const broken = undetermined([gap("check_broken", "checks/a.ts", { detail: "TypeError" })]);

const held = subGoalOf("held", verdictOf("upheld"));
const notHeld = subGoalOf("not-held", verdictOf("refuted"));
const open = subGoalOf("open", verdictOf("undetermined"));
const leaked = subGoalOf("leaked", verdictOf("refuted"), { expect: "refuted", held: true });
const toJudge = subGoalOf("to-judge", notJudged, judged);
const brokenCheck = subGoalOf("broken-check", broken);
const failedJudge = subGoalOf("failed-judge", notJudged, { decidedBy: "judge", method: "gpt" });

/** What a reader of each format is told of one sub-goal. */
const OUTCOMES: readonly {
  readonly goal: typeof held;
  readonly outcome: Outcome;
  readonly junit: string | null;
  readonly sarif: string;
  readonly annotation: string | null;
}[] = [
  { goal: held, outcome: "held", junit: null, sarif: "pass", annotation: null },
  { goal: leaked, outcome: "held", junit: null, sarif: "pass", annotation: null },
  { goal: notHeld, outcome: "not_held", junit: "failure", sarif: "fail", annotation: "error" },
  { goal: open, outcome: "undetermined", junit: "skipped", sarif: "open", annotation: "warning" },
  {
    goal: toJudge,
    outcome: "undetermined",
    junit: "skipped",
    sarif: "open",
    annotation: "warning",
  },
  { goal: brokenCheck, outcome: "broken", junit: "error", sarif: "open", annotation: "error" },
  { goal: failedJudge, outcome: "broken", junit: "error", sarif: "open", annotation: "error" },
];

const log = (groups: readonly ReportedGroup[]) => {
  const written = JSON.parse(JSON.stringify(sarifLog(groups, "0.1.0")));
  const [run] = SarifLog.parse(written).runs;
  if (run === undefined) throw new Error("a log has a run");
  return run;
};

describe.each(OUTCOMES)("$goal.name is $outcome", ({ goal, outcome, ...as }) => {
  const groups = [groupOf([goal])];

  test("and is told so in every format", () => {
    expect(outcomeOf(goal)).toBe(outcome);
    const tag = /<testcase [^>]*?(?:\/>|><(\w+) )/.exec(junitXml(groups));
    expect(tag?.[1] ?? null).toBe(as.junit);
    expect(log(groups).results[0]?.kind).toBe(as.sarif);
    expect(/^::(\w+) /.exec(githubAnnotations(groups))?.[1] ?? null).toBe(as.annotation);
  });

  test("with its reason", () => {
    const gaps = goal.verdict.value === "undetermined" ? goal.verdict.gaps : [];
    for (const { code, remedy } of gaps)
      for (const told of [
        junitXml(groups),
        JSON.stringify(log(groups)),
        githubAnnotations(groups),
        githubSummary(groups),
      ]) {
        expect(told).toContain(code);
        expect(told).toContain(remedy.slice(0, 12));
      }
  });
});

describe("junit", () => {
  const run = {
    runId: RunId.parse("run-1"),
    attemptId: "attempt-1",
    window: ["2026-11-30T10:00:00.000000000Z", "2026-11-30T10:00:41.000000000Z"],
    labels: {},
  } as unknown as NonNullable<ReportedGroup["run"]>; // ids are not looked at here
  const all = groupOf(
    OUTCOMES.map(({ goal }) => goal),
    { run, durationMs: 41_250 },
  );
  const agent = { domain: "agent", code: "agent_timed_out", message: "ended after 10 s" };
  const groups = [
    all,
    groupOf([open], { name: "timed-out", failure: agent }),
    groupOf([], { name: "later", skipped: "needs a browser" }),
    groupOf([], { name: "empty" }),
  ];

  test("is of the common form, and counts what it holds", async () => {
    const xml = junitXml(groups);
    expect(await junitFaults(xml)).toEqual([]);
    expect(xml).toContain(
      '<testsuites name="upheld" tests="11" failures="1" errors="3" skipped="5" time="41.250">',
    );
    for (const tag of ["testcase", "failure", "error", "skipped"] as const) {
      const elements = xml.match(new RegExp(`<${tag} `, "g"))?.length;
      const counts = { testcase: 11, failure: 1, error: 3, skipped: 5 };
      expect(elements, tag).toBe(counts[tag]);
    }
    expect(xml).toContain('timestamp="2026-11-30T10:00:00"');
    expect(xml).toContain('<error message="ended after 10 s" type="agent_timed_out">');
    expect(xml).toContain('<skipped message="nothing was asked"/>');
    expect(xml).toContain('<property name="upheld.held" value="28 % to 86 %"/>');
    expect(xml).toContain('<property name="upheld.held" value="nothing was asked"/>');
  });

  test("of another form would be found", async () => {
    const xml = junitXml(groups);
    for (const [from, to] of [
      ['tests="11"', 'tests="many"'],
      ["<properties>", "<propertys>"],
      ['timestamp="2026-11-30T10:00:00"', 'timestamp="2026-11-30T10:00:00Z"'],
      ["<skipped message", "<skipped mesage"],
    ] as const) {
      expect(xml).toContain(from);
      expect(await junitFaults(xml.replace(from, to)), from).not.toEqual([]);
    }
  });

  test("tells of a broken check once, also where the scenario failed by it", () => {
    const failure = { domain: "grading", code: "check_broken", message: "broken-check: it threw" };
    expect(junitXml([groupOf([brokenCheck], { failure })])).toContain('tests="1"');
    expect(junitXml([groupOf([held], { failure })])).toContain('tests="2"');
  });
});

describe("sarif", () => {
  test("points at the place, below the base of its root", () => {
    const place = "workspace:/dir with space/ä%[x].txt";
    const [result] = log([groupOf([subGoalOf("a", verdictOf("refuted", place))])]).results;
    expect(result?.locations).toMatchObject([
      {
        physicalLocation: {
          artifactLocation: {
            uri: "dir%20with%20space/%C3%A4%25%5Bx%5D.txt",
            uriBaseId: "workspace",
          },
        },
        logicalLocations: [{ fullyQualifiedName: place }],
      },
    ]);
  });

  test("was not successful where something is broken or came to no result", () => {
    const failure = { domain: "agent", code: "agent_timed_out", message: "ended" };
    const table: readonly [ReportedGroup, boolean, readonly string[]][] = [
      [groupOf([held, open, notHeld]), true, []],
      [groupOf([brokenCheck]), false, ["broken"]],
      [groupOf([held], { failure }), false, ["agent_timed_out"]],
    ];
    for (const [group, successful, ids] of table) {
      const [invocation] = log([group]).invocations;
      expect(invocation?.executionSuccessful).toBe(successful);
      expect(invocation?.toolExecutionNotifications.map(({ descriptor }) => descriptor.id)).toEqual(
        ids,
      );
    }
  });

  test("counts the places that it does not show", () => {
    const places = Array.from({ length: 90 }, (_, at) => ({ uri: `workspace:/${at}` }));
    const verdict: Verdict = { value: "refuted", counterexamples: places, total: 1_234 };
    const [result] = log([groupOf([subGoalOf("a", verdict)])]).results;
    expect(result?.locations.length).toBe(20);
    expect(result?.properties["places"]).toEqual({ shown: 20, total: 1_234 });
  });
});

describe("github", () => {
  const many = Array.from({ length: 612 }, (_, at) => subGoalOf(`n${at}`, verdictOf("refuted")));

  test("shows ten annotations of a level, the last of which counts the rest", () => {
    const lines = githubAnnotations([groupOf([...many, ...many.slice(0, 10), open])])
      .trimEnd()
      .split("\n");
    expect(lines.filter((line) => line.startsWith("::error ")).length).toBe(10);
    expect(lines.filter((line) => line.startsWith("::warning ")).length).toBe(1);
    expect(lines[9]).toBe("::error title=upheld::and 613 more");
    const ten = githubAnnotations([groupOf(many.slice(0, 10))]);
    expect(ten).not.toContain("more\n");
  });

  test("summarizes what needs a look first, as an interval, and counts the rows that it leaves out", () => {
    const summary = githubSummary([groupOf([held, open, ...many])]);
    expect(summary).toContain(
      "held: 0 % to 1 % of 614: 1 as expected, 612 NOT as expected, 1 undetermined",
    );
    expect(summary).toContain("<p>and 114 more rows</p>");
    expect(summary.match(/<tr><td>NOT/g)?.length).toBe(500);
    expect(githubSummary([groupOf([])])).toContain("<p>nothing was asked</p>");
  });
});

describe("evidence is hostile", () => {
  const nasty = [
    "a\n::error::pwned",
    "a\r\n\r\n# heading <script>alert(1)</script>",
    "]]></failure></testcase><testcase name='x'/>",
    "&amp; \" ' < > ` | @someone #1 :tada: [link](https://evil.example) ![i](x)",
    "\u0000\u0008\u001b[31mred\u202egnp\ufffe\uffff\ud800",
    "%0A::set-output name=x::y",
    "##[error]x",
    "${{ secrets.TOKEN }}",
  ] as const;

  const worlds = record({
    name: constantFrom(...nasty),
    place: constantFrom(...nasty),
    what: string({ unit: "binary", maxLength: 30 }),
    value: constantFrom("upheld", "refuted", "undetermined" as const),
  });

  test("and stays text in every format", async () => {
    const texts: string[] = [];
    assert(
      property(array(worlds, { minLength: 1, maxLength: 4 }), (given) => {
        const goals = given.map(({ name, place, what, value }, at) =>
          subGoalOf(`${at} ${name}`, verdictOf(value, `workspace:/${place}${what}`), {
            what: `${what}.`,
            rationale: `${place}\n${what}.`,
          }),
        );
        const failure = { domain: "agent", code: "x", message: nasty[0] };
        const groups = [groupOf(goals, { name: nasty[1], failure })];
        log(groups);
        for (const line of githubAnnotations(groups).trimEnd().split("\n"))
          expect(line).toMatch(/^::(?:error|warning) title=[^:,\n\r]*::[^\n\r]*$/);
        const summary = githubSummary(groups);
        // Only our own tags, no blank line inside: nothing in it is markdown.
        const tags = summary.match(/<[^>]*>/g)?.map((tag) => tag.replace("/", "")) ?? [];
        expect(new Set(tags)).toEqual(
          new Set(["<h3>", "<p>", "<table>", "<tr>", "<th>", "<td>", "<code>"]),
        );
        expect(summary.trimEnd()).not.toContain("\n\n");
        expect(summary.replaceAll(/<code>[^<]*<\/code>/g, "")).not.toMatch(/[[\]`@#|]/);
        texts.push(junitXml(groups));
      }),
      { numRuns: 60 },
    );
    for (const xml of texts.slice(0, 12)) expect(await junitFaults(xml)).toEqual([]);
  });

  test("a link of the world is none in a SARIF message", () => {
    const [result] = log([
      groupOf([subGoalOf("a", verdictOf("refuted", "workspace:/[x](https://evil.example)"))]),
    ]).results;
    expect(result?.message.text).toContain(String.raw`\[x\](https://evil.example)`);
  });

  test("the reason is one line", () => {
    for (const text of nasty)
      expect(reasonOf(subGoalOf("a", verdictOf("refuted", text)))).toMatch(/^.*$/);
  });
});
