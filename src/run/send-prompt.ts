import type { Conversation } from "../core/conversation.ts";
import { isUpheldError, type ErrorCode } from "../core/errors.ts";
import type { Expectation } from "../core/expectation.ts";
import { ScoreId } from "../core/ids.ts";
import type { Observation } from "../core/observation.ts";
import type { AgentOutcome, Run } from "../core/run.ts";
import type { Score } from "../core/score.ts";
import type { Baseline, BaselineSource, ObservationSource } from "../core/source.ts";
import type { Timestamp } from "../core/timestamp.ts";
import { all, type Verdict } from "../core/verdict.ts";
import { contextOf, needsOf, type BoundSource, type LiveEvidence } from "../scorers/observe.ts";
import { parseExpectation, scoreLive, type ScoreOptions } from "../scorers/score.ts";
import {
  describeOutcome,
  ranToItsEnd,
  type Agent,
  type AgentRoot,
  type Prompt,
  type TurnOptions,
} from "./agent.ts";
import { converse, NOT_SENT, openAttempt, promptsOf } from "./exchange.ts";
import type { Attempt, AttemptOptions } from "./exchange.ts";
import { maskedText } from "./agents/masked-text.ts";
import { scopeOfMessage } from "./scope-of-message.ts";

export interface SendPromptOptions extends AttemptOptions, TurnOptions {
  readonly expectation: Expectation;
  /** Which verdict on all conditions together is the success. Default "upheld". */
  readonly expect?: "upheld" | "refuted";
  /** What is observed. A source that can gives a baseline before anything is sent, where it has none yet. */
  readonly sources: readonly BoundSource[];
  readonly roots?: readonly AgentRoot[];
  readonly clockSkewMs?: number;
  readonly scorers?: ScoreOptions["scorers"];
  readonly alsoObserve?: ScoreOptions["alsoObserve"];
}

/**
 * "success" and "failure": what was expected did, or did not, come about. "undetermined": it cannot be told. "error": the
 * agent did not run to its end, or the world could not be looked at; this says nothing for or against.
 */
export type PromptOutcome = "success" | "failure" | "undetermined" | "error";

/** What kept a run from being whole, and in which step. */
export interface Fault {
  readonly stage: "baseline" | "agent" | "observe";
  readonly reason: string;
}

export interface PromptResult {
  readonly outcome: PromptOutcome;
  /** There exactly when the outcome is "error". */
  readonly fault?: Fault;
  /** The verdict on all conditions together; there also beside the agent's fault, where the world could be looked at. */
  readonly verdict?: Verdict;
  readonly scores: readonly Score[];
  readonly observations: readonly Observation[];
  readonly run: Run;
  readonly conversation: Conversation;
}

/**
 * Sends prompts to an agent, one a turn, and decides whether what is expected came about: baseline, prompts, observation,
 * scores. Every condition has reached its scorer and its source before anything is sent. The conversation belongs to the
 * attempt before the first message. Throws as `scoreLive` does on misuse, and rejects with the signal's reason.
 */
export async function sendPrompt(
  agent: Agent,
  prompts: string | readonly (string | Prompt)[],
  options: SendPromptOptions,
): Promise<PromptResult> {
  const expectation = parseExpectation(options.expectation);
  const messages = promptsOf(prompts);
  const attempt = openAttempt(agent, options);
  const { clock } = attempt;
  needsOf(expectation.conditions, contextOf(evidenceOf(attempt, options.sources)), options.scorers);
  options.signal?.throwIfAborted();

  const held: Baseline[] = [];
  const from = clock();
  try {
    const sources = await orFault("baseline", () => withBaselines(options, held), options.signal);
    if ("stage" in sources)
      return resultOf(attempt, [from, clock()], NOT_SENT, 0, { fault: sources });
    const sent = await converse(agent, messages, attempt, options);
    const to = clock();
    const scored = await orFault(
      "observe",
      () => score(expectation, attempt, sources.bound, options),
      options.signal,
    );
    const fault = ranToItsEnd(sent.outcome)
      ? undefined
      : ({ stage: "agent", reason: describeOutcome(sent.outcome) } as const);
    return resultOf(attempt, [from, to], sent.outcome, sent.durationMs, {
      expect: options.expect ?? "upheld",
      ...("stage" in scored ? { fault: fault ?? scored } : { scored, fault }),
    });
  } finally {
    for (const baseline of held) await baseline[Symbol.asyncDispose]();
  }
}

interface Bound {
  readonly bound: readonly BoundSource[];
}

/** One baseline for each source that can give one and was not given one. */
async function withBaselines(options: SendPromptOptions, held: Baseline[]): Promise<Bound> {
  const taken = new Map<ObservationSource, Baseline>();
  for (const { source, baseline } of options.sources) {
    if (baseline !== undefined || taken.has(source) || !takesBaselines(source)) continue;
    const made = await source.baseline(
      options.signal === undefined ? {} : { signal: options.signal },
    );
    held.push(made);
    taken.set(source, made);
  }
  const bound = options.sources.map((each) => ({
    ...each,
    baseline: each.baseline ?? taken.get(each.source),
  }));
  return { bound };
}

function takesBaselines(source: ObservationSource): source is BaselineSource {
  return "baseline" in source && typeof source.baseline === "function";
}

function evidenceOf(
  { log, conversationId }: Attempt,
  sources: readonly BoundSource[],
): LiveEvidence {
  return {
    sources,
    conversation: { scorable: { kind: "conversation", conversationId }, source: log },
  };
}

interface Scored {
  readonly scores: readonly Score[];
  readonly observations: readonly Observation[];
}

async function score(
  expectation: Expectation,
  attempt: Attempt,
  sources: readonly BoundSource[],
  options: SendPromptOptions,
): Promise<Scored> {
  const { log, conversationId, clock, newId } = attempt;
  const [first] = log.conversation(conversationId).messages;
  const scope =
    first === undefined
      ? undefined
      : await scopeOfMessage({ messageIds: [first.id] }, log, {
          now: clock(),
          ...(options.clockSkewMs === undefined ? {} : { clockSkewMs: options.clockSkewMs }),
        });
  return scoreLive(
    expectation,
    { ...evidenceOf(attempt, sources), scope },
    { newId: () => ScoreId.parse(newId()), now: clock },
    {
      signal: options.signal,
      ...(options.scorers === undefined ? {} : { scorers: options.scorers }),
      ...(options.alsoObserve === undefined ? {} : { alsoObserve: options.alsoObserve }),
    },
  );
}

const MISUSE: ReadonlySet<ErrorCode> = new Set([
  "argument_invalid",
  "locator_invalid",
  "glob_invalid",
  "matcher_invalid",
  "expectation_invalid",
  "condition_unrouted",
  "source_missing",
  "source_contract_broken",
]);

/** A step of the infrastructure: its failure is a fault of the run. Misuse and an abort are not. */
async function orFault<T extends object>(
  stage: Fault["stage"],
  step: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T | Fault> {
  try {
    return await step();
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason;
    if (isUpheldError(error) && MISUSE.has(error.code)) throw error;
    return { stage, reason: maskedText(error instanceof Error ? error.message : String(error)) };
  }
}

function resultOf(
  attempt: Attempt,
  window: readonly [Timestamp, Timestamp],
  outcome: AgentOutcome,
  durationMs: number,
  { fault, scored, expect }: { fault?: Fault | undefined; scored?: Scored; expect?: string },
): PromptResult {
  const { runId, attemptId, conversationId, labels, agentKind: kind } = attempt;
  const verdict = scored === undefined ? undefined : all(scored.scores.map((each) => each.verdict));
  return {
    outcome: fault === undefined ? outcomeOf(verdict, expect) : "error",
    ...(fault === undefined ? {} : { fault }),
    ...(verdict === undefined ? {} : { verdict }),
    scores: scored?.scores ?? [],
    observations: scored?.observations ?? [],
    run: {
      runId,
      attemptId,
      conversationId,
      window,
      labels,
      agent: { kind, outcome, durationMs },
    },
    conversation: attempt.log.conversation(conversationId),
  };
}

function outcomeOf(verdict: Verdict | undefined, expect: string | undefined): PromptOutcome {
  if (verdict === undefined || verdict.value === "undetermined") return "undetermined";
  return verdict.value === expect ? "success" : "failure";
}
