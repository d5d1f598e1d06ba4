import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { junitFaults, SarifLog } from "../support/report-forms.ts";
import { shellScenario, suitePlace, WRITTEN } from "../worlds/suite-place.ts";
import { Workplace, written, type Printed } from "./upheld.ts";

const OPEN = "ln -s /etc/hosts link";
const HELD = "echo key > out.txt";
const NOT_HELD = "echo other > out.txt";

interface Reported extends Printed {
  readonly junit: string;
  readonly sarif: string;
  readonly summary: string;
}

/** Runs it with all three reports. */
async function reported(
  place: Workplace,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Reported> {
  const at = (name: string): string => join(place.path, name);
  const asked = [`junit=${at("j.xml")}`, `sarif=${at("s.sarif")}`, `github=${at("g.md")}`];
  const [command = "", ...rest] = args;
  const options = asked.flatMap((each) => ["--report", each]);
  const printed = await place.upheld([command, ...options, ...rest], env);
  const read = (name: string): string =>
    existsSync(at(name)) ? readFileSync(at(name), "utf8") : "";
  return { ...printed, junit: read("j.xml"), sarif: read("s.sarif"), summary: read("g.md") };
}

async function isWellFormed({ junit, sarif }: Reported): Promise<void> {
  expect(await junitFaults(junit)).toEqual([]);
  expect(SarifLog.safeParse(JSON.parse(sarif))).toMatchObject({ success: true });
}

const TABLE: readonly {
  readonly name: string;
  readonly script: string;
  readonly policy?: string;
  readonly code: number;
  readonly junit: RegExp;
  readonly annotated: RegExp;
}[] = [
  {
    name: "held",
    script: HELD,
    code: 0,
    junit: /failures="0" errors="0" skipped="0"/,
    annotated: /^(?!.*::error)/s,
  },
  {
    name: "not held",
    script: NOT_HELD,
    code: 1,
    junit: /<failure /,
    annotated: /^::error title=NOT as expected%3A run\/written::/m,
  },
  {
    name: "open",
    script: OPEN,
    code: 2,
    junit: /<skipped message="[^"]*link_outside_root/,
    annotated: /^::warning title=undetermined%3A run\/written::/m,
  },
  {
    name: "open, which fails",
    policy: "fail",
    script: OPEN,
    code: 1,
    junit: /<skipped /,
    annotated: /^::warning/m,
  },
  {
    name: "open, which passes",
    policy: "pass",
    script: OPEN,
    code: 0,
    junit: /<skipped /,
    annotated: /^::warning/m,
  },
  {
    name: "not held, whatever is let through",
    policy: "pass",
    script: NOT_HELD,
    code: 1,
    junit: /<failure /,
    annotated: /^::error/m,
  },
  {
    name: "an agent that was killed",
    policy: "pass",
    script: "kill -9 $$",
    code: 4,
    junit: /<error [^>]*type="agent_signaled"/,
    annotated: /^::error title=broken%3A run\//m,
  },
];

describe("upheld run --report", () => {
  test.for(TABLE)("$name", async ({ script, policy, code, junit, annotated }) => {
    using place = new Workplace();
    const claims = place.write("claims.json", written("key"));
    const given = policy === undefined ? [] : ["--undetermined", policy];
    const told = await reported(place, [
      "run",
      "--expect",
      claims,
      ...given,
      "--",
      "sh",
      "-c",
      script,
    ]);
    expect(told.code, told.stderr).toBe(code);
    expect(told.junit).toMatch(junit);
    expect(told.stderr).toMatch(annotated);
    expect(told.summary).toContain("<table>");
    await isWellFormed(told);
  });

  test("a sub-goal that waits for a judge is let through by no policy", async () => {
    using place = new Workplace();
    const claims = place.write("c.json", '{ "subGoals": [{ "name": "kind", "judged": "Kind." }] }');
    const args = ["run", "--expect", claims, "--undetermined", "pass", "--", "true"];
    const told = await reported(place, args);
    expect(told.code).toBe(2);
    expect(told.junit).toMatch(/<testcase name="kind"[^>]*><skipped message="[^"]*not_judged/);
  });

  test("without claims the exit code stays the agent's, and the report says that nothing was asked", async () => {
    using place = new Workplace();
    const told = await reported(place, [
      "run",
      "--undetermined",
      "fail",
      "--",
      "sh",
      "-c",
      "exit 2",
    ]);
    expect(told.code).toBe(2);
    expect(told.junit).toContain('<skipped message="nothing was asked"/>');
    expect(told.summary).toContain("nothing was asked");
    await isWellFormed(told);
  });

  test("prints one JSON object beside them, and adds to the summary of earlier steps", async () => {
    using place = new Workplace();
    const claims = place.write("claims.json", written("key"));
    const summary = place.write("summary.md", "# before\n");
    const printed = await place.upheld(
      ["run", "--json", "--report", "github", "--expect", claims, "--", "sh", "-c", NOT_HELD],
      { GITHUB_STEP_SUMMARY: summary },
    );
    expect(JSON.parse(printed.stdout)).toMatchObject({ subGoals: [{ held: false }] });
    expect(printed.stderr).toContain("::error title=");
    expect(readFileSync(summary, "utf8")).toMatch(/^# before\n<h3>upheld<\/h3>/);
  });

  test("keeps declared secrets out of them", async () => {
    using place = new Workplace();
    const secret = "hunter2-hunter2";
    const claims = place.write("claims.json", written("key"));
    const script = `mkdir ${secret}; echo key > ${secret}/key; echo other > other`;
    const args = ["--secret", "env:MINE", "--expect", claims, "--", "sh", "-c", script];
    const told = await reported(place, ["run", ...args], { MINE: secret });
    expect(told.junit).toContain("written");
    for (const text of [told.junit, told.sarif, told.summary, told.stdout, told.stderr])
      expect(text).not.toContain(secret);
  });

  test("a report that cannot be written is exit 5, after all was told, and what was there stays", async () => {
    using place = new Workplace();
    const claims = place.write("claims.json", written("key"));
    const folder = join(place.path, "reports");
    mkdirSync(folder);
    writeFileSync(join(folder, "j.xml"), "before");
    const script = `${HELD}; rm -r ${folder}; echo > ${folder}`;
    const file = join(folder, "j.xml");
    const printed = await place.upheld([
      "run",
      "--expect",
      claims,
      "--report",
      `junit=${file}`,
      "--",
      "sh",
      "-c",
      script,
    ]);
    expect(printed.code).toBe(5);
    expect(printed.stdout).toContain("as expected");
    expect(printed.stderr).toMatch(/cannot write .*j\.xml: ENOTDIR/);
  });

  test("leaves no temporary file", async () => {
    using place = new Workplace();
    const claims = place.write("claims.json", written("key"));
    await reported(place, ["run", "--expect", claims, "--", "sh", "-c", HELD]);
    expect(readdirSync(place.path).filter((name) => name.startsWith("."))).toEqual([]);
  });
});

/** A sealed run that held, with a claim for a judge. */
async function sealed(place: Workplace): Promise<string> {
  const [goal] = JSON.parse(written("key")).subGoals;
  const claims = { subGoals: [goal, { name: "kind", judged: "It is kind.", needs: ["files"] }] };
  const file = place.write("claims.json", JSON.stringify(claims));
  const bundle = join(place.path, "run.upheld");
  await place.upheld(["run", "--expect", file, "--save", bundle, "--", "sh", "-c", HELD]);
  return bundle;
}

describe("the same from stored evidence", () => {
  test("upheld score", async () => {
    using place = new Workplace();
    const bundle = await sealed(place);
    const claims = place.write("other.json", written("other"));
    const told = await reported(place, ["score", bundle, "--expect", claims]);
    expect(told.code, told.stderr).toBe(1);
    expect(told.junit).toContain('<testsuite name="run.upheld" tests="1" failures="1"');
    await isWellFormed(told);
  });

  test("upheld judge: a judge that fails is an error, never a pass", async () => {
    using place = new Workplace();
    const bundle = await sealed(place);
    const args = ["judge", bundle, "--command", "echo nonsense", "--undetermined", "pass"];
    const told = await reported(place, args);
    expect(told.code, told.stderr).toBe(5);
    expect(told.junit).toMatch(/<testcase name="kind"[^>]*><error /);
    expect(told.junit).toContain('tests="2" failures="0" errors="1" skipped="0"');
    await isWellFormed(told);
  });

  test("upheld judge: a bundle that is not intact is an error", async () => {
    using place = new Workplace();
    const bundle = await sealed(place);
    const bytes = readFileSync(bundle);
    bytes[2_000] = (bytes[2_000] ?? 0) ^ 1;
    writeFileSync(bundle, bytes);
    const told = await reported(place, ["judge", bundle, "--command", "true"]);
    expect(told.code, told.stderr).toBe(3);
    expect(told.junit).toMatch(/<testcase name="run.upheld \(evidence\)"[^>]*><error /);
    await isWellFormed(told);
  });

  test("upheld observe", async () => {
    using place = new Workplace();
    const claims = place.write("claims.json", written("key"));
    const before = join(place.path, "before");
    await place.upheld(["baseline", "--save", before]);
    writeFileSync(join(place.root, "out.txt"), "key");
    const told = await reported(place, ["observe", "--baseline", before, "--expect", claims]);
    expect(told.code, told.stderr).toBe(0);
    expect(told.junit).toContain('tests="1" failures="0" errors="0" skipped="0"');
    await isWellFormed(told);
  });
});

describe("upheld test --report", () => {
  test("a suite for each scenario, skipped and failed ones too", async () => {
    const notWritten = WRITTEN.replace("out.txt", "other.txt").replace("written", "other");
    using place = suitePlace({
      "scenarios/good/scenario.yaml": shellScenario("echo done > out.txt", `[${WRITTEN}]`),
      "scenarios/bad/scenario.yaml": shellScenario("echo done > out.txt", `[${notWritten}]`),
      "scenarios/killed/scenario.yaml": shellScenario("kill -9 $$", `[${WRITTEN}]`),
      "scenarios/later/scenario.yaml": shellScenario("true", `[${WRITTEN}]`, "skip: not yet"),
    });
    const told = await reported(place, ["test"]);
    expect(told.code, told.stderr).toBe(1);
    for (const suite of [
      '<testsuite name="good" tests="1" failures="0" errors="0" skipped="0"',
      '<testsuite name="bad" tests="1" failures="1" errors="0" skipped="0"',
      '<testsuite name="killed" tests="2" failures="1" errors="1" skipped="0"',
      '<testsuite name="later" tests="1" failures="0" errors="0" skipped="1"',
    ])
      expect(told.junit).toContain(suite);
    expect(told.junit).toContain('<skipped message="not yet"/>');
    await isWellFormed(told);
  });

  test("controls have no report", async () => {
    using place = suitePlace({
      "scenarios/good/scenario.yaml": shellScenario("echo done > out.txt", `[${WRITTEN}]`),
    });
    const told = await reported(place, ["test", "--controls"]);
    expect(told).toMatchObject({ code: 64, junit: "" });
  });
});

describe("a mistake in a report is told before anything is started", () => {
  test.each([
    [["--report", "html=x"], 64, /--report html=x: expected junit=FILE/],
    [["--report", "junit"], 64, /the file is missing: write --report junit=FILE/],
    [["--report", "sarif="], 64, /the file is missing: write --report sarif=FILE/],
    [["--report", "github"], 64, /GITHUB_STEP_SUMMARY is not set/],
    [["--report", "junit=no/dir/x"], 5, /cannot write no\/dir\/x: its directory is not there/],
    [["--report", "junit=."], 5, /cannot write \.: it is a directory/],
    [["--undetermined", "maybe"], 64, /--undetermined maybe: expected one of fail, pass, neutral/],
  ])("%j", async (args, code, says) => {
    using place = new Workplace();
    const printed = await place.upheld(["run", ...args, "--", "touch", "ran"], {
      GITHUB_STEP_SUMMARY: "",
    });
    expect(printed.code).toBe(code);
    expect(printed.stderr).toMatch(says);
    expect(existsSync(join(place.root, "ran"))).toBe(false);
  });
});
