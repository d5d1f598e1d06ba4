import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { isUpheldError } from "../core/errors.ts";
import { DEFAULT_ROOT } from "../core/locator.ts";
import type { ReceiptFailure } from "../evidence/receipt.ts";
import type { CheckedSubGoal } from "../evidence/record/grading.ts";
import type { Agent } from "../run/agent.ts";
import { commandAgent } from "../run/agents/command-agent.ts";
import { endpointAgent } from "../run/agents/endpoint-agent.ts";
import { recordCalls } from "../run/call-recording.ts";
import { captureLimits } from "../run/capture-world.ts";
import { attemptOf, clockOf } from "../run/new-run.ts";
import { recordRun } from "../run/record.ts";
import { LocalFileSurfaceSource } from "../sources/local-files/source.ts";
import { SqlSurfaceSource } from "../sources/sql/source.ts";
import type { RunRecord } from "../evidence/record/run-record.ts";
import { evidenceOf, type WorldSources } from "./after-world.ts";
import { filler, type FreshWorld, type Home } from "./fresh-world.ts";
import type { Scenario, SuiteAgent } from "./scenario.ts";
import { claimsOf, decideByCheck, isChecked } from "./settle-goals.ts";
import type { WorldDeadlines } from "./world-code.ts";

/** Milliseconds of each phase; the agent's own time comes beside them. */
export interface Deadlines extends WorldDeadlines {
  readonly checkMs: number;
  readonly agentMs: number;
}

/** The phases of another harness, and ten minutes for the agent. */
export const DEADLINES: Deadlines = {
  setupMs: 60_000,
  readyMs: 15_000,
  checkMs: 60_000,
  agentMs: 600_000,
};

/** Who acts in the world: an agent of the suite, or one at hand. */
export type ActingAgent = SuiteAgent | Agent;

export interface AttemptPlan {
  readonly scenario: Scenario;
  readonly home: Home;
  readonly world: FreshWorld;
  readonly agent: ActingAgent;
  readonly number: number;
  readonly deadlines: Deadlines;
  readonly environment: NodeJS.ProcessEnv;
  /** Whether the world at the end is kept, too. */
  readonly capturesWorld: boolean;
}

/** What an attempt came to: the evidence and the sub-goals, or why there are none. */
export type Attempt = { readonly record: RunRecord } | { readonly failure: ReceiptFailure };

/** Runs the agent in a prepared world, observes, and decides what code can. Rejects with the signal's reason. */
export async function runAttempt(
  plan: AttemptPlan,
  signal: AbortSignal | undefined,
): Promise<Attempt> {
  try {
    return await recordAndDecide(plan, signal);
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason;
    if (!isUpheldError(error) || !INFRASTRUCTURE.has(error.code)) throw error;
    const { code, message } = error;
    return { failure: { domain: "infrastructure", stage: "observe", code, message } };
  }
}

const INFRASTRUCTURE: ReadonlySet<string> = new Set([
  "database_unavailable",
  "file_unreadable",
  "state_invalid",
]);

async function recordAndDecide(
  plan: AttemptPlan,
  signal: AbortSignal | undefined,
): Promise<Exclude<Attempt, { readonly failure: ReceiptFailure }>> {
  const { scenario, home, world } = plan;
  const attemptId = attemptOf(home.runId, plan.number);
  const clock = clockOf([world]);
  await using sources = openSources(plan);
  const file = join(home.path, "calls.jsonl");
  await using recording = await recordCalls(
    { file, otlp: "on" },
    {
      attemptId,
      clock,
      limits: {},
      environment: plan.environment,
      tell: () => {},
      isCommand: isCommand(plan.agent),
    },
  );
  const { record } = await recordRun(
    {
      runId: home.runId,
      attemptId,
      labels: { ...scenario.labels, scenario: scenario.name },
      roots: [
        { name: DEFAULT_ROOT, surface: "file", source: sources.files, takesBaseline: true },
        ...sources.databases.map(({ name, source }) => ({
          name,
          surface: "sql",
          source,
          takesBaseline: true,
        })),
      ],
      agent: agentOf(plan, recording.environment),
      agentRoots: [{ name: DEFAULT_ROOT, dir: world.directory }],
      prompts: scenario.prompt === undefined ? [] : [{ role: "user", text: scenario.prompt }],
      claims: claimsOf(scenario),
      // Offered to every agent: one that wrote none is no gap where nothing asks for calls.
      calls: {
        ...recording.calls,
        isWorthTelling: () => existsSync(file) || scenario.subGoals.some(isChecked),
      },
      timeoutMs: scenario.timeoutMs ?? plan.deadlines.agentMs,
      capture: plan.capturesWorld ? captureLimits({}) : undefined,
    },
    { clock, ...(signal === undefined ? {} : { signal }) },
  );
  const grading = {
    schemaVersion: 1,
    order: scenario.subGoals.map(({ name }) => name),
    checks: await checkedGoals(plan, record, sources, signal),
  } as const;
  return { record: { ...record, grading } };
}

/** The sub-goals that functions decide, one after the other: each sees the same world. */
async function checkedGoals(
  { scenario, home, deadlines }: AttemptPlan,
  record: RunRecord,
  sources: WorldSources,
  signal: AbortSignal | undefined,
): Promise<readonly CheckedSubGoal[]> {
  const goals = scenario.subGoals.filter(isChecked);
  if (goals.length === 0) return [];
  const evidence = await evidenceOf(record, sources, signal);
  const how = { runId: home.runId, timeoutMs: deadlines.checkMs };
  const decided: CheckedSubGoal[] = [];
  for (const goal of goals) decided.push(await decideByCheck(goal, evidence, how, signal));
  return decided;
}

function openSources({
  world,
  home,
  capturesWorld: keepsMoment,
}: AttemptPlan): WorldSources & AsyncDisposable {
  const scratch = join(home.path, "scratch");
  mkdirSync(scratch, { recursive: true });
  const files = new LocalFileSurfaceSource({ name: DEFAULT_ROOT, directory: world.directory });
  const databases = world.databases.map(({ name, url }) => ({
    name,
    source: new SqlSurfaceSource({ name, url }, { folder: scratch, keepsMoment }),
  }));
  return {
    files,
    databases,
    async [Symbol.asyncDispose]() {
      await files[Symbol.asyncDispose]();
      for (const { source } of databases) await source[Symbol.asyncDispose]();
    },
  };
}

function isCommand(agent: ActingAgent): boolean {
  return "command" in agent;
}

function agentOf(
  { agent, scenario, home, world }: AttemptPlan,
  calls: Readonly<Record<string, string | undefined>>,
): Agent {
  if ("run" in agent) return agent;
  if ("endpoint" in agent) return endpointAgent(agent.endpoint);
  return commandAgent(agent.command.map(filler(scenario, home)), {
    cwd: world.directory,
    env: { ...calls, ...world.environment },
    stdin: scenario.prompt === undefined ? "ignore" : "prompt",
    stdout: null,
    stderr: null,
  });
}
