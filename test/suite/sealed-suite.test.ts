import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Workplace } from "../cli/upheld.ts";
import { shellScenario, suitePlace, toldSuite, WRITTEN } from "../worlds/suite-place.ts";

const LATE = 180_000;

/** A judge that says the same of every claim. */
const judge = (held: string): string => `
import { readFileSync } from "node:fs";
const { claims, evidence } = JSON.parse(readFileSync(0, "utf8"));
const said = evidence.find(({ kind }) => kind === "transcript");
console.log(JSON.stringify({ verdicts: claims.map(({ id }) => ({ id, held: ${held}, reason: "So it is.", cites: [{ evidence: said.evidence }] })) }));
`;

const JUDGED = "{ name: polite, judged: The agent says sorry., needs: [transcript] }";

const files = {
  "yes.mjs": judge("true"),
  "no.mjs": judge("false"),
  "broken.mjs": "process.exit(3);",
  "scenarios/a/scenario.yaml": shellScenario("echo done > out.txt; echo sorry", `[g, ${JUDGED}]`),
  "scenarios/a/checks/g.mjs":
    'export const check = (world) => (world.file("out.txt") ? null : "nothing");',
  "scenarios/b/scenario.yaml": shellScenario(
    "echo sorry; echo done > out.txt",
    `[${WRITTEN}, ${JUDGED}]`,
  ),
  "scenarios/c/scenario.yaml": `skip: later\n${shellScenario("true", `[${WRITTEN}]`)}`,
};

interface Told {
  readonly code: number | null;
  readonly statuses: readonly string[];
  readonly stdout: string;
}

async function told(place: Workplace, args: readonly string[]): Promise<Told> {
  const printed = await place.upheld(["test", "--json", ...args]);
  const { scenarios } = toldSuite(printed);
  const statuses = scenarios.map(({ name, status }) => `${name} ${status}`);
  return { code: printed.code, statuses, stdout: printed.stdout };
}

/** What of a report has to be the same when it is read from the evidence. */
function lasting(stdout: string): unknown {
  const { scenarios, counts, passed, subGoals } = JSON.parse(stdout);
  return {
    counts,
    passed,
    subGoals,
    scenarios: scenarios.map((each: Record<string, unknown>) => [
      each["name"],
      each["status"],
      each["attempts"],
      each["subGoals"],
      each["failure"],
      each["notSeen"],
    ]),
  };
}

describe("upheld test --save", () => {
  test(
    "seals every scenario into one bundle; what it came to is read from it again, with each judgment since",
    async () => {
      using place = suitePlace(files);
      const bundle = join(place.path, "suite.upheld");
      const live = await told(place, ["--save", bundle, "--parallel", "2"]);
      expect(live).toMatchObject({
        code: 2,
        statuses: ["a undecided", "b undecided", "c skipped"],
      });
      const verified = await place.upheld(["verify", bundle]);
      expect(verified.code, verified.stdout).toBe(0);
      expect(verified.stdout).toMatch(/scenarios +3 scenarios, 2 with evidence/);
      expect(verified.stdout).toMatch(/c {2}attempt 1 {2}no evidence: later/);
      const shown = await place.upheld(["show", bundle]);
      expect(shown.stdout).toMatch(/scenario +a, attempt 1/);
      expect(shown.stdout).toContain("grading.json");

      const again = await told(place, ["--from", bundle]);
      expect(lasting(again.stdout)).toEqual(lasting(live.stdout));
      expect(again.code).toBe(2);

      const failing = await place.upheld(["judge", bundle, "--command", "node broken.mjs"]);
      expect(failing.code, failing.stderr).toBe(5);
      expect(await told(place, ["--from", bundle])).toMatchObject({
        code: 2,
        statuses: live.statuses,
      });

      const judged = await place.upheld(["judge", bundle, "--command", "node yes.mjs"]);
      expect(judged.code, judged.stdout + judged.stderr).toBe(0);
      expect(judged.stdout).toMatch(/suite\.upheld {2}a {2}sha256:/);
      expect(await told(place, ["--from", bundle])).toMatchObject({
        code: 0,
        statuses: ["a passed", "b passed", "c skipped"],
      });
    },
    LATE,
  );

  test(
    "judges that contradict each other settle nothing; a person does, scenario by scenario",
    async () => {
      using place = suitePlace(files);
      const bundle = join(place.path, "suite.upheld");
      await place.upheld(["test", "--save", bundle]);
      await place.upheld(["judge", bundle, "--command", "node yes.mjs"]);
      await place.upheld(["judge", bundle, "--command", "sh -c 'node no.mjs'"]);
      const torn = await told(place, ["--from", bundle]);
      expect(torn.statuses).toEqual(["a undecided", "b undecided", "c skipped"]);
      expect(torn.stdout).toContain("judges contradict each other");
      const person = ["judge", bundle, "--person", "Ada", "--decide"];
      const unclear = await place.upheld([...person, "polite=true"]);
      expect(unclear.code).toBe(64);
      expect(unclear.stderr).toContain("a/polite, b/polite");
      const decided = await place.upheld([
        ...person,
        "a/polite=true",
        "--decide",
        "b/polite=false",
        "--cite",
        "transcript:/1",
      ]);
      expect(decided.code, decided.stdout + decided.stderr).toBe(1);
      expect(await told(place, ["--from", bundle])).toMatchObject({
        code: 1,
        statuses: ["a passed", "b failed", "c skipped"],
      });
    },
    LATE,
  );

  test(
    "a failure is read again as whose it was; secrets are in no byte; a signature is checked",
    async () => {
      const TOKEN = "correct-horse-battery";
      using place = suitePlace({
        "scenarios/a/scenario.yaml": shellScenario(
          "true",
          `[${WRITTEN}]`,
          'world: { setup: [sh, -c, "echo no disk $TOKEN >&2; exit 3"] }',
        ),
        "scenarios/b/scenario.yaml": `agent: { command: [no-such-command] }\nsubGoals: [${WRITTEN}]`,
        "scenarios/c/scenario.yaml": shellScenario("echo $TOKEN > out.txt; echo $TOKEN", "[g, h]"),
        "scenarios/c/checks/g.mjs": "export const check = (world) => `saw ${world.reply}`;",
        "scenarios/c/checks/h.mjs": "throw new Error('ours');",
      });
      const bundle = join(place.path, "suite.upheld");
      const key = join(place.path, "host.key");
      await place.upheld(["keygen", key]);
      const saved = await place.upheld(
        [
          "test",
          "--json",
          "--save",
          bundle,
          "--secret",
          "env:TOKEN",
          "--key",
          key,
          "--sealer",
          "host",
        ],
        { TOKEN },
      );
      expect(saved.code, saved.stderr).toBe(1);
      expect(saved.stdout + saved.stderr).not.toContain(TOKEN);
      expect(readFileSync(bundle).includes(TOKEN)).toBe(false);
      expect(
        readFileSync(bundle).includes(Buffer.from(TOKEN).toString("base64").slice(0, 12)),
      ).toBe(false);
      const again = await told(place, ["--from", bundle]);
      expect(again).toMatchObject({
        code: 1,
        statuses: ["a errored", "b errored", "c failed"],
      });
      expect(again.stdout).toContain('"domain":"environment"');
      expect(lasting(again.stdout)).toEqual(lasting(saved.stdout));
      const verified = await place.upheld(["verify", bundle, "--key", `${key}.pub`]);
      expect(verified.code, verified.stdout).toBe(0);
      expect(verified.stdout).toMatch(/sealed by the host, verified/);
    },
    LATE,
  );

  test(
    "a copy without what the checks said verifies, and has passed nothing",
    async () => {
      using place = suitePlace({
        "scenarios/a/scenario.yaml": shellScenario("true", "[g]"),
        "scenarios/a/checks/g.mjs": "export const check = () => null;",
      });
      const bundle = join(place.path, "suite.upheld");
      const copy = join(place.path, "copy.upheld");
      const live = await told(place, ["--save", bundle]);
      expect(live).toMatchObject({ code: 0, statuses: ["a passed"] });
      const withheld = await place.upheld(["withhold", bundle, "grading.json", "--out", copy]);
      expect(withheld.code, withheld.stderr).toBe(0);
      expect((await place.upheld(["verify", copy])).code).toBe(0);
      const read = await told(place, ["--from", copy]);
      expect(read).toMatchObject({ code: 2, statuses: ["a undecided"] });
      expect(read.stdout).toContain("part_withheld");
    },
    LATE,
  );

  test.each([
    {
      what: "a place that cannot be written",
      args: ["--save", "no/such/folder/x.upheld"],
      code: 5,
    },
    { what: "a key with nothing to sign", args: ["--key", "x.key"], code: 64 },
    { what: "an agent for a stored suite", args: ["--from", "x.upheld", "--", "sh"], code: 64 },
  ])("refuses $what before anything runs", { timeout: LATE }, async ({ args, code }) => {
    using place = suitePlace({
      ...files,
      "scenarios/a/scenario.yaml": shellScenario("touch {suite}/ran", `[${WRITTEN}]`),
    });
    const printed = await place.upheld(["test", ...args]);
    expect(printed.code, printed.stderr).toBe(code);
    expect(printed.stdout).toBe("");
  });
});
