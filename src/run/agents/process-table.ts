import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";

/** A process that is alive. A dead one that nobody has collected yet (a zombie) can do nothing and is left out. */
export interface LiveProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** 0 where it is not known. */
  readonly session: number;
  /** When it started, in ticks since the machine did; infinite where it is not known. */
  readonly startedTicks: number;
}

/** Names every enclosing run, outermost first, with ":" between; children inherit it, daemons too. */
export const RUNS_VARIABLE = "UPHELD_RUN_IDS";

/** All processes that this user can see. Linux reads /proc; elsewhere `ps` is asked; on Windows there are none to see. */
export function liveProcesses(): readonly LiveProcess[] {
  if (process.platform === "linux") return numericNames().flatMap(linuxProcess);
  return process.platform === "win32" ? [] : psProcesses();
}

/**
 * True where a process was started with this run in its environment. A process that clears its environment, or writes
 * over it (as some do to change their title), is not known by it. Linux only: elsewhere false.
 */
export function carriesRun(pid: number, runId: string): boolean {
  if (process.platform !== "linux") return false;
  try {
    const variables = readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
    const runs = variables.find((each) => each.startsWith(`${RUNS_VARIABLE}=`));
    return (
      runs
        ?.slice(RUNS_VARIABLE.length + 1)
        .split(":")
        .includes(runId) ?? false
    );
  } catch {
    return false;
  }
}

/** The processes and all that descend from them. */
export function withDescendants(
  roots: ReadonlySet<number>,
  processes: readonly LiveProcess[],
): ReadonlySet<number> {
  const children = groupByParent(processes);
  const found = new Set(roots);
  for (const pid of found) for (const child of children.get(pid) ?? []) found.add(child.pid);
  return found;
}

function groupByParent(processes: readonly LiveProcess[]): Map<number, LiveProcess[]> {
  const children = new Map<number, LiveProcess[]>();
  for (const each of processes) {
    const siblings = children.get(each.parent) ?? [];
    siblings.push(each);
    children.set(each.parent, siblings);
  }
  return children;
}

function numericNames(): readonly number[] {
  try {
    return readdirSync("/proc")
      .map(Number)
      .filter((pid) => Number.isSafeInteger(pid) && pid > 0);
  } catch {
    return [];
  }
}

/** When a process that was just started did so, dead or alive; 0 where it cannot be told. */
export function startedTicks(pid: number): number {
  const ticks = statFields(pid)?.[19];
  return ticks === undefined ? 0 : Number(ticks);
}

function statFields(pid: number): readonly string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name stands in parentheses and may itself hold blanks and parentheses.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

function linuxProcess(pid: number): readonly LiveProcess[] {
  const fields = statFields(pid);
  if (fields === undefined || fields[0] === "Z" || fields[0] === "X") return [];
  return [
    {
      pid,
      parent: Number(fields[1]),
      group: Number(fields[2]),
      session: Number(fields[3]),
      startedTicks: Number(fields[19]),
    },
  ];
}

function psProcesses(): readonly LiveProcess[] {
  const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid=,pgid=,stat="], { encoding: "utf8" });
  return (stdout ?? "").split("\n").flatMap((line) => {
    const [pid, parent, group, state] = line.trim().split(/\s+/);
    if (state === undefined || state.startsWith("Z")) return [];
    return [
      {
        pid: Number(pid),
        parent: Number(parent),
        group: Number(group),
        session: 0,
        startedTicks: Number.POSITIVE_INFINITY,
      },
    ];
  });
}
