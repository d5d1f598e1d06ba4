import { dirname, resolve } from "node:path";
import type { RunId } from "../core/ids.ts";
import type { EndedProcesses } from "../run/agent.ts";
import type { Clock } from "../run/clock.ts";
import { commandAgent } from "../run/command-agent.ts";
import { recordRun, type RecordedAttempt, type RunStep } from "../run/record.ts";
import { counted } from "../report/bounds.ts";
import { beginRun, endRun, openStateFolder, stateCandidates } from "../store/state-folder.ts";
import type { Command, CommandContext } from "./command.ts";
import type { Interruption } from "./interrupt.ts";
import { attemptOf, clockOf, newRunId } from "./new-run.ts";
import { countedIn, progressOn, type Progress } from "./progress.ts";
import { publish, refuseUnwritable } from "./publish.ts";
import { askedRun, RUN_OPTIONS, type AskedRun } from "./run-options.ts";
import { sweepState } from "./sweep.ts";
import { WatchedRoots } from "./watched-roots.ts";

export const runCommand: Command = {
  name: "run",
  summary: "Run an agent and say what it did to the files.",
  usage: ["upheld run [OPTIONS] -- COMMAND..."],
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
    ["for a program to read", "upheld run --json -- ./agent > report.json"],
  ],
  async run(args, context) {
    const asked = askedRun(args);
    await refuseUnwritable(asked.save);
    const { terminal, environment } = context;
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
      const { record, turn } = await recordAsked(asked, { runId, clock }, context);
      tellProcesses(turn.processes, context);
      return await publish(record, asked, context);
    } finally {
      endRun(state, runId);
    }
  },
};

async function recordAsked(
  asked: AskedRun,
  { runId, clock }: { readonly runId: RunId; readonly clock: Clock },
  { terminal, interruption }: CommandContext,
): Promise<RecordedAttempt> {
  await using watched = new WatchedRoots(asked.roots, asked.limits, asked.wishes);
  const { maxReplyBytes } = asked.limits.limits;
  const agent = commandAgent(asked.command, {
    interactive: terminal.isInteractive && !asked.json,
    stdout: asked.json ? process.stderr : process.stdout,
    ...(maxReplyBytes === undefined ? {} : { limits: { maxReplyBytes } }),
  });
  const progress = progressOn(terminal);
  const plan = {
    runId,
    attemptId: attemptOf(runId),
    labels: asked.labels,
    roots: watched.roots,
    agent,
    agentRoots: asked.roots.map(({ name, directory }) => ({ name, dir: directory })),
    prompts: [],
    claims: asked.claims,
    timeoutMs: asked.timeoutMs,
  };
  try {
    return await recordRun(plan, {
      clock,
      signal: interruption.signal,
      onListed: (root, listed) => progress.update(root, listed),
      onStep: (step) => tellStep(step, progress, interruption),
      beforeAgent: () => {
        progress.clear();
        interruption.leaveKeysTo(() => agent.ownsTerminal);
      },
    });
  } finally {
    progress.clear();
  }
}

function tellStep(step: RunStep, progress: Progress, interruption: Interruption): void {
  switch (step.kind) {
    case "baseline":
      progress.done("baseline", `${countedIn(step.entries, step.durationMs)}   ${step.root}:/`);
      return;
    case "agent":
      interruption.leaveKeysTo(() => false);
  }
}

function tellProcesses(ended: EndedProcesses | undefined, { terminal }: CommandContext): void {
  if (ended === undefined || ended.found === 0) return;
  const left = counted(ended.found, "process", "processes");
  const stays = ended.remaining === 0 ? "" : `, ${ended.remaining} could not be ended`;
  terminal.err(`  agent      left ${left} behind, which were ended${stays}\n`);
}
