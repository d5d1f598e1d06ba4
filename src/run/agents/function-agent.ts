import { UpheldError } from "../../core/errors.ts";
import { limitsOf, type Limits } from "../../core/limits.ts";
import type { AgentOutcome } from "../../core/run.ts";
import type { Agent, AgentRoot, Prompt, Turn, TurnOptions, TurnResult } from "../agent.ts";
import { maskedText } from "./masked-text.ts";
import { replyOf } from "./reply-output.ts";
import { limitTurn } from "./turn-ending.ts";

/** What a function is told beside the messages. */
export interface FunctionTurn {
  /** Aborted when the turn's time is over or the caller gives up: the function should end then. */
  readonly signal: AbortSignal;
  readonly runId: string;
  readonly attemptId: string;
  readonly roots: readonly AgentRoot[];
}

/** An agent as a function: all that was said so far in, what it says out. */
export type AgentFunction = (
  messages: readonly Prompt[],
  turn: FunctionTurn,
) => Promise<string> | string;

export interface FunctionAgentOptions {
  /** What identifies it in evidence. Default "function". */
  readonly name?: string;
  readonly limits?: Partial<Pick<Limits, "maxReplyBytes">>;
}

/**
 * An agent that is a function of this process. What it throws is its outcome. One that does not heed its signal cannot be
 * stopped: the turn ends without it. Gaps: "text_not_retained".
 */
export function functionAgent(answer: AgentFunction, options: FunctionAgentOptions = {}): Agent {
  const { maxReplyBytes } = limitsOf(options.limits);
  return {
    kind: "function",
    ownsTerminal: false,
    identifier: () => ({
      name: "function-agent",
      version: "1",
      parameters: { function: options.name ?? "function", maxReplyBytes },
      children: [],
    }),
    run: (turn, turnOptions = {}) => callOnce(answer, maxReplyBytes, turn, turnOptions),
  };
}

async function callOnce(
  answer: AgentFunction,
  maxReplyBytes: number,
  { messages, runId, attemptId, roots }: Turn,
  { signal, timeoutMs }: TurnOptions,
): Promise<TurnResult> {
  const limit = limitTurn(timeoutMs, signal);
  const from = performance.now();
  const ended = (outcome: AgentOutcome, text?: string): TurnResult => {
    const said = text === undefined ? undefined : replyOf(text, maxReplyBytes, "reply");
    return {
      outcome,
      durationMs: performance.now() - from,
      replies: said === undefined ? [] : [said.reply],
      gaps: said?.gaps ?? [],
    };
  };
  try {
    const called = callSafely(() =>
      answer(messages, { signal: limit.signal, runId, attemptId, roots }),
    );
    const result = await Promise.race([called, limit.passed]);
    if ("kind" in result) {
      if (result.kind === "aborted") throw result.reason;
      return ended(result);
    }
    if ("error" in result) return ended({ kind: "failed", reason: reasonOf(result.error) });
    if (typeof result.value !== "string")
      return ended({
        kind: "failed",
        reason: `the function returned ${result.value === null ? "null" : typeof result.value}; expected text`,
      });
    return ended({ kind: "answered" }, result.value);
  } finally {
    limit.clear();
  }
}

type Called = { readonly value: unknown } | { readonly error: unknown };

/** Never rejects, so that a function which fails after its time is over disturbs nobody. */
async function callSafely(call: () => unknown): Promise<Called> {
  try {
    return { value: await call() };
  } catch (error) {
    return { error };
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof UpheldError) return maskedText(`${error.code}: ${error.message}`);
  return maskedText(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
}
