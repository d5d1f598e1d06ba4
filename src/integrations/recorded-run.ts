import { appendFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { DEFAULT_ROOT } from "../core/locator.ts";
import type { CallOutcome } from "../core/tool-call.ts";
import type { RunRecord } from "../evidence/record/run-record.ts";
import type { Agent } from "../run/agent.ts";
import { commandAgent } from "../run/agents/command-agent.ts";
import { functionAgent, type AgentFunction } from "../run/agents/function-agent.ts";
import { recordCalls } from "../run/call-recording.ts";
import { attemptOf, clockOf, newRunId } from "../run/new-run.ts";
import { recordRun as record } from "../run/record.ts";
import { LocalFileSurfaceSource } from "../sources/local-files/source.ts";
import { SqlSurfaceSource } from "../sources/sql/source.ts";
import { beginRun, endRun, openStateFolder, stateCandidates } from "../store/state-folder.ts";

/** A tool call that a function tells of. */
export interface ToldCall {
  readonly name: string;
  readonly arguments?: unknown;
  readonly result?: unknown;
  /** Default "ok". */
  readonly outcome?: CallOutcome;
}

/** What a function under test is told beside the messages. */
export interface TestTurn {
  readonly signal: AbortSignal;
  /** Says that a tool was called. Where a run never says so, it is not known whether it called any. */
  readonly recordCall: (call: ToldCall) => void;
}

/** The agent under test: a function that answers, or a command that reads the prompt on standard input. */
export type TestedAgent =
  | ((messages: Parameters<AgentFunction>[0], turn: TestTurn) => Promise<string> | string)
  | {
      readonly command: readonly string[];
      readonly cwd?: string;
      readonly env?: Readonly<Record<string, string | undefined>>;
    };

/** A run to record. */
export interface TestedRun {
  readonly agent: TestedAgent;
  readonly prompt?: string;
  /** Directories by name; default: the working directory, as `workspace`. */
  readonly roots?: Readonly<Record<string, string>>;
  /** Addresses of databases by name. */
  readonly databases?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  /** Milliseconds for the agent; default: no limit. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** A run that was recorded, for the matchers. */
export class RecordedRun {
  readonly record: RunRecord;

  constructor(recorded: RunRecord) {
    this.record = recorded;
  }

  /** What the agent said. */
  get reply(): string {
    return this.record.observations
      .flatMap(({ payload }) =>
        payload.kind === "conversation" ? payload.conversation.messages : [],
      )
      .filter(({ role }) => role === "assistant")
      .map(({ text }) => text)
      .join("\n");
  }
}

/**
 * Runs an agent between a look at the world before and one after, and keeps what it changed, said and called. An agent's own
 * failure is `record.run.agent.outcome`, no exception. Rejects with the signal's reason.
 */
export async function recordRun(asked: TestedRun): Promise<RecordedRun> {
  const roots = Object.entries(asked.roots ?? { [DEFAULT_ROOT]: "." }).map(([name, directory]) => ({
    name,
    directory: resolve(directory),
  }));
  const state = openStateFolder(
    stateCandidates(process.env),
    roots.map(({ directory }) => directory),
  );
  const runId = newRunId(new Date());
  const clock = clockOf(roots);
  beginRun(state, { runId, startedAt: clock() });
  const scratch = join(state.path, "runs", runId);
  const attemptId = attemptOf(runId);
  await using sources = sourcesOf(roots, asked, scratch);
  try {
    const file = join(scratch, "calls.jsonl");
    await using recording = await recordCalls(
      { file, otlp: "on" },
      {
        attemptId,
        clock,
        limits: {},
        environment: process.env,
        tell: () => {},
        isCommand: typeof asked.agent !== "function",
      },
    );
    const { signal, prompt, timeoutMs, labels = {} } = asked;
    const recorded = await record(
      {
        runId,
        attemptId,
        labels,
        roots: sources.watched,
        agent: agentOf(asked, { file, environment: recording.environment }),
        agentRoots: roots.map(({ name, directory: dir }) => ({ name, dir })),
        prompts: prompt === undefined ? [] : [{ role: "user", text: prompt }],
        // Kept in any case: a matcher may ask for them.
        calls: { ...recording.calls, isWorthTelling: () => true },
        timeoutMs,
      },
      { clock, ...(signal === undefined ? {} : { signal }) },
    );
    return new RecordedRun(recorded.record);
  } finally {
    endRun(state, runId);
  }
}

function sourcesOf(
  roots: readonly { readonly name: string; readonly directory: string }[],
  { databases = {} }: TestedRun,
  folder: string,
) {
  const files = roots.map((root) => ({
    name: root.name,
    surface: "file",
    source: new LocalFileSurfaceSource(root),
    takesBaseline: true,
  }));
  const tables = Object.entries(databases).map(([name, url]) => ({
    name,
    surface: "sql",
    source: new SqlSurfaceSource({ name, url }, { folder }),
    takesBaseline: true,
  }));
  return {
    watched: [...files, ...tables],
    async [Symbol.asyncDispose]() {
      for (const { source } of [...files, ...tables]) await source[Symbol.asyncDispose]();
    },
  };
}

function agentOf(
  { agent, prompt }: TestedRun,
  calls: {
    readonly file: string;
    readonly environment: Readonly<Record<string, string | undefined>>;
  },
): Agent {
  if (typeof agent === "function")
    return functionAgent((messages, { signal }) =>
      agent(messages, {
        signal,
        recordCall: (call) =>
          appendFileSync(calls.file, `${JSON.stringify({ outcome: "ok", ...call })}\n`),
      }),
    );
  return commandAgent(agent.command, {
    ...(agent.cwd === undefined ? {} : { cwd: agent.cwd }),
    env: { ...calls.environment, ...agent.env },
    stdin: prompt === undefined ? "ignore" : "prompt",
    stdout: null,
    stderr: null,
  });
}
