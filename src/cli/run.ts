import { dirname, join, resolve } from "node:path";
import type { RunId } from "../core/ids.ts";
import type { Agent, EndedProcesses, Prompt } from "../run/agent.ts";
import type { Clock } from "../run/clock.ts";
import { commandAgent } from "../run/agents/command-agent.ts";
import { endpointAgent } from "../run/agents/endpoint-agent.ts";
import { captureLimits } from "../run/capture-world.ts";
import type { Isolation } from "../run/isolation/isolate.ts";
import { recordRun, type RecordedAttempt, type RunStep } from "../run/record.ts";
import { counted } from "../report/bounds.ts";
import type { RunRecord } from "../evidence/record/run-record.ts";
import {
  beginRun,
  endRun,
  openStateFolder,
  stateCandidates,
  type StateFolder,
} from "../store/state-folder.ts";
import { recordCalls } from "../run/call-recording.ts";
import { printable } from "../report/printable.ts";
import type { Command, CommandContext } from "./command.ts";
import type { Interruption } from "./interrupt.ts";
import { chooseIsolation, type IsolationChoice } from "./isolated-run.ts";
import { attemptOf, clockOf, newRunId } from "../run/new-run.ts";
import { parseOptions } from "./options.ts";
import type { RunDelivery } from "./delivery-options.ts";
import { EXIT } from "./exit.ts";
import { countedIn, progressOn, type Progress } from "./progress.ts";
import { publish, refuseUnwritable } from "./publish.ts";
import { replyHints } from "./reply-hints.ts";
import { askedRun, RUN_OPTIONS, type AskedRun } from "./run-options.ts";
import { hideDeclared, hideSecrets } from "./secrets.ts";
import { sweepState } from "./sweep.ts";
import { WatchedRoots } from "./watched-roots.ts";

export const runCommand: Command = {
  name: "run",
  summary: "Run an agent and say what it did to the files.",
  usage: [
    "upheld run [OPTIONS] -- COMMAND...",
    "upheld run [OPTIONS] --endpoint URL --prompt TEXT",
  ],
  options: RUN_OPTIONS,
  examples: [
    ["what does this command change in this directory?", "upheld run -- python agent.py"],
    [
      "decide claims, and seal the evidence",
      "upheld run --expect claims.yaml --save run.upheld -- python agent.py",
    ],
    [
      "two roots, ten minutes at most",
      "upheld run --root workspace=./work --root home=/home/agent --timeout 600 -- ./agent",
    ],
    ["record its tool calls, too", "upheld run --calls calls.jsonl -- python agent.py"],
    ["look before it counts: apply or discard afterwards", "upheld run --isolate -- ./agent"],
    ["sign the evidence", "upheld run --save run.upheld --key agent.key -- python agent.py"],
    [
      "deliver receipt and evidence to a collector",
      "upheld run --expect claims.yaml --save run.upheld --deliver URL --token env:VAR -- ./agent",
    ],
    ["for a program to read", "upheld run --json -- ./agent > report.json"],
  ],
  async run(args, context) {
    const { terminal, environment } = context;
    hideDeclared(parseOptions(RUN_OPTIONS, args), context);
    const asked = await askedRun(args, environment);
    hideSecrets(asked.secrets, terminal);
    await refuseUnwritable(asked.save);
    const candidates = stateCandidates(environment);
    await sweepState(candidates, terminal);
    const state = openStateFolder(
      candidates,
      asked.roots.map(({ directory }) => directory),
    );
    const clock = clockOf(asked.roots);
    const runId = newRunId(new Date());
    const writesTo = asked.save === undefined ? [] : [dirname(resolve(asked.save))];
    beginRun(state, { runId, startedAt: clock(), writesTo });
    try {
      const isolation = await chooseIsolation(asked, state, runId);
      const scratch = join(state.path, "runs", runId);
      return await runIsolated(asked, { runId, clock, isolation, scratch, state }, context);
    } finally {
      endRun(state, runId);
    }
  },
};

interface Started {
  readonly runId: RunId;
  readonly clock: Clock;
  readonly isolation: IsolationChoice;
  /** A folder of the run, outside of every root; gone with it. */
  readonly scratch: string;
  readonly state: StateFolder;
}

/** What an isolated run wrote is kept only when the run came to a report. */
async function runIsolated(
  asked: AskedRun,
  started: Started,
  context: CommandContext,
): Promise<number> {
  const { isolation, reason } = started.isolation;
  const { terminal } = context;
  if (reason !== undefined) terminal.err(`  isolate    ${reason}; the baseline is used instead\n`);
  let kept = false;
  try {
    const { record, turn } = await recordAsked(asked, started, context);
    tellProcesses(turn.processes, context);
    const hints = replyHints(turn, record, asked.roots);
    const { json, save, signer, sealer, secrets, reports } = asked;
    const exitCode = await publish(
      inScenario(record, asked.delivery),
      { json, save, signer, sealer, hints, secrets, reports },
      context,
    );
    kept = isolation !== undefined;
    if (kept) terminal.err(isolatedText(started.runId));
    const delivered = await delivery(asked, started, context);
    return exitCode === EXIT.asExpected ? delivered : exitCode;
  } finally {
    if (!kept) await isolation?.discard();
  }
}

/** A run that is delivered says in its evidence which scenario of which job it is. */
function inScenario(record: RunRecord, asked: RunDelivery | undefined): RunRecord {
  if (asked === undefined) return record;
  const { scenario } = asked;
  return { ...record, scenario: { ...scenario, jobId: scenario.jobId ?? record.run.runId } };
}

async function delivery(
  { delivery: asked, save }: AskedRun,
  { state, runId }: Started,
  context: CommandContext,
): Promise<number> {
  if (asked === undefined || save === undefined) return EXIT.asExpected;
  // Loaded where something is delivered.
  const { deliverRun } = await import("./delivery.ts");
  return deliverRun(save, asked, { state, runId }, context);
}

function isolatedText(runId: RunId): string {
  return [
    "  isolated   the real directories are as they were:",
    `             upheld apply ${runId}     writes the changes into them`,
    `             upheld discard ${runId}   throws the changes away`,
    "",
  ].join("\n");
}

async function recordAsked(
  asked: AskedRun,
  { runId, clock, isolation, scratch }: Started,
  { terminal, interruption, environment }: CommandContext,
): Promise<RecordedAttempt> {
  const { signal } = interruption;
  const { limits, strict, wishes, databases, holdMs } = asked;
  const attemptId = attemptOf(runId);
  const isCommand = asked.agent.kind === "command";
  const capture = asked.save === undefined ? undefined : captureLimits(limits.limits);
  const keepsMoment = capture !== undefined;
  const world = { limits, strict, wishes, isolation, databases };
  await using watched = new WatchedRoots(asked.roots, {
    ...world,
    signal,
    holdMs,
    scratch,
    keepsMoment,
  });
  await using recording = await recordCalls(asked.calls, {
    attemptId,
    clock,
    limits: limits.limits,
    environment,
    tell: (why) => terminal.err(`  otlp       ${printable(why)}\n`),
    isCommand,
  });
  const { agent, prompts } = agentOf(asked, {
    isolation: isolation.isolation,
    isInteractive: terminal.isInteractive,
    env: { ...recording.environment, ...withoutToken(asked.delivery) },
    onUnguarded: (why) =>
      terminal.err(`  agent      nothing ends it if upheld itself is killed: ${printable(why)}\n`),
  });
  const progress = progressOn(terminal);
  const plan = {
    runId,
    attemptId,
    labels: asked.labels,
    roots: watched.roots,
    agent,
    agentRoots: asked.roots.map(({ name, directory }) => ({ name, dir: directory })),
    prompts,
    claims: asked.claims,
    calls: recording.calls,
    timeoutMs: asked.timeoutMs,
    capture,
  };
  try {
    return await recordRun(plan, {
      clock,
      signal,
      onListed: (root, listed) => progress.update(root, listed),
      onStep: (step) => tellStep(step, progress, interruption),
      beforeAgent: () => {
        progress.clear();
        if (agent.ownsTerminal) interruption.leaveKeys();
      },
    });
  } finally {
    progress.clear();
  }
}

function withoutToken(asked: RunDelivery | undefined): Readonly<Record<string, undefined>> {
  return asked === undefined ? {} : { [asked.tokenVariable]: undefined };
}

interface AgentSetting {
  readonly isolation: Isolation | undefined;
  readonly isInteractive: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onUnguarded: (why: string) => void;
}

function agentOf(
  { agent, json, limits }: AskedRun,
  { isolation, isInteractive, env, onUnguarded }: AgentSetting,
): { readonly agent: Agent; readonly prompts: readonly Prompt[] } {
  const { maxReplyBytes } = limits.limits;
  const bound = maxReplyBytes === undefined ? {} : { limits: { maxReplyBytes } };
  switch (agent.kind) {
    case "endpoint":
      return {
        agent: endpointAgent(agent.url, bound),
        prompts: [{ role: "user", text: agent.prompt }],
      };
    case "command": {
      const command = commandAgent(agent.command, {
        interactive: isInteractive && !json,
        env,
        onUnguarded,
        stdout: json ? process.stderr : process.stdout,
        ...bound,
        ...(isolation === undefined ? {} : { isolation }),
      });
      return { agent: command, prompts: [] };
    }
  }
}

function tellStep(step: RunStep, progress: Progress, interruption: Interruption): void {
  switch (step.kind) {
    case "baseline":
      progress.done("baseline", `${countedIn(step.entries, step.durationMs)}   ${step.root}:/`);
      return;
    case "agent":
      interruption.takeKeysBack();
  }
}

function tellProcesses(ended: EndedProcesses | undefined, { terminal }: CommandContext): void {
  if (ended === undefined || ended.found === 0) return;
  const left = counted(ended.found, "process", "processes");
  const stays = ended.remaining === 0 ? "" : `, ${ended.remaining} could not be ended`;
  terminal.err(`  agent      left ${left} behind, which were ended${stays}\n`);
}
