import { lstatSync, mkdirSync, readFileSync, readdirSync, realpathSync } from "node:fs";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { z } from "zod";
import { UpheldError } from "../core/errors.ts";
import { RunId } from "../core/ids.ts";
import { isSameProcess, processMark } from "./process-mark.ts";

/** The variables of the environment that say where state lives. */
export interface StateEnvironment {
  readonly UPHELD_STATE_DIR?: string | undefined;
  readonly XDG_STATE_HOME?: string | undefined;
}

/** Where runs leave what must outlive them or survive a crash: outside every root, readable by its owner alone. */
export interface StateFolder {
  readonly path: string;
  /** Where isolated runs keep their layers, a folder a run. */
  readonly isolation: string;
}

const RunRecord = z
  .object({
    schemaVersion: z.literal(1),
    runId: RunId,
    /** The process that wrote this, told apart from a later one with its number. */
    owner: z.object({ pid: z.int().min(1), mark: z.string() }).readonly(),
    startedAt: z.string(),
    /** Folders in which a bundle is being written. */
    writesTo: z.array(z.string()).readonly(),
  })
  .readonly();
/** A run that has begun and not ended: `runs/RUN/run.json`. */
export type StartedRun = z.infer<typeof RunRecord>;

/**
 * The places where state may lie, best first: UPHELD_STATE_DIR alone when it is set; else XDG_STATE_HOME or
 * ~/.local/state, and a folder of this user below the temporary directory for roots that hold the home directory.
 * Throws "argument_invalid" where a variable holds no absolute path.
 */
export function stateCandidates(environment: StateEnvironment): readonly string[] {
  const own = environment.UPHELD_STATE_DIR;
  if (own !== undefined && own !== "") return [absolute("UPHELD_STATE_DIR", own)];
  const xdg = environment.XDG_STATE_HOME;
  const home = xdg === undefined || xdg === "" ? join(homedir(), ".local", "state") : xdg;
  const user = process.getuid?.() ?? "user";
  return [join(absolute("XDG_STATE_HOME", home), "upheld"), join(tmpdir(), `upheld-state-${user}`)];
}

/**
 * The first candidate that lies outside every root, made where it is missing. Throws "argument_invalid" where none does,
 * and "state_invalid" where it is a link, belongs to another user or is open to others.
 */
export function openStateFolder(
  candidates: readonly string[],
  roots: readonly string[],
): StateFolder {
  const path = candidates.find((each) => liesOutside(each, roots));
  if (path === undefined)
    throw new UpheldError(
      "argument_invalid",
      "the state folder would lie inside a root: set UPHELD_STATE_DIR to a directory outside of every root",
    );
  try {
    mkdirSync(join(path, "runs"), { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new UpheldError("state_invalid", `the state folder cannot be made: ${codeOf(cause)}`, {
      cause,
    });
  }
  refuseShared(path);
  return { path, isolation: join(path, "isolation") };
}

/** The candidates that exist and are ours: where earlier runs may have left something. */
export function existingStateFolders(candidates: readonly string[]): readonly StateFolder[] {
  return candidates.flatMap((path) => {
    try {
      refuseShared(path);
      return [{ path, isolation: join(path, "isolation") }];
    } catch {
      return [];
    }
  });
}

/** Notes that a run has begun, so that a later start can clear up after a crash. */
export function beginRun(
  folder: StateFolder,
  run: { readonly runId: RunId; readonly startedAt: string; readonly writesTo?: readonly string[] },
): void {
  const at = join(folder.path, "runs", run.runId);
  mkdirSync(at, { mode: 0o700 });
  const record: StartedRun = {
    schemaVersion: 1,
    runId: run.runId,
    owner: { pid: process.pid, mark: processMark(process.pid) },
    startedAt: run.startedAt,
    writesTo: run.writesTo ?? [],
  };
  const part = join(at, "run.part");
  writeFileSync(part, `${JSON.stringify(record)}\n`, { mode: 0o600 });
  renameSync(part, join(at, "run.json"));
}

/** Notes that a run has ended and left nothing to clear up. Its isolation layers stay until applied or discarded. */
export function endRun(folder: StateFolder, runId: RunId): void {
  rmSync(join(folder.path, "runs", runId), { recursive: true, force: true });
}

/** What removes each kind of thing that a killed run can leave. Each says how much it found. */
export interface Sweepers {
  /** Ends the run's processes; how many there were. */
  readonly agents: (runId: RunId) => Promise<number>;
  /** Unmounts and removes the run's layers; whether there were any. */
  readonly isolation: (folder: StateFolder, runId: RunId) => Promise<boolean>;
  /** Removes temporary files of dead writers; how many there were. */
  readonly temporary: (directory: string) => Promise<number>;
}

export interface SweptRuns {
  readonly runs: readonly string[];
  readonly agents: number;
  readonly isolations: number;
  readonly temporaryFiles: number;
}

/** Clears up after runs whose process is gone without having ended them. Leaves living ones alone. */
export async function sweepRuns(folder: StateFolder, sweepers: Sweepers): Promise<SweptRuns> {
  const runs: string[] = [];
  let swept = { agents: 0, isolations: 0, temporaryFiles: 0 };
  for (const name of namesIn(join(folder.path, "runs"))) {
    const id = RunId.safeParse(name);
    if (!id.success) continue;
    const record = readStarted(folder, id.data);
    if (record !== undefined && isSameProcess(record.owner.pid, record.owner.mark)) continue;
    if (record === undefined && isYoung(join(folder.path, "runs", name))) continue;
    const agents = await sweepers.agents(id.data);
    const isolation = await sweepers.isolation(folder, id.data);
    const files = await sweepEach(record?.writesTo ?? [], sweepers.temporary);
    endRun(folder, id.data);
    runs.push(name);
    swept = {
      agents: swept.agents + agents,
      isolations: swept.isolations + (isolation ? 1 : 0),
      temporaryFiles: swept.temporaryFiles + files,
    };
  }
  return { runs, ...swept };
}

async function sweepEach(
  directories: readonly string[],
  sweep: (directory: string) => Promise<number>,
): Promise<number> {
  let files = 0;
  for (const directory of directories) files += await sweep(directory);
  return files;
}

function readStarted(folder: StateFolder, runId: RunId): StartedRun | undefined {
  try {
    const text = readFileSync(join(folder.path, "runs", runId, "run.json"), "utf8");
    return RunRecord.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** A folder without its record may be one that is being made at this moment. */
function isYoung(path: string): boolean {
  try {
    return Date.now() - lstatSync(path).mtimeMs < 10_000;
  } catch {
    return true;
  }
}

function namesIn(path: string): readonly string[] {
  try {
    return readdirSync(path).toSorted();
  } catch {
    return [];
  }
}

function absolute(variable: string, path: string): string {
  if (isAbsolute(path)) return path;
  throw new UpheldError(
    "argument_invalid",
    `${variable} must be an absolute path, got ${JSON.stringify(path)}`,
  );
}

/** Whether a place, there or not yet, lies outside of every directory. */
export function liesOutside(path: string, directories: readonly string[]): boolean {
  const real = realOf(resolve(path));
  return directories.every((each) => !isInside(real, realOf(each)));
}

/** The real path of what exists, and the rest of the name below it. */
function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const above = dirname(path);
    return above === path ? path : join(realOf(above), path.slice(above.length));
  }
}

function isInside(path: string, root: string): boolean {
  const way = relative(root, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

function refuseShared(path: string): void {
  let there;
  try {
    there = lstatSync(path);
  } catch (cause) {
    throw new UpheldError("state_invalid", `the state folder cannot be read: ${codeOf(cause)}`, {
      cause,
    });
  }
  if (!there.isDirectory())
    throw new UpheldError("state_invalid", "the state folder is no directory");
  const user = process.getuid?.();
  if (user !== undefined && there.uid !== user)
    throw new UpheldError("state_invalid", "the state folder belongs to another user");
  if (user !== undefined && (there.mode & 0o077) !== 0)
    throw new UpheldError(
      "state_invalid",
      "the state folder is open to other users (expected mode 0700): chmod 700 it, or set UPHELD_STATE_DIR",
    );
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
