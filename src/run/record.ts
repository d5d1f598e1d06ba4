import { randomUUID } from "node:crypto";
import type { Conversation } from "../core/conversation.ts";
import type { ExpectationFile } from "../core/expectation.ts";
import {
  ConversationId,
  MessageId,
  ObservationId,
  type AttemptId,
  type RunId,
} from "../core/ids.ts";
import { acquisitionOf, type Observation } from "../core/observation.ts";
import type { Run } from "../core/run.ts";
import type { ScoringScope } from "../core/scope.ts";
import type { Baseline } from "../core/source.ts";
import type { Timestamp } from "../core/timestamp.ts";
import type { RunRecord } from "../store/run-record.ts";
import type { Agent, AgentRoot, Prompt, TurnResult } from "./agent.ts";
import type { Clock } from "./clock.ts";
import { observeRun, validateClaims, type ObservedRoot, type OnListed } from "./observe-run.ts";

/** A root to be watched, and whether to look at it before the run. */
export interface WatchedRoot extends ObservedRoot {
  readonly takesBaseline: boolean;
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
  readonly timeoutMs?: number | undefined;
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

const CONVERSATION_KIND = "conversation";

/**
 * One attempt: baseline, agent, observation, decision. The claims are validated before anything is read or started.
 * Rejects with the signal's reason once it is aborted; the agent is then ended and every baseline released.
 */
export async function recordRun(plan: RunPlan, options: RecordOptions): Promise<RecordedAttempt> {
  validateClaims(plan.claims, plan.roots);
  await using baselines = new Baselines();
  await baselines.take(plan, options);
  options.beforeAgent?.();
  const conversationId = ConversationId.parse(`conversation-${plan.attemptId}`);
  const from = options.clock();
  const turn = await runAgent(plan, conversationId, options);
  const to = later(from, options.clock());
  options.onStep?.({ kind: "agent", result: turn });
  const run = runOf(plan, turn, { conversationId, window: [from, to] });
  const record = await observeRun(
    {
      run,
      roots: plan.roots.map((root) => ({ ...root, baseline: baselines.held.get(root.name) })),
      scope: scopeOf(plan, baselines.held, [from, to]),
      claims: plan.claims,
      conversation: conversationObservation(plan, turn, run, to),
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

/** What was said, as evidence. */
function conversationObservation(
  plan: RunPlan,
  turn: TurnResult,
  run: Run,
  at: Timestamp,
): Observation {
  const conversationId = ConversationId.parse(run.conversationId);
  const said = [
    ...plan.prompts.map(({ role, text }) => ({
      role,
      text,
      textTruncated: false,
      at: run.window[0],
    })),
    ...turn.replies.map(({ text, textTruncated }) => ({
      role: "assistant" as const,
      text,
      textTruncated,
      at,
    })),
  ];
  const conversation: Conversation = {
    id: conversationId,
    owner: plan.attemptId,
    messages: said.map((message, sequence) => ({
      id: MessageId.parse(`${plan.attemptId}.${sequence}`),
      conversationId,
      sequence,
      ...message,
    })),
  };
  return {
    id: ObservationId.parse(randomUUID()),
    source: plan.agent.identifier(),
    acquisition: acquisitionOf(turn.gaps),
    observedAt: at,
    scorable: { kind: CONVERSATION_KIND, conversationId },
    payload: { kind: CONVERSATION_KIND, schemaVersion: 1, conversation, gaps: turn.gaps },
    metadata: {},
  };
}

function later(one: Timestamp, other: Timestamp): Timestamp {
  return other < one ? one : other;
}
