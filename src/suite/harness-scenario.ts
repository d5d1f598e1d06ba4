import { join } from "node:path";
import { z } from "zod";
import { readYamlFile } from "../store/yaml-file.ts";
import type { Catalogue } from "./catalogue.ts";
import { findCode } from "./find-check.ts";
import { goalOf } from "./goal-of.ts";
import { parseSuiteValue, type Scenario } from "./scenario.ts";

/** What is read of another harness's `scenario.json`; what else stands in it is left alone. */
const HarnessScenario = z
  .object({
    name: z.string().min(1),
    instruction: z.string().min(1),
    tests: z.string().optional(),
    use_case: z.string().optional(),
    scenario_key: z.string().optional(),
    sub_goals: z
      .array(z.string().min(1))
      .min(1, "a scenario needs a sub-goal: nothing asked is no pass")
      .refine((names) => new Set(names).size === names.length, "a sub-goal stands twice")
      .readonly(),
  })
  .readonly();

/** A sub-goal is found by its name in `checks/`: a path, or a hidden file, would name something else. */
const PLAIN_NAME = /^[\p{L}\p{N}_-][\p{L}\p{N}._ -]{0,127}$/u;

/**
 * Reads a scenario as another harness writes it: `scenario.json`, `setup.py`, `ready.py` and `checks/NAME.py`. Throws
 * "suite_invalid".
 */
export function readHarnessScenario(
  folder: string,
  name: string,
  catalogue: Catalogue | undefined,
  note: (text: string) => void,
): Scenario {
  const given = readYamlFile(join(folder, "scenario.json"), {
    code: "suite_invalid",
    parse: (value) =>
      parseSuiteValue(
        HarnessScenario.refine(({ sub_goals: names }) => names.every(isPlain), {
          path: ["sub_goals"],
          message: "expected plain file names, without a separator and not hidden",
        }),
        value,
      ),
  });
  const { use_case: useCase, scenario_key: key } = given;
  return {
    name,
    folder,
    objective: given.tests ?? given.instruction,
    labels: {
      ...(useCase === undefined ? {} : { use_case: useCase }),
      ...(key === undefined ? {} : { scenario_key: key }),
    },
    world: { databases: {} },
    worldCode: {
      setup: findCode(folder, "setup", [".py"]),
      ready: findCode(folder, "ready", [".py"]),
    },
    prompt: given.instruction,
    subGoals: given.sub_goals.map((each) =>
      goalOf(each, { folder, catalogue, allowsMissingClaim: true, note }),
    ),
    controls: { violating: {} },
  };
}

function isPlain(name: string): boolean {
  return PLAIN_NAME.test(name) && !name.endsWith(".") && !name.endsWith(" ");
}
