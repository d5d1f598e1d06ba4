import { RunId } from "../core/ids.ts";
import type { AgentOutcome } from "../core/run.ts";
import { attemptOf } from "../run/new-run.ts";
import { commandAgent } from "../run/agents/command-agent.ts";

/** A program of the suite's own: it prepares a world, or runs a check. */
export interface ProgramPlan {
  /** Marks its processes, so that none is left. */
  readonly runId: RunId;
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** What it reads on standard input. */
  readonly input?: string;
  readonly timeoutMs: number;
}

export interface ProgramEnd {
  readonly outcome: AgentOutcome;
  /** What it printed, standard output and standard error each where there was any. */
  readonly printed: readonly string[];
}

/** Runs a program to its end with all that it started. Rejects with the signal's reason. */
export async function runProgram(
  { runId, command, cwd, env = {}, input, timeoutMs }: ProgramPlan,
  signal: AbortSignal | undefined,
): Promise<ProgramEnd> {
  const program = commandAgent(command, {
    cwd,
    env,
    stdin: input === undefined ? "ignore" : "prompt",
    stdout: null,
    stderr: null,
  });
  const { outcome, replies } = await program.run(
    {
      runId,
      attemptId: attemptOf(runId),
      messages: input === undefined ? [] : [{ role: "user", text: input }],
      roots: [],
    },
    { timeoutMs, ...(signal === undefined ? {} : { signal }) },
  );
  return { outcome, printed: replies.map(({ text, tail }) => tail ?? text) };
}

/** The id of a program that runs for an attempt. */
export function programId(runId: RunId, stage: string): RunId {
  return RunId.parse(`${runId}.${stage}`);
}
