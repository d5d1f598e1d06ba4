import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { suitePlace, toldSuite } from "../worlds/suite-place.ts";

const LATE = 120_000;

const files = {
  "state.json": '{"stock": [{"item_id": "widget", "quantity": 1}]}',
  "scenarios/a/scenario.json": JSON.stringify({
    name: "a",
    instruction:
      'cat state.json; echo \'{"name":"add","arguments":{},"outcome":"refused"}\' > "$UPHELD_CALLS"',
    sub_goals: ["refused", "stocked", "broken"],
  }),
  "scenarios/a/setup.py":
    'def setup(world):\n    world.change("stock", "widget", {"quantity": 5}, by="item_id")\n',
  "scenarios/a/ready.py":
    'def ready(world):\n    return None if world.state()["stock"][0]["quantity"] == 5 else "not stocked"\n',
  "scenarios/a/checks/refused.py":
    "def check(world, calls):\n    print('talk')\n    return None if [c for c in calls if c.name == 'add' and c.refused] else 'never tried'\n",
  "scenarios/a/checks/stocked.py":
    'def check(world, calls):\n    return "" if world.state("stock")["stock"][0]["quantity"] == 5 and "widget" in world.reply else "gone"\n',
  "scenarios/a/checks/broken.py": "def check(world, calls):\n    return world.state()['nothing']\n",
};

describe("the folders of another harness", () => {
  test(
    "their Python checks run over calls and state, each in a fresh world",
    async () => {
      using place = suitePlace(files);
      const printed = await place.upheld(["test", "--json", "--", "sh"]);
      const [only] = toldSuite(printed).scenarios;
      expect(
        only?.subGoals.map(({ name, held }) => [name, held]),
        printed.stdout,
      ).toEqual([
        ["refused", true],
        ["stocked", true],
        ["broken", null],
      ]);
      expect(only?.failure).toMatchObject({ domain: "grading", code: "check_broken" });
      expect(printed.code).toBe(5);
    },
    LATE,
  );

  test(
    "where there is no Python, the checks are broken for that reason, and nothing passes",
    async () => {
      const { "scenarios/a/setup.py": _, "scenarios/a/ready.py": _ready, ...rest } = files;
      using place = suitePlace(rest);
      const bin = join(place.path, "bin");
      mkdirSync(bin);
      for (const name of ["sh", "cat", "echo"]) symlinkSync(`/bin/${name}`, join(bin, name));
      const printed = await place.upheld(["test", "--json", "--", "sh"], { PATH: bin });
      const [only] = toldSuite(printed).scenarios;
      expect(only?.status, printed.stdout).toBe("errored");
      for (const { held, verdict } of only?.subGoals ?? []) {
        expect(held).toBe(null);
        expect(verdict.gaps?.map(({ code }) => code)).toEqual(["check_runtime_missing"]);
      }
      expect(printed.code).toBe(5);
    },
    LATE,
  );
});
