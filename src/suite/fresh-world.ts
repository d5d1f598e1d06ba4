import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { DEFAULT_ROOT } from "../core/locator.ts";
import type { RunId } from "../core/ids.ts";
import type { ReceiptFailure } from "../evidence/receipt.ts";
import { describeOutcome, ranToItsEnd } from "../run/agent.ts";
import { programId, runProgram } from "./program.ts";
import type { Scenario } from "./scenario.ts";

/** Where an attempt lives: a folder of its own, gone with it. */
export interface Home {
  readonly runId: RunId;
  readonly path: string;
  /** The folder of the suite. */
  readonly suite: string;
}

/** The world of one attempt, ready for its agent. */
export interface FreshWorld {
  readonly directory: string;
  readonly databases: readonly { readonly name: string; readonly url: string }[];
  /** What the setup set, for the agent and for the teardown. */
  readonly environment: Readonly<Record<string, string>>;
}

export type Prepared = { readonly world: FreshWorld } | { readonly failure: ReceiptFailure };

/** A line NAME=VALUE that a setup wrote. */
const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/;

/**
 * Copies the files of a scenario into the home of an attempt and runs its setup. What keeps the world from being there is the
 * environment's failure, not the agent's. Rejects with the signal's reason.
 */
export async function prepareWorld(
  scenario: Scenario,
  home: Home,
  options: { readonly setupMs: number; readonly signal?: AbortSignal | undefined },
): Promise<Prepared> {
  const directory = join(home.path, DEFAULT_ROOT);
  const variables = join(home.path, "environment");
  mkdirSync(directory);
  writeFileSync(variables, "");
  try {
    await copyFiles(scenario, directory);
  } catch (error) {
    return failed("copy_failed", `its files cannot be copied: ${codeOf(error)}`);
  }
  const fill = filler(scenario, home);
  const { setup } = scenario.world;
  if (setup !== undefined) {
    const { outcome, printed } = await runProgram(
      {
        runId: programId(home.runId, "setup"),
        command: setup.map(fill),
        cwd: directory,
        env: { UPHELD_ENV: variables },
        timeoutMs: options.setupMs,
      },
      options.signal,
    );
    if (outcome.kind === "timed_out")
      return failed("setup_timeout", `the setup ${describeOutcome(outcome)}`);
    if (!ranToItsEnd(outcome)) {
      const said = printed.join("\n").trim().slice(-500);
      return failed("setup_crashed", `the setup ${describeOutcome(outcome)}: ${said}`);
    }
  }
  const environment = variablesIn(readFileSync(variables, "utf8"));
  return databasesOf(scenario, { directory, environment, fill });
}

/** Runs the teardown, however the attempt ended; what it does not do is told by the next attempt's setup. */
export async function clearWorld(
  scenario: Scenario,
  home: Home,
  options: { readonly setupMs: number; readonly environment: Readonly<Record<string, string>> },
): Promise<void> {
  const { teardown } = scenario.world;
  if (teardown === undefined) return;
  const cwd = join(home.path, DEFAULT_ROOT);
  const command = teardown.map(filler(scenario, home));
  const { environment: env, setupMs: timeoutMs } = options;
  const runId = programId(home.runId, "teardown");
  // Not ended by an abort: what was made has to go.
  await runProgram({ runId, command, cwd, env, timeoutMs }, undefined);
}

/** Fills in `{suite}`, `{scenario}`, `{world}` and `{run}`. */
export function filler({ folder }: Scenario, home: Home): (text: string) => string {
  const places: Readonly<Record<string, string>> = {
    suite: home.suite,
    scenario: folder,
    world: join(home.path, DEFAULT_ROOT),
    // A name that every database takes.
    run: home.runId.replaceAll(/[^A-Za-z0-9]/g, "_").toLowerCase(),
  };
  return (text) =>
    text.replaceAll(/\{(suite|scenario|world|run)\}/g, (all, name: string) => places[name] ?? all);
}

async function copyFiles({ folder, world }: Scenario, directory: string): Promise<void> {
  const from = join(folder, world.files ?? "world");
  if (!existsSync(from)) return;
  await cp(from, directory, {
    recursive: true,
    preserveTimestamps: true,
    verbatimSymlinks: true,
  });
}

function databasesOf(
  { world }: Scenario,
  {
    directory,
    environment,
    fill,
  }: Pick<FreshWorld, "directory" | "environment"> & {
    readonly fill: (text: string) => string;
  },
): Prepared {
  const databases: { readonly name: string; readonly url: string }[] = [];
  for (const [name, given] of Object.entries(world.databases)) {
    const variable = /^env:(.+)$/s.exec(given)?.[1];
    const address =
      variable === undefined ? given : (environment[variable] ?? process.env[variable]);
    // The address itself is never told: it may hold a password.
    if (address === undefined || address === "")
      return failed("world_unavailable", `the database ${name}: ${variable ?? ""} is not set`);
    databases.push({ name, url: inWorld(fill(address), directory) });
  }
  return { world: { directory, databases, environment } };
}

/** A file of SQLite lies in the world unless its path is absolute. */
function inWorld(address: string, directory: string): string {
  const [, file] = /^sqlite:(?:\/\/)?([^/].*)$/s.exec(address) ?? [];
  return file === undefined ? address : `sqlite:${join(directory, file)}`;
}

function variablesIn(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    text.split(/\r?\n/).flatMap((line) => {
      const [, name, value] = VARIABLE.exec(line) ?? [];
      return name === undefined ? [] : [[name, value ?? ""]];
    }),
  );
}

function failed(code: string, message: string): Prepared {
  return { failure: { domain: "environment", stage: "setup", code, message } };
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
