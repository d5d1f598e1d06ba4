import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { readYamlFile } from "../store/yaml-file.ts";
import { parseSuiteValue } from "./scenario.ts";

const CatalogueGoal = z
  .object({
    name: z.string().min(1),
    what: z.string().optional(),
    /** The code that decides it. It is run from `checks/NAME` alone: here it only says that there is some. */
    check: z.string().nullish(),
    judged: z.string().nullish(),
  })
  .readonly();
export type CatalogueGoal = z.infer<typeof CatalogueGoal>;

const CatalogueFile = z
  .object({
    sub_goals: z
      .array(CatalogueGoal)
      .refine(
        (goals) => new Set(goals.map(({ name }) => name)).size === goals.length,
        "two sub-goals have one name",
      )
      .readonly(),
  })
  .readonly();

/** The claims of a suite, by name. */
export type Catalogue = ReadonlyMap<string, CatalogueGoal>;

/** The text of a claim that is judged where no catalogue has it. */
export const CLAIM_MISSING =
  "(the text of this claim is not in the suite: there is no sub_goals.json that holds it)";

/** Reads `sub_goals.json` of a suite; undefined where there is none. Throws "suite_invalid" with each place that is wrong. */
export function readCatalogue(folder: string): Catalogue | undefined {
  const path = join(folder, "sub_goals.json");
  if (!existsSync(path)) return undefined;
  const { sub_goals: goals } = readYamlFile(path, {
    code: "suite_invalid",
    parse: (value) => parseSuiteValue(CatalogueFile, value),
  });
  return new Map(goals.map((goal) => [goal.name, goal]));
}

/** A text of the catalogue that says something. */
export function textOf(text: string | null | undefined): string | undefined {
  return text === null || text === undefined || text.trim() === "" ? undefined : text;
}
