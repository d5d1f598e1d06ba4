import { UpheldError } from "../core/errors.ts";
import { CLAIM_MISSING, textOf, type Catalogue } from "./catalogue.ts";
import { findCode } from "./find-check.ts";
import { nameOfGoal, type GoalDecision, type ScenarioSubGoal, type SuiteGoal } from "./scenario.ts";

/** Where a sub-goal is looked up: the files of its scenario, and the claims of the suite. */
export interface GoalContext {
  readonly folder: string;
  readonly catalogue: Catalogue | undefined;
  /** Whether a claim whose text is nowhere is left to a judge with a marker in place of it, as another harness does. */
  readonly allowsMissingClaim: boolean;
  /** Told what a reader should know. */
  readonly note: (text: string) => void;
}

/**
 * How a sub-goal is settled: by its condition, by the function in `checks/NAME`, else by a judge. Code wins over a text to judge,
 * also over one in the catalogue. Throws "suite_invalid" where the code that the catalogue names is missing, where two
 * codes stand side by side, and where nothing could decide it.
 */
export function goalOf(given: string | ScenarioSubGoal, context: GoalContext): SuiteGoal {
  const goal = typeof given === "string" ? { name: given } : given;
  const { name } = goal;
  const known = context.catalogue?.get(name);
  const what = goal.what ?? textOf(known?.what);
  return {
    name: nameOfGoal(given),
    ...(what === undefined ? {} : { what }),
    decision: coded(goal, context) ?? judged(goal, context),
  };
}

function coded(goal: ScenarioSubGoal, { folder }: GoalContext): GoalDecision | undefined {
  const { name, condition, expect } = goal;
  const file = findCode(folder, `checks/${name}`);
  if (condition !== undefined) {
    if (file !== undefined)
      throw invalid(`${name}: a condition and a file in checks/ both decide it; keep one`);
    return { by: "condition", expect: expect ?? "upheld", condition };
  }
  if (expect !== undefined)
    throw invalid(`${name}: expect stands without a condition, which it would be about`);
  return file === undefined ? undefined : { by: "check", file };
}

function judged(goal: ScenarioSubGoal, context: GoalContext): GoalDecision {
  const { needs = [], polarity = "existential" } = goal;
  const judged = goal.judged ?? claimIn(goal.name, context);
  return { by: "judge", judged, needs, polarity };
}

/** The text of a claim, restored from the catalogue. */
function claimIn(name: string, { catalogue, allowsMissingClaim, note }: GoalContext): string {
  const known = catalogue?.get(name);
  if (textOf(known?.check) !== undefined)
    throw invalid(
      `${name}: sub_goals.json says that code decides it, and checks/${name} is missing`,
    );
  const text = textOf(known?.judged);
  if (text !== undefined) return text;
  if (known !== undefined)
    throw invalid(`${name}: sub_goals.json holds neither code nor a text to judge for it`);
  if (!allowsMissingClaim)
    throw invalid(
      `${name}: nothing decides it; give it a condition, a text to judge, or checks/${name}.mjs`,
    );
  note(`${name}: neither checks/ nor sub_goals.json says what it claims`);
  return CLAIM_MISSING;
}

function invalid(message: string): UpheldError {
  return new UpheldError("suite_invalid", message);
}
