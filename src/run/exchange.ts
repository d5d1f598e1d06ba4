import { randomUUID } from "node:crypto";
import { isUpheldError, UpheldError } from "../core/errors.ts";
import { AttemptId, ConversationId, RunId } from "../core/ids.ts";
import type { AgentOutcome } from "../core/run.ts";
import { ranToItsEnd } from "./agent.ts";
import type { Agent, AgentRoot, Prompt, Turn, TurnOptions, TurnResult } from "./agent.ts";
import { systemClock, type Clock } from "./clock.ts";
import { maskedText } from "./agents/masked-text.ts";
import { conversationLog, type ConversationLog } from "./conversation-log.ts";

export interface AttemptOptions {
  /** Whose the run is; each is made where it is not given. */
  readonly runId?: RunId;
  readonly attemptId?: AttemptId;
  readonly conversationId?: ConversationId;
  readonly labels?: Readonly<Record<string, string>>;
  /** Where the conversation is recorded. Default: a log of its own. */
  readonly log?: ConversationLog;
  readonly clock?: Clock;
  /** A new UUID each time. */
  readonly newId?: () => string;
}

/** How a conversation ended in which no user message was. */
export const NOT_SENT: AgentOutcome = { kind: "not_started", reason: "nothing was sent" };

/** One attempt while it lasts: whose it is, and where its conversation is recorded. */
export interface Attempt {
  readonly runId: RunId;
  readonly attemptId: AttemptId;
  readonly conversationId: ConversationId;
  readonly labels: Readonly<Record<string, string>>;
  readonly agentKind: Agent["kind"];
  readonly log: ConversationLog;
  readonly clock: Clock;
  readonly newId: () => string;
}

/** Names the attempt and gives it its conversation, before anything is sent. Throws "owner_conflict". */
export function openAttempt(agent: Agent, options: AttemptOptions): Attempt {
  const { clock = systemClock, newId = randomUUID } = options;
  const attempt: Attempt = {
    runId: options.runId ?? RunId.parse(newId()),
    attemptId: options.attemptId ?? AttemptId.parse(newId()),
    conversationId: options.conversationId ?? ConversationId.parse(newId()),
    labels: options.labels ?? {},
    agentKind: agent.kind,
    log: options.log ?? conversationLog({ clock, newId }),
    clock,
    newId,
  };
  const { runId, attemptId } = attempt;
  attempt.log.claim(attempt.conversationId, { runId, attemptId });
  return attempt;
}

/** Prompts given as plain text are the user's. Throws "argument_invalid" where none is the user's: nothing would be sent. */
export function promptsOf(prompts: string | readonly (string | Prompt)[]): readonly Prompt[] {
  const list = typeof prompts === "string" ? [prompts] : prompts;
  const made = list.map((each): Prompt =>
    typeof each === "string" ? { role: "user", text: each } : each,
  );
  if (made.some(({ role }) => role === "user")) return made;
  throw new UpheldError("argument_invalid", "there is no prompt of the user to send");
}

/** How the last turn ended, and how long all of them took. */
export interface Sent {
  readonly outcome: AgentOutcome;
  readonly durationMs: number;
}

/**
 * Sends the prompts, one a turn, each with all that was said before, until one turn does not come to its end. A message of
 * the user is a turn; others (a system message) are only put before it.
 */
export async function converse(
  agent: Agent,
  prompts: readonly Prompt[],
  attempt: Attempt,
  options: TurnOptions & { readonly roots?: readonly AgentRoot[] },
): Promise<Sent> {
  const { log, conversationId, runId, attemptId } = attempt;
  const limits = {
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
  };
  let sent: Sent = { outcome: NOT_SENT, durationMs: 0 };
  const messages: Prompt[] = log
    .conversation(conversationId)
    .messages.map(({ role, text }) => ({ role, text }));
  for (const prompt of prompts) {
    log.append(conversationId, prompt);
    messages.push(prompt);
    if (prompt.role !== "user") continue;
    const turn: Turn = {
      runId,
      attemptId,
      conversationId,
      messages: [...messages],
      roots: options.roots ?? [],
    };
    const result = await runTurn(agent, turn, limits);
    log.record(conversationId, result);
    messages.push(...result.replies.map(({ text }): Prompt => ({ role: "assistant", text })));
    sent = { outcome: result.outcome, durationMs: sent.durationMs + result.durationMs };
    if (!ranToItsEnd(result.outcome)) break;
  }
  return sent;
}

/** An agent of the caller's own making may break its contract and throw: that is its failure. */
async function runTurn(agent: Agent, turn: Turn, options: TurnOptions): Promise<TurnResult> {
  const from = performance.now();
  try {
    return await agent.run(turn, options);
  } catch (error) {
    if (options.signal?.aborted === true) throw options.signal.reason;
    if (isUpheldError(error)) throw error;
    const reason = maskedText(error instanceof Error ? error.message : String(error));
    const outcome: AgentOutcome = { kind: "failed", reason };
    return { outcome, durationMs: performance.now() - from, replies: [], gaps: [] };
  }
}
