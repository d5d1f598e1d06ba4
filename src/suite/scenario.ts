import { z } from "zod";
import { Condition, Polarity } from "../core/condition.ts";
import { UpheldError } from "../core/errors.ts";
import { EvidenceKind } from "../core/evidence-kind.ts";
import { issuesOf } from "../core/issues.ts";
import { DEFAULT_ROOT, RootName } from "../core/locator.ts";

/** A plain file name: never a path, never hidden. */
const name = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
    "expected a plain name: letters, digits, dots, dashes, underscores",
  );

/** Words of a command; `{suite}` and `{scenario}` in one stand for those folders, `{world}` for the fresh world. */
const command = z.array(z.string()).min(1).readonly();

/** An agent: a command that works in the fresh world and reads the prompt on standard input, or an HTTP address. */
export const SuiteAgent = z.union([
  z.strictObject({ command }).readonly(),
  z.strictObject({ endpoint: z.string().min(1) }).readonly(),
]);
export type SuiteAgent = z.infer<typeof SuiteAgent>;

/** The world of a scenario before its run; every attempt gets a fresh one. */
export const WorldPlan = z
  .strictObject({
    /** A folder beside the file, whose copy the agent works in. Default `world`, where it is there; else an empty one. */
    files: name.optional(),
    /** Runs in the copy before anything is looked at. Lines NAME=VALUE that it adds to the file in UPHELD_ENV are set for all that follows. */
    setup: command.optional(),
    /** Runs when the attempt is over, however it ended. */
    teardown: command.optional(),
    /** Databases by name: `sqlite:FILE` (in the world), an address, or `env:VAR`. `{world}` and `{run}` are filled in. */
    databases: z
      .record(RootName, z.string().min(1))
      .readonly()
      .refine((given) => !Object.hasOwn(given, DEFAULT_ROOT), "workspace is the name of the files")
      .default({}),
  })
  .readonly();
export type WorldPlan = z.infer<typeof WorldPlan>;

/** A sub-goal as it is written: its name, and a condition or a text to judge; where neither stands, `checks/NAME` decides it. */
export const ScenarioSubGoal = z
  .strictObject({
    name,
    what: z.string().min(1).optional(),
    expect: z.enum(["upheld", "refuted"]).optional(),
    condition: Condition.optional(),
    judged: z.string().min(1).optional(),
    needs: z.array(EvidenceKind).readonly().optional(),
    polarity: Polarity.optional(),
  })
  .readonly();
export type ScenarioSubGoal = z.infer<typeof ScenarioSubGoal>;

/** Runs that prove the sub-goals themselves. */
export const Controls = z
  .strictObject({
    /** Does what is asked: every sub-goal must hold. */
    gold: command.optional(),
    /** By sub-goal, a run that must break it. */
    violating: z.record(name, command).readonly().default({}),
  })
  .readonly();
export type Controls = z.infer<typeof Controls>;

/** What a user writes in scenario.yaml. */
export const ScenarioFile = z
  .strictObject({
    schemaVersion: z.literal(1).default(1),
    objective: z.string().min(1).optional(),
    labels: z.record(z.string(), z.string()).readonly().default({}),
    /** Why it is not run. */
    skip: z.string().min(1).optional(),
    world: WorldPlan.default({ databases: {} }),
    /** What is said to the agent. */
    prompt: z.string().min(1).optional(),
    agent: SuiteAgent.optional(),
    timeoutSeconds: z.number().positive().max(86_400).optional(),
    subGoals: z
      .array(z.union([name, ScenarioSubGoal]))
      .min(1, "a scenario needs a sub-goal: nothing asked is no pass")
      .refine(
        (goals) => new Set(goals.map(nameOfGoal)).size === goals.length,
        "two sub-goals have one name",
      )
      .readonly(),
    controls: Controls.default({ violating: {} }),
  })
  .readonly();
export type ScenarioFile = z.infer<typeof ScenarioFile>;

export function nameOfGoal(goal: string | ScenarioSubGoal): string {
  return typeof goal === "string" ? goal : goal.name;
}

/** A check function's file, and the program that runs it. */
export interface CheckFile {
  readonly path: string;
  readonly language: "javascript" | "typescript" | "python";
}

/** How a sub-goal is settled. */
export type GoalDecision =
  | {
      readonly by: "condition";
      readonly expect: "upheld" | "refuted";
      readonly condition: Condition;
    }
  | { readonly by: "check"; readonly file: CheckFile }
  | {
      readonly by: "judge";
      readonly judged: string;
      readonly needs: readonly EvidenceKind[];
      readonly polarity: Polarity;
    };

export interface SuiteGoal {
  readonly name: string;
  readonly what?: string | undefined;
  readonly decision: GoalDecision;
}

/** A scenario that can be run. Its paths are absolute. */
export interface Scenario {
  readonly name: string;
  readonly folder: string;
  readonly objective?: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly skip?: string | undefined;
  readonly world: WorldPlan;
  /** Functions of another harness that prepare the world, and say whether it is ready. */
  readonly worldCode: {
    readonly setup?: CheckFile | undefined;
    readonly ready?: CheckFile | undefined;
  };
  readonly prompt?: string | undefined;
  readonly agent?: SuiteAgent | undefined;
  readonly timeoutMs?: number | undefined;
  readonly subGoals: readonly SuiteGoal[];
  readonly controls: Controls;
}

/** Scenarios that are run together. */
export interface Suite {
  readonly folder: string;
  readonly agent?: SuiteAgent | undefined;
  readonly scenarios: readonly Scenario[];
  /** What a reader should know: claims whose text is not there, what of another harness is not used. */
  readonly notes: readonly string[];
}

/** Reads a value of a file of a suite. Throws "suite_invalid", a line "path: what was expected" each. */
export function parseSuiteValue<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new UpheldError("suite_invalid", issuesOf(parsed.error), { cause: parsed.error });
}
