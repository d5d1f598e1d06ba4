import { setTimeout as sleep } from "node:timers/promises";
import type { EndedProcesses } from "../agent.ts";
import { carriesRun, liveProcesses, withDescendants, type LiveProcess } from "./process-table.ts";

/** Whose processes are meant. */
export interface AgentProcesses {
  readonly runId: string;
  /** The process that was started; absent when only the run's name is known. */
  readonly leader?: number;
  /** Whether the leader got a group and session of its own. */
  readonly ownGroup?: boolean;
  /** When the leader started: what is older is not looked at. */
  readonly sinceTicks?: number;
}

export interface EndOptions {
  /** How long the processes have between SIGTERM and SIGKILL. Default 2 000 ms; 0 kills at once. */
  readonly graceMs?: number;
}

/** How long killed processes are waited for; what is left then is stuck in the kernel. */
const KILL_WAIT_MS = 5_000;
const POLL_MS = 10;
/** Nothing was left. */
export const NO_PROCESSES: EndedProcesses = { found: 0, daemons: 0, killed: 0, remaining: 0 };

/**
 * The live processes of an agent: the leader, its group and session, all that carry the run in their environment, and what
 * descends from any of these. One that left the session, cleared its environment and lost its parent is not found:
 * only `--isolate` holds such a process. Outside Linux the environment and the session are not seen.
 */
export function agentProcesses(target: AgentProcesses): readonly LiveProcess[] {
  const processes = liveProcesses();
  const roots = processes.filter((each) => isRoot(each, target)).map(({ pid }) => pid);
  const found = withDescendants(new Set(roots), processes);
  return processes.filter(({ pid }) => found.has(pid) && pid !== process.pid);
}

function isRoot(
  candidate: LiveProcess,
  { runId, leader, ownGroup, sinceTicks = 0 }: AgentProcesses,
): boolean {
  if (candidate.startedTicks < sinceTicks) return false;
  if (leader !== undefined && candidate.pid === leader) return true;
  const shares = candidate.group === leader || candidate.session === leader;
  return (ownGroup === true && shares) || carriesRun(candidate.pid, runId);
}

/** Ends every process of an agent: SIGTERM, a grace, SIGKILL, until none is left. Never rejects. */
export async function endProcesses(
  target: AgentProcesses,
  { graceMs = 2_000 }: EndOptions = {},
): Promise<EndedProcesses> {
  if (process.platform === "win32") return endOnWindows(target);
  const daemons = new Set<number>();
  const look = (): readonly LiveProcess[] => {
    const alive = agentProcesses(target);
    for (const each of alive) if (each.group !== target.leader) daemons.add(each.pid);
    return alive;
  };
  if (look().length === 0) return NO_PROCESSES;
  const asked = await signalUntilGone(look, graceMs, (pid) => {
    send(pid, "SIGTERM");
    // A stopped process sees the request only once it goes on.
    send(pid, "SIGCONT");
  });
  const killed = await signalUntilGone(look, KILL_WAIT_MS, (pid) => send(pid, "SIGKILL"));
  return {
    found: new Set([...asked, ...killed]).size,
    daemons: target.ownGroup === true ? daemons.size : 0,
    killed: killed.size,
    remaining: look().length,
  };
}

/** Signals each process once, also those that appear meanwhile, until none is left or the time is over. */
async function signalUntilGone(
  look: () => readonly LiveProcess[],
  waitMs: number,
  signal: (pid: number) => void,
): Promise<ReadonlySet<number>> {
  const signaled = new Set<number>();
  const until = performance.now() + waitMs;
  while (performance.now() < until) {
    const alive = look();
    if (alive.length === 0) break;
    for (const { pid } of alive) {
      if (!signaled.has(pid)) signal(pid);
      signaled.add(pid);
    }
    await sleep(POLL_MS);
  }
  return signaled;
}

/** Ends what a run left that its own process could no longer end. Finds processes by their environment: Linux only. */
export function sweepAgents(runId: string, options: EndOptions = {}): Promise<EndedProcesses> {
  return endProcesses({ runId }, options);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone already, or of another user: the next look tells.
  }
}

/** Not verified: there are no groups there, so only the leader is ended. */
function endOnWindows({ leader }: AgentProcesses): EndedProcesses {
  if (leader === undefined) return NO_PROCESSES;
  send(leader, "SIGKILL");
  return { ...NO_PROCESSES, found: 1, killed: 1 };
}
