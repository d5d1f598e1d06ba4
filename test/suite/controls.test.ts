import { describe, expect, test } from "vitest";
import { shellScenario, suitePlace, WRITTEN } from "../worlds/suite-place.ts";

const LATE = 120_000;
const IDLE = "{ name: idle, condition: { kind: changed_only, allow: [] } }";
const JUDGED = "{ name: kind, judged: It was kind }";

/** What each control of one scenario finds, as "control held". */
const rows: readonly {
  what: string;
  goals: string;
  controls?: string;
  want: string[];
  /** Sub-goals that no control made hold ("+") or break ("-"). */
  unproven?: string[];
  exit: number;
}[] = [
  {
    what: "every sub-goal holds though nothing is done",
    goals: IDLE,
    want: ["nothing false"],
    unproven: ["idle -"],
    exit: 1,
  },
  {
    what: "the gold run holds all, the violating run breaks what names it",
    goals: `${WRITTEN}, ${IDLE.replace("[]", '["workspace:/out.txt"]')}`,
    controls:
      'gold: [sh, -c, "echo done > out.txt"], violating: { idle: [touch, other], written: ["true"] }',
    want: ["nothing true", "gold true", "idle true", "written true"],
    exit: 0,
  },
  {
    what: "a gold run that breaks a sub-goal",
    goals: WRITTEN,
    controls: 'gold: ["true"]',
    want: ["nothing true", "gold false"],
    unproven: ["written +"],
    exit: 1,
  },
  {
    what: "a violating run that breaks nothing",
    goals: `${WRITTEN}, ${IDLE}`,
    controls: 'violating: { idle: ["true"] }',
    want: ["nothing true", "idle false"],
    unproven: ["written +", "idle -"],
    exit: 1,
  },
  {
    what: "what a judge would have to say is not known, and no control passes by it",
    goals: JUDGED,
    controls: 'gold: ["true"], violating: { kind: ["true"] }',
    want: ["nothing null", "gold null", "kind null"],
    unproven: ["kind +-"],
    exit: 2,
  },
  {
    what: "a control that cannot be run proves nothing",
    goals: WRITTEN,
    controls: "gold: [no-such-command]",
    want: ["nothing true", "gold null"],
    unproven: ["written +"],
    exit: 2,
  },
];

describe("upheld test --controls", () => {
  test.each(rows)(
    "$what",
    { timeout: LATE },
    async ({ goals, controls = "", want, unproven = [], exit }) => {
      using place = suitePlace({
        "scenarios/s/scenario.yaml": shellScenario(
          "true",
          `[${goals}]`,
          `controls: { ${controls} }`,
        ),
      });
      const { code, stdout } = await place.upheld(["test", "--controls", "--json"]);
      const told: {
        controls: { control: string; held: boolean | null }[];
        unproven: { name: string; seenToHold: boolean; seenToBreak: boolean }[];
      } = JSON.parse(stdout);
      const open = told.unproven.map(
        ({ name, seenToHold, seenToBreak }) =>
          `${name} ${seenToHold ? "" : "+"}${seenToBreak ? "" : "-"}`,
      );
      expect(open).toEqual(unproven);
      expect(told.controls.map(({ control, held }) => `${control} ${held}`)).toEqual(want);
      expect(code).toBe(exit);
    },
  );

  test(
    "flags what is wrong for a person to see",
    async () => {
      using place = suitePlace({
        "scenarios/s/scenario.yaml": shellScenario("true", `[${IDLE}]`),
      });
      const { stdout } = await place.upheld(["test", "--controls"]);
      expect(stdout).toMatch(/FLAGGED +s +nothing +every sub-goal holds though nothing was done/);
      expect(stdout).toMatch(/unproven +s +idle +no control made it break/);
      expect(stdout).toMatch(/as they must: 0 % of 1/);
    },
    LATE,
  );
});
