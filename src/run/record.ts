import { randomUUID } from "node:crypto";
import type { ExpectationFile } from "../core/expectation.ts";
import { ConversationId, type AttemptId, type RunId } from "../core/ids.ts";
import type { Run } from "../core/run.ts";
import type { ScoringScope } from "../core/scope.ts";
import type { Baseline } from "../core/source.ts";
import type { Timestamp } from "../core/timestamp.ts";
import type { RunRecord } from "../evidence/record/run-record.ts";
import type { Agent, AgentRoot, Prompt, TurnResult } from "./agent.ts";
import type { CaptureLimits } from "./capture-world.ts";
import type { Clock } from "./clock.ts";
import { conversationLog } from "./conversation-log.ts";
import {
  observeRun,
  validateClaims,
  type ObservedRoot,
  type OnListed,
  type RunCalls,
} from "./observe-run.ts";

/** A root to be watched, and how the world before the run is known. */
export interface WatchedRoot extends ObservedRoot {
  /** Whether to look at it before the run. */
  readonly takesBaseline: boolean;
  /** For a run in an overlay: what it wrote, asked once it has ended. */
  readonly overlay?: (() => Promise<Baseline>) | undefined;
}

/** What to run, watch and decide. */
export interface RunPlan {
  readonly runId: RunId;
  readonly attemptId: AttemptId;
  readonly labels: Readonly<Record<string, string>>;
  readonly roots: readonly WatchedRoot[];
  readonly agent: Agent;
  readonly agentRoots: readonly AgentRoot[];
  /** What is said to the agent. A command that is given nothing has an empty list. */
  readonly prompts: readonly Prompt[];
  readonly claims?: ExpectationFile | undefined;
  /** Where the agent's tool calls are recorded. */
  readonly calls?: RunCalls | undefined;
  readonly timeoutMs?: number | undefined;
  /** Within which limits the world at the end is captured. Without them it is not. */
  readonly capture?: CaptureLimits | undefined;
}

/** A step of a run, told when it ends. */
export type RunStep =
  | {
      readonly kind: "baseline";
      readonly root: string;
      readonly entries: number | undefined;
      readonly durationMs: number;
    }
  | { readonly kind: "agent"; readonly result: TurnResult };

export interface RecordOptions {
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  readonly onStep?: (step: RunStep) => void;
  readonly onListed?: OnListed;
  /** Called when everything is known that can be wrong before the agent starts, and right before it does. */
  readonly beforeAgent?: () => void;
}

export interface RecordedAttempt {
  readonly record: RunRecord;
  readonly turn: TurnResult;
}

/**
 * One attempt: baseline, agent, observation, decision. The claims are validated before anything is read or started.
 * Rejects with the signal's reason once it is aborted; the agent is then ended and every baseline released.
 */
export async function recordRun(plan: RunPlan, options: RecordOptions): Promise<RecordedAttempt> {
  validateClaims(plan.claims, plan.roots);
  await using baselines = new Baselines();
  await baselines.take(plan, options);
  options.beforeAgent?.();
  const conversationId = ConversationId.parse(randomUUID());
  const log = conversationLog({ clock: options.clock });
  log.claim(conversationId, plan);
  for (const prompt of plan.prompts) log.append(conversationId, prompt);
  const from = options.clock();
  const turn = await runAgent(plan, conversationId, options);
  const to = later(from, options.clock());
  log.record(conversationId, turn);
  plan.calls?.onAgentEnd?.(turn);
  await baselines.takeOverlays(plan);
  options.onStep?.({ kind: "agent", result: turn });
  const run = runOf(plan, turn, { conversationId, window: [from, to] });
  const record = await observeRun(
    {
      run,
      roots: plan.roots.map((root) => ({ ...root, baseline: baselines.held.get(root.name) })),
      scope: scopeOf(plan, baselines.held, [from, to]),
      claims: plan.claims,
      conversation: { scorable: { kind: "conversation", conversationId }, source: log },
      calls: plan.calls,
      capture: plan.capture,
    },
    options,
  );
  return { record, turn };
}

function runAgent(
  { agent, agentRoots, prompts, timeoutMs, ...plan }: RunPlan,
  conversationId: ConversationId,
  { signal }: RecordOptions,
): Promise<TurnResult> {
  return agent.run(
    {
      runId: plan.runId,
      attemptId: plan.attemptId,
      conversationId,
      messages: prompts,
      roots: agentRoots,
    },
    {
      ...(signal === undefined ? {} : { signal }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    },
  );
}

/** The baselines of a run, released together. */
class Baselines implements AsyncDisposable {
  readonly held = new Map<string, Baseline>();

  async take({ roots }: RunPlan, { signal, onStep, onListed }: RecordOptions): Promise<void> {
    for (const root of roots) {
      if (!root.takesBaseline) continue;
      const started = performance.now();
      const baseline = await root.source.baseline({
        ...(signal === undefined ? {} : { signal }),
        onProgress: ({ listed }) => onListed?.(root.name, listed),
      });
      this.held.set(root.name, baseline);
      const durationMs = performance.now() - started;
      onStep?.({ kind: "baseline", root: root.name, entries: baseline.entries, durationMs });
    }
  }

  async takeOverlays({ roots }: RunPlan): Promise<void> {
    for (const { name, overlay } of roots)
      if (overlay !== undefined) this.held.set(name, await overlay());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const baseline of this.held.values()) await baseline[Symbol.asyncDispose]();
    this.held.clear();
  }
}

/** The attempt delimits what is seen only where every root has a baseline; a window alone cannot tell one run from another. */
function scopeOf(
  { attemptId, roots }: RunPlan,
  baselines: ReadonlyMap<string, Baseline>,
  window: readonly [Timestamp, Timestamp],
): ScoringScope {
  const delimited = roots.every(({ name }) => baselines.has(name));
  return { window, ...(delimited ? { attemptId } : {}) };
}

function runOf(
  plan: RunPlan,
  turn: TurnResult,
  known: {
    readonly conversationId: ConversationId;
    readonly window: readonly [Timestamp, Timestamp];
  },
): Run {
  return {
    runId: plan.runId,
    attemptId: plan.attemptId,
    conversationId: known.conversationId,
    window: known.window,
    labels: plan.labels,
    agent: {
      kind: plan.agent.kind,
      outcome: turn.outcome,
      durationMs: Math.round(turn.durationMs),
    },
  };
}

function later(one: Timestamp, other: Timestamp): Timestamp {
  return other < one ? one : other;
}
