import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
} from "node:fs";
import { chmodSync, chownSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { UpheldError } from "../../core/errors.ts";
import { applyWriteSet } from "./apply.ts";
import type { ApplyOptions, ApplyResult } from "./apply.ts";
import {
  TOOL_PATH,
  namespaceArguments,
  overlayOptions,
  removeState,
  runTool,
} from "./namespace.ts";
import type { IsolationPlan } from "./probe.ts";
import { currentBootId, readRecord, runFolder, writeRecord } from "./record-file.ts";
import type { IsolationRecord } from "./record-file.ts";
import { readWriteSet } from "./write-set.ts";
import type { WriteSet, WriteSetOptions } from "./write-set.ts";

/** How to start a command. Spawn exactly this; put your own `env` and `stdio` beside it. */
export interface WrappedCommand {
  readonly file: string;
  readonly args: readonly string[];
  /** No handle to the real tree may be handed on, not even as a working directory. */
  readonly cwd: "/";
}

const Outcome = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("exited"), code: z.int() }),
  z.object({ kind: z.literal("signalled"), signal: z.string() }),
  /** The command is not there (ENOENT) or may not be started (EACCES). */
  z.object({ kind: z.literal("not_started"), code: z.string() }),
  /** The overlay could not be mounted after all; the command was not started. */
  z.object({ kind: z.literal("not_isolated"), reason: z.string() }),
]);
/** How the agent ended, as seen by its parent. */
export type IsolatedOutcome = z.infer<typeof Outcome>;

/** What isolated runs wrote and did not yet give to the real tree. */
export interface KeptWrites {
  readonly runId: string;
  readonly roots: readonly { readonly name: string; readonly dir: string }[];
  /** What the agent wrote below one root, once it has ended. Costs the changes, not the tree. Throws "state_invalid". */
  writeSet(rootName: string, options: WriteSetOptions): Promise<WriteSet>;
  /** Writes it into the real root, or names why not and writes nothing. After a crash, call it again. */
  apply(rootName: string, options?: ApplyOptions): Promise<ApplyResult>;
  /** Removes all state of this run; the real tree stays as it is. */
  discard(): Promise<void>;
}

/** A run that may start. When this process goes, in whatever way, every process of the run is killed. */
export interface Isolation extends KeptWrites {
  /**
   * What to spawn so that `command` runs in the overlay, in `cwd` and with the environment and the standard streams of
   * the spawn. One command a run: a second finds the layers used and is not started. Its exit code is the command's, 128 + n after signal n; `outcome` tells the two apart.
   */
  wrap(command: readonly string[], cwd: string): WrappedCommand;
  /** How the command ended, given what the spawned process reported. */
  outcome(code: number | null, signal: string | null): IsolatedOutcome;
  /** Kills every process in the overlay. To end the agent gently, signal the group of the spawned process. */
  end(): void;
}

/** Lays out the state of one run below `plan.stateDir`. Throws "isolation_unavailable" where that fails. */
export async function isolate(plan: IsolationPlan, runId: string): Promise<Isolation> {
  const folder = runFolder(plan.stateDir, runId);
  if (existsSync(folder))
    throw new UpheldError("argument_invalid", `run "${runId}" exists already`);
  let alive: number | undefined;
  let record: IsolationRecord;
  try {
    record = layOut(plan, folder, runId);
    alive = await openAlive(folder);
  } catch (cause) {
    await removeState(folder, plan.namespaces);
    throw new UpheldError("isolation_unavailable", "the overlay's folders cannot be made", {
      cause,
    });
  }
  const end = (): void => {
    if (alive !== undefined) closeSync(alive);
    alive = undefined;
  };
  const kept = keptWrites(folder, record);
  return {
    ...kept,
    wrap: (command, cwd) => wrapCommand(folder, record, command, cwd),
    outcome: (code, signal) => readOutcome(folder) ?? outcomeFrom(code, signal),
    end,
    discard: async () => {
      end();
      await kept.discard();
    },
  };
}

/** What a run of an earlier process left. Throws "run_unknown", "state_invalid", "argument_invalid". */
export function openWrites(stateDir: string, runId: string): KeptWrites {
  const folder = runFolder(stateDir, runId);
  return keptWrites(folder, readRecord(folder, runId));
}

function keptWrites(folder: string, record: IsolationRecord): KeptWrites {
  return {
    runId: record.runId,
    roots: record.roots.map(({ name, dir }) => ({ name, dir })),
    writeSet: (rootName, options) =>
      readWriteSet(folder, record, indexOf(record, rootName), options),
    apply: (rootName, options) =>
      applyWriteSet(folder, record, indexOf(record, rootName), options ?? {}),
    discard: () => removeState(folder, record.namespaces),
  };
}

function indexOf(record: IsolationRecord, rootName: string): number {
  const index = record.roots.findIndex(({ name }) => name === rootName);
  if (index >= 0) return index;
  throw new UpheldError("argument_invalid", `run "${record.runId}" has no root "${rootName}"`);
}

function layOut(plan: IsolationPlan, folder: string, runId: string): IsolationRecord {
  mkdirSync(folder, { mode: 0o700 });
  const roots = plan.roots.map(({ name, dir }, index) => {
    const { dev, ino } = layOutRoot(join(folder, String(index)), dir);
    return { name, dir, dev: String(dev), ino: String(ino) };
  });
  // The agent starts tens of milliseconds later, so a file that it could have read is not newer than this mark.
  const mark = join(folder, "started");
  writeFileSync(mark, "", { mode: 0o600 });
  const record: IsolationRecord = {
    schemaVersion: 1,
    runId,
    startedNs: String(lstatSync(mark, { bigint: true }).ctimeNs),
    bootId: currentBootId(),
    ownerPid: process.pid,
    namespaces: plan.namespaces,
    uid: process.geteuid?.() ?? 0,
    gid: process.getegid?.() ?? 0,
    unshare: plan.unshare,
    overlayOptions: overlayOptions(plan.namespaces),
    roots,
  };
  writeRecord(folder, record);
  return record;
}

/** The merged root shows the attributes of the upper directory, so they must be those of the real one. */
function layOutRoot(folder: string, dir: string): { dev: bigint; ino: bigint } {
  const upper = join(folder, "upper");
  mkdirSync(upper, { recursive: true, mode: 0o700 });
  mkdirSync(join(folder, "work"), { mode: 0o700 });
  mkdirSync(join(folder, "merged"), { mode: 0o700 });
  symlinkSync(dir, join(folder, "lower"));
  const real = lstatSync(dir, { bigint: true });
  if (process.geteuid?.() === 0) chownSync(upper, Number(real.uid), Number(real.gid));
  chmodSync(upper, Number(real.mode & 0o7777n));
  utimesSync(upper, Number(real.atimeNs) / 1e9, Number(real.mtimeNs) / 1e9);
  return { dev: real.dev, ino: real.ino };
}

/** A pipe that this process alone holds open for writing: its end is how the run learns that we are gone. */
async function openAlive(folder: string): Promise<number> {
  const path = join(folder, "alive");
  const { code, complaint } = await runTool("mkfifo", ["-m", "600", path]);
  if (code !== 0) throw new Error(complaint);
  return openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
}

/** Init is a shell, as it reaps orphans; the supervisor's environment is bare, so that none of it takes hold there. */
const INIT = 'cd /; path=$1; shift; env -i "PATH=$path" "$@"; exit $?';

function wrapCommand(
  folder: string,
  record: IsolationRecord,
  command: readonly string[],
  cwd: string,
): WrappedCommand {
  if (command.length === 0) throw new UpheldError("argument_invalid", "the command is empty");
  const supervisor = fileURLToPath(new URL("./supervisor.mjs", import.meta.url));
  return {
    file: record.unshare,
    args: [
      ...namespaceArguments(record.namespaces, { processes: true }),
      "sh",
      "-c",
      INIT,
      "upheld-init",
      TOOL_PATH,
      process.execPath,
      supervisor,
      folder,
      cwd,
      ...command,
    ],
    cwd: "/",
  };
}

function readOutcome(folder: string): IsolatedOutcome | undefined {
  try {
    return Outcome.parse(JSON.parse(readFileSync(join(folder, "outcome.json"), "utf8")));
  } catch {
    return undefined;
  }
}

function outcomeFrom(code: number | null, signal: string | null): IsolatedOutcome {
  if (signal !== null) return { kind: "signalled", signal };
  if (code === null || code >= 128) return { kind: "signalled", signal: "SIGKILL" };
  return { kind: "not_isolated", reason: `the namespaces could not be made (unshare: ${code})` };
}
