import { setTimeout as sleep } from "node:timers/promises";
import type { Writable } from "node:stream";
import { UpheldError } from "../../core/errors.ts";
import { gap, type Gap } from "../../core/gap.ts";
import { limitsOf, type Limits } from "../../core/limits.ts";
import type { AgentOutcome } from "../../core/run.ts";
import type { Agent, EndedProcesses, Reply, Turn, TurnResult } from "../agent.ts";
import { startCommand, type CommandPlan, type StartedCommand } from "./command-start.ts";
import { startGuardian, type Guardian } from "./guardian.ts";
import type { Isolation } from "../isolation/isolate.ts";
import {
  agentProcesses,
  endProcesses,
  NO_PROCESSES,
  type AgentProcesses,
} from "./process-group.ts";
import { startedTicks } from "./process-table.ts";
import { replyOutput, tee, type ReplyOutput, type Tee } from "./reply-output.ts";
import { limitTurn, type TurnLimit } from "./turn-ending.ts";

export interface CommandAgentOptions {
  /** Where the command runs. Default: the directory of this process. */
  readonly cwd?: string;
  /** Added to the environment of this process; `undefined` takes a name out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Hands the terminal on, keys included. What the agent says is then not recorded, which is a gap. Default false. */
  readonly interactive?: boolean;
  /** What it reads: our standard input, nothing, or the last message of the turn. Default: our standard input. */
  readonly stdin?: "inherit" | "ignore" | "prompt";
  /** Where its output goes beside the record; `null`: nowhere. Default: our standard output. */
  readonly stdout?: Writable | null;
  /** The same for its standard error. Default: ours. */
  readonly stderr?: Writable | null;
  /** From SIGTERM to SIGKILL. Default 2 000 ms. */
  readonly graceMs?: number;
  /**
   * What becomes of processes that outlive the command. They could go on writing while the world is observed, so they are
   * ended; "wait" lets them come to their end first, within the turn's time. Default "end".
   */
  readonly leftBehind?: "end" | "wait";
  readonly limits?: Partial<Pick<Limits, "maxReplyBytes">>;
  /** Told, with the reason, where nothing would end the agent if this process were killed. */
  readonly onUnguarded?: (why: string) => void;
  /** Starts the command in an overlay. */
  readonly isolation?: Pick<Isolation, "wrap" | "outcome" | "end">;
}

/** How long a stream that a process which could not be found still holds open may be silent before it is left. */
const SILENCE_MS = 500;
/** How long processes that are ending anyway have, before they count as left behind. */
const SETTLE_MS = 100;
const POLL_MS = 10;

/**
 * An agent that is a command. It gets a session and process group of its own, unless it is interactive: then it shares
 * ours, so that the terminal and its keys work as they do without us. Its standard output is the first reply and its
 * standard error the second, each only where there is any. When this process is killed, a guardian kills the agent.
 * Throws "argument_invalid". Gaps: "text_not_retained" where a stream held more than `maxReplyBytes` (default 262 144) or was open still,
 * "not_text", "evidence_kind_missing" where it was interactive.
 */
export function commandAgent(command: readonly string[], options: CommandAgentOptions = {}): Agent {
  const { maxReplyBytes } = limitsOf(options.limits);
  if (command.length === 0 || command[0] === "")
    throw new UpheldError("argument_invalid", "the agent's command is empty");
  if (command.some((word) => word.includes("\0")))
    throw new UpheldError("argument_invalid", "the agent's command holds a NUL");
  const interactive = options.interactive ?? false;
  return {
    kind: "command",
    ownsTerminal: interactive,
    identifier: () => ({
      name: "command-agent",
      version: "1",
      parameters: { interactive, maxReplyBytes, leftBehind: options.leftBehind ?? "end" },
      children: [],
    }),
    async run(turn, turnOptions = {}) {
      const limit = limitTurn(turnOptions.timeoutMs, turnOptions.signal);
      const guardian = startGuardian(turn.runId, { onMissing: options.onUnguarded });
      const returnKeys = interactive ? leaveKeysToAgent() : undefined;
      try {
        return await runCommand(command, options, { turn, limit, guardian, maxReplyBytes });
      } finally {
        options.isolation?.end();
        returnKeys?.();
        guardian.release();
        limit.clear();
      }
    },
  };
}

interface CommandTurn {
  readonly turn: Turn;
  readonly limit: TurnLimit;
  readonly guardian: Guardian;
  readonly maxReplyBytes: number;
}

async function runCommand(
  command: readonly string[],
  options: CommandAgentOptions,
  { turn, limit, guardian, maxReplyBytes }: CommandTurn,
): Promise<TurnResult> {
  const from = performance.now();
  const started = startCommand(planOf(command, options, turn));
  if ("reason" in started) {
    const outcome: AgentOutcome = { kind: "not_started", reason: started.reason };
    return { outcome, durationMs: performance.now() - from, replies: [], gaps: [] };
  }
  const target = targetOf(turn, started);
  if (started.ownGroup && target.leader !== undefined) guardian.guard(target.leader);
  const streams = recordedStreams(started, options, maxReplyBytes);
  try {
    const ended = await seeToTheEnd(started, target, options, limit);
    await drain(streams, limit);
    const record = recordOf(streams, options.interactive ?? false, ended.outcome);
    return { ...ended, durationMs: performance.now() - from, ...record };
  } finally {
    for (const stream of streams) stream.tee.stop();
  }
}

function planOf(
  command: readonly string[],
  options: CommandAgentOptions,
  { runId, messages }: Turn,
): CommandPlan {
  return {
    command,
    runId,
    cwd: options.cwd ?? process.cwd(),
    env: options.env ?? {},
    interactive: options.interactive ?? false,
    stdin: options.stdin ?? "inherit",
    prompt: messages.at(-1)?.text ?? "",
    isolation: options.isolation,
  };
}

function targetOf({ runId }: Turn, { child, ownGroup }: StartedCommand): AgentProcesses {
  if (child.pid === undefined) return { runId, ownGroup };
  return { runId, ownGroup, leader: child.pid, sinceTicks: startedTicks(child.pid) };
}

async function seeToTheEnd(
  { exited }: StartedCommand,
  target: AgentProcesses,
  options: CommandAgentOptions,
  limit: TurnLimit,
): Promise<{ readonly outcome: AgentOutcome; readonly processes: EndedProcesses }> {
  const grace = options.graceMs === undefined ? {} : { graceMs: options.graceMs };
  let ending: AgentOutcome | { readonly kind: "aborted"; readonly reason: unknown } =
    await Promise.race([exited, limit.passed]);
  if (ending.kind !== "timed_out" && ending.kind !== "aborted") {
    const waitMs = options.leftBehind === "wait" ? Number.POSITIVE_INFINITY : SETTLE_MS;
    const late = await Promise.race([allGone(target, waitMs, limit.signal), limit.passed]);
    if (late === true) return { outcome: ending, processes: NO_PROCESSES };
    if (late !== false && late.kind === "aborted") ending = late;
  }
  const processes = await endProcesses(target, grace);
  if (ending.kind === "aborted") throw ending.reason;
  return { outcome: ending, processes };
}

async function allGone(
  target: AgentProcesses,
  waitMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const until = performance.now() + waitMs;
  while (agentProcesses(target).length > 0) {
    if (signal.aborted || performance.now() > until) return false;
    await sleep(POLL_MS);
  }
  return true;
}

interface RecordedStream {
  readonly location: string;
  readonly output: ReplyOutput;
  readonly tee: Tee;
}

function recordedStreams(
  { child }: StartedCommand,
  { stdout = process.stdout, stderr = process.stderr }: CommandAgentOptions,
  maxReplyBytes: number,
): readonly RecordedStream[] {
  const streams = [
    { location: "reply (standard output)", from: child.stdout, to: stdout },
    { location: "reply (standard error)", from: child.stderr, to: stderr },
  ];
  return streams.flatMap(({ location, from, to }) => {
    if (from === null) return [];
    const output = replyOutput(maxReplyBytes);
    return [{ location, output, tee: tee(from, to ?? undefined, output) }];
  });
}

/** Until every stream has ended. One that a slow sink holds up is waited for in the turn's time; one that is silent is not. */
async function drain(streams: readonly RecordedStream[], { signal }: TurnLimit): Promise<void> {
  const all = Promise.all(streams.map((stream) => stream.tee.done));
  let before = -1;
  for (;;) {
    const bytes = streams.reduce((sum, { output }) => sum + output.totalBytes(), 0);
    const heldUp = !signal.aborted && streams.some((stream) => stream.tee.isHeldUp());
    if (bytes === before && !heldUp) return;
    before = bytes;
    const pause = new AbortController();
    const silence = sleep(SILENCE_MS, "silent", { signal: pause.signal });
    const next = await Promise.race([all, silence]);
    pause.abort();
    if (next !== "silent") return;
  }
}

function recordOf(
  streams: readonly RecordedStream[],
  interactive: boolean,
  outcome: AgentOutcome,
): { readonly replies: readonly Reply[]; readonly gaps: readonly Gap[] } {
  const said = streams.filter(({ output }) => output.totalBytes() > 0);
  const gaps = said.flatMap(({ location, output }) => output.gaps(location));
  const cutOff = streams
    .filter(({ tee: each }) => !each.hasEnded())
    .map(({ location }) => stillOpen(location));
  const missing = interactive && outcome.kind !== "not_started" ? [unrecorded()] : [];
  return {
    replies: said.map(({ output }) => output.reply()),
    gaps: [...gaps, ...cutOff, ...missing],
  };
}

function stillOpen(location: string): Gap {
  return gap("text_not_retained", location, {
    detail: "it had not ended with the agent, and may have gone on",
    remedy: "End every process that writes to it before the agent ends.",
  });
}

function unrecorded(): Gap {
  return gap("evidence_kind_missing", "reply", {
    detail: "the agent spoke to the terminal itself",
    remedy: "Run it without a terminal: upheld run ... | cat.",
  });
}

const ignore = (): void => {};

/** Ctrl-C and Ctrl-\ reach every process of the terminal's group. Ours must outlive them, to see what the agent did. */
function leaveKeysToAgent(): () => void {
  process.on("SIGINT", ignore).on("SIGQUIT", ignore);
  return () => void process.off("SIGINT", ignore).off("SIGQUIT", ignore);
}
