import type { Role } from "../core/conversation.ts";
import type { Gap } from "../core/gap.ts";
import type { AttemptId, ConversationId, RunId } from "../core/ids.ts";
import type { Identifier } from "../core/identifier.ts";
import type { AgentOutcome, Run } from "../core/run.ts";

/** Something said to the agent, or by it, before it gets a number in a conversation. */
export interface Prompt {
  readonly role: Role;
  readonly text: string;
}

/** A directory that the agent works in, by the name of its root. */
export interface AgentRoot {
  readonly name: string;
  readonly dir: string;
}

/** One turn: all that was said so far, the last prompt included, and which attempt it belongs to. */
export interface Turn {
  readonly runId: RunId;
  readonly attemptId: AttemptId;
  readonly conversationId?: ConversationId;
  readonly messages: readonly Prompt[];
  readonly roots: readonly AgentRoot[];
}

export interface TurnOptions {
  /** Ends the agent and rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Ends the agent; the outcome is then "timed_out". Default: no limit. */
  readonly timeoutMs?: number;
}

/** What an agent said in one turn. `text` is the head of it where `textTruncated`; `tail` is then how it ended. */
export interface Reply {
  readonly text: string;
  readonly textTruncated: boolean;
  readonly tail?: string;
  /** How much was said, in bytes of UTF-8. */
  readonly totalBytes: number;
}

/** Processes of the agent that outlived its command, or had to be ended with it. */
export interface EndedProcesses {
  /** How many were found. */
  readonly found: number;
  /** How many of them had left the agent's process group, as daemons do. */
  readonly daemons: number;
  /** How many did not end within the grace and were killed. */
  readonly killed: number;
  /** How many live on all the same: of another user, or stuck in the kernel. */
  readonly remaining: number;
}

/** How a turn ended and what was said. `gaps` names what the recording of the reply lacks. */
export interface TurnResult {
  readonly outcome: AgentOutcome;
  readonly durationMs: number;
  readonly replies: readonly Reply[];
  readonly gaps: readonly Gap[];
  /** What was still running at the end; absent for an agent that is no command. */
  readonly processes?: EndedProcesses;
}

/**
 * Anything that can be given a turn. Guarantees: its own failure is an outcome, never an exception; when the turn is over,
 * however it ended, nothing that the agent started through this program still runs, or `processes` says how many.
 * Rejects only with the signal's reason, and with "argument_invalid" on misuse.
 */
export interface Agent {
  readonly kind: Run["agent"]["kind"];
  /** True while the terminal's keys belong to the agent: Ctrl-C is then the agent's, not an abort. */
  readonly ownsTerminal: boolean;
  identifier(): Identifier;
  run(turn: Turn, options?: TurnOptions): Promise<TurnResult>;
}

/** True where the agent ran to its end: it answered, or its command exited with 0. */
export function ranToItsEnd(outcome: AgentOutcome): boolean {
  return outcome.kind === "answered" || (outcome.kind === "exited" && outcome.code === 0);
}

/** One line on how an agent ended. */
export function describeOutcome(outcome: AgentOutcome): string {
  switch (outcome.kind) {
    case "exited":
      return `exited ${outcome.code}`;
    case "signaled":
      return `was ended by ${outcome.signal}`;
    case "timed_out":
      return `did not end within ${outcome.afterMs / 1000} s`;
    case "not_started":
      return `could not be started: ${outcome.reason}`;
    case "answered":
      return "answered";
    case "failed":
      return `failed: ${outcome.reason}`;
  }
}
