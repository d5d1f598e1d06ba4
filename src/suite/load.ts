import { existsSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { isUpheldError, UpheldError, type ErrorCode } from "../core/errors.ts";
import { DEFAULT_ROOT } from "../core/locator.ts";
import { validateClaims } from "../run/observe-run.ts";
import { readYamlFile } from "../store/yaml-file.ts";
import { readCatalogue, type Catalogue } from "./catalogue.ts";
import { readConfig } from "./config.ts";
import { goalOf } from "./goal-of.ts";
import { readHarnessScenario } from "./harness-scenario.ts";
import {
  nameOfGoal,
  parseSuiteValue,
  ScenarioFile,
  type Scenario,
  type Suite,
} from "./scenario.ts";
import { claimsOf } from "./settle-goals.ts";

const FILES = ["scenario.yaml", "scenario.yml", "scenario.json"] as const;

const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/**
 * Reads a suite: `scenarios/NAME/scenario.yaml`, or the folders of another harness. Nothing is run but an `upheld.config` file.
 * Throws "suite_invalid" with every fault of every file, a line each: what, where, and what was expected.
 */
export async function loadSuite(directory: string): Promise<Suite> {
  const folder = folderOf(directory);
  const faults: string[] = [];
  const notes: string[] = [];
  const tell = (error: unknown, place: string): void => {
    faults.push(...linesOf(error, folder, place));
  };
  const catalogue = guarded(
    () => readCatalogue(folder),
    (error) => tell(error, "sub_goals.json"),
  );
  const config = await readConfig(folder).catch((error: unknown) => {
    tell(error, "upheld.config");
    return undefined;
  });
  const scenarios = namesOf(folder).flatMap((name) => {
    const place = `scenarios/${name}`;
    const note = (text: string): void => void notes.push(`${place}: ${text}`);
    const loaded = guarded(
      () => readScenario(join(folder, "scenarios", name), name, catalogue, { note, tell }),
      (error) => tell(error, place),
    );
    return loaded === undefined ? [] : [loaded];
  });
  if (faults.length > 0) throw new UpheldError("suite_invalid", faults.join("\n"));
  return { folder, agent: config?.agent, scenarios, notes };
}

interface Teller {
  readonly note: (text: string) => void;
  readonly tell: (error: unknown, place: string) => void;
}

function readScenario(
  folder: string,
  name: string,
  catalogue: Catalogue | undefined,
  { note, tell }: Teller,
): Scenario | undefined {
  const place = `scenarios/${name}`;
  if (!PLAIN_NAME.test(name))
    throw invalid(
      "a scenario's folder has a plain name: letters, digits, dots, dashes, underscores",
    );
  const found = FILES.filter((each) => existsSync(join(folder, each)));
  const [file] = found;
  if (file === undefined) throw invalid("scenario.yaml is missing");
  if (found.length > 1) throw invalid(`${found.join(" and ")} stand side by side; keep one`);
  const path = join(folder, file);
  if (isHarness(path)) return readHarnessScenario(folder, name, catalogue, note);
  const given = readYamlFile(path, {
    code: "suite_invalid",
    parse: (value) => parseSuiteValue(ScenarioFile, value),
  });
  const context = { folder, catalogue, allowsMissingClaim: false, note };
  // Each is looked up, also after one is wrong: all faults are told at once.
  const subGoals = given.subGoals.flatMap((each) => {
    const goal = guarded(
      () => goalOf(each, context),
      (error) => tell(error, place),
    );
    return goal === undefined ? [] : [goal];
  });
  const names = new Set(given.subGoals.map(nameOfGoal));
  const unknown = Object.keys(given.controls.violating).filter((each) => !names.has(each));
  if (unknown.length > 0)
    throw invalid(`controls.violating names no sub-goal of it: ${unknown.join(", ")}`);
  const scenario = scenarioOf(given, { folder, name, subGoals });
  validateClaims(claimsOf(scenario), rootsOf(scenario));
  return scenario;
}

function rootsOf({ world }: Scenario): Parameters<typeof validateClaims>[1] {
  return [
    { name: DEFAULT_ROOT, surface: "file" },
    ...Object.keys(world.databases).map((name) => ({ name, surface: "sql" })),
  ];
}

function scenarioOf(
  { prompt, timeoutSeconds, ...given }: ScenarioFile,
  known: Pick<Scenario, "folder" | "name" | "subGoals">,
): Scenario {
  const { objective, labels, skip, world, agent, controls } = given;
  if (world.files !== undefined && !existsSync(join(known.folder, world.files)))
    throw invalid(`world.files: there is no folder ${world.files} beside the file`);
  return {
    ...known,
    objective,
    labels,
    skip,
    world,
    worldCode: {},
    prompt,
    agent,
    timeoutMs: timeoutSeconds === undefined ? undefined : Math.ceil(timeoutSeconds * 1000),
    controls,
  };
}

/** The file of another harness names its sub-goals in `sub_goals`. */
function isHarness(path: string): boolean {
  const value = readYamlFile<unknown>(path, { code: "suite_invalid", parse: (given) => given });
  return typeof value === "object" && value !== null && Object.hasOwn(value, "sub_goals");
}

function folderOf(directory: string): string {
  try {
    return realpathSync(directory);
  } catch (cause) {
    throw new UpheldError("file_unreadable", `there is no directory ${directory}`, { cause });
  }
}

function namesOf(folder: string): readonly string[] {
  const path = join(folder, "scenarios");
  const found = existsSync(path)
    ? readdirSync(path, { withFileTypes: true }).filter((each) => each.isDirectory())
    : [];
  if (found.length === 0)
    throw invalid("there is no scenario: expected scenarios/NAME/scenario.yaml in the folder");
  return found.map(({ name }) => name).toSorted();
}

function guarded<T>(read: () => T, onFault: (error: unknown) => void): T | undefined {
  try {
    return read();
  } catch (error) {
    onFault(error);
    return undefined;
  }
}

const OF_A_FILE: ReadonlySet<ErrorCode> = new Set([
  "suite_invalid",
  "file_unreadable",
  "expectation_invalid",
  "condition_unrouted",
  "source_missing",
  "glob_invalid",
]);

/** The lines of a fault, each with its place in the suite. What is no fault of a file is thrown on. */
function linesOf(error: unknown, folder: string, place: string): readonly string[] {
  if (!isUpheldError(error) || !OF_A_FILE.has(error.code)) throw error;
  return error.message
    .split("\n")
    .map((line) =>
      line.includes(`${folder}/`) ? line.replaceAll(`${folder}/`, "") : `${place}: ${line}`,
    );
}

function invalid(message: string): UpheldError {
  return new UpheldError("suite_invalid", message);
}
