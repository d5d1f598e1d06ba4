import { randomUUID } from "node:crypto";
import { Conversation, type Message } from "../core/conversation.ts";
import { UpheldError } from "../core/errors.ts";
import { gap, type Gap } from "../core/gap.ts";
import {
  MessageId,
  ObservationId,
  type AttemptId,
  type ConversationId,
  type RunId,
} from "../core/ids.ts";
import { limitsOf, type Limits } from "../core/limits.ts";
import { acquisitionOf, type Observation } from "../core/observation.ts";
import type { ConversationScorable } from "../core/scorable.ts";
import type { ObservationSource } from "../core/source.ts";
import type { Prompt, Reply, TurnResult } from "./agent.ts";
import { systemClock, type Clock } from "./clock.ts";
import { replyOf } from "./agents/reply-output.ts";
import type { FoundMessage, MessageStore } from "./scope-of-message.ts";

/** Whose a conversation is. */
export interface ConversationOwner {
  readonly attemptId: AttemptId;
  readonly runId: RunId;
}

export interface ConversationLogOptions {
  readonly clock?: Clock;
  /** A new UUID each time. */
  readonly newId?: () => string;
  readonly limits?: Partial<Pick<Limits, "maxReplyBytes">>;
  /** Messages kept of one conversation; those beyond are counted in a gap. Default 1 000. */
  readonly maxMessages?: number;
}

/** Conversations as they happen, each with its owner. As a source it tells of them what a condition may ask. */
export interface ConversationLog extends ObservationSource<ConversationScorable>, MessageStore {
  /**
   * Says whose a conversation is, before anything is sent. The same owner again changes nothing. Throws "owner_conflict"
   * where it is another's.
   */
  claim(id: ConversationId, owner: ConversationOwner): void;
  /** Records a prompt. Throws "argument_invalid" where nobody has claimed the conversation. */
  append(id: ConversationId, prompt: Prompt): Message | undefined;
  /** Records what a turn brought: its replies, and what is missing of them. Throws as `append`. */
  record(id: ConversationId, result: TurnResult): readonly Message[];
  /** The conversation so far. Throws "argument_invalid" where nobody has claimed it. */
  conversation(id: ConversationId): Conversation;
}

interface Held {
  readonly owner: ConversationOwner;
  readonly messages: Message[];
  readonly gaps: Gap[];
  dropped: number;
}

/**
 * Makes an empty log, in memory. Of each message at most `maxReplyBytes` (default 262 144) are kept.
 * Gaps of what it observes: "text_not_retained", "not_text", and those of the agent's own recording.
 */
export function conversationLog(options: ConversationLogOptions = {}): ConversationLog {
  const { maxReplyBytes } = limitsOf(options.limits);
  const { clock = systemClock, newId = randomUUID, maxMessages = 1_000 } = options;
  const conversations = new Map<ConversationId, Held>();
  const messages = new Map<MessageId, ConversationId>();

  const heldOf = (id: ConversationId): Held => {
    const held = conversations.get(id);
    if (held !== undefined) return held;
    throw new UpheldError("argument_invalid", `conversation ${id} has no owner yet`);
  };
  const add = (id: ConversationId, role: Prompt["role"], reply: Reply): readonly Message[] => {
    const held = heldOf(id);
    if (held.messages.length >= maxMessages) {
      held.dropped += 1;
      return [];
    }
    const message: Message = {
      id: MessageId.parse(newId()),
      conversationId: id,
      sequence: held.messages.length,
      role,
      text: reply.text,
      textTruncated: reply.textTruncated,
      at: clock(),
    };
    held.messages.push(message);
    messages.set(message.id, id);
    return [message];
  };
  const conversationOf = (id: ConversationId): Conversation => {
    const held = heldOf(id);
    return { id, owner: held.owner.attemptId, messages: [...held.messages] };
  };
  const identifier = (): ReturnType<ConversationLog["identifier"]> => ({
    name: "conversation-log",
    version: "1",
    parameters: { maxReplyBytes, maxMessages },
    children: [],
  });

  return {
    identifier,
    claim(id, owner) {
      const held = conversations.get(id);
      if (held === undefined) {
        conversations.set(id, { owner, messages: [], gaps: [], dropped: 0 });
        return;
      }
      if (held.owner.attemptId !== owner.attemptId || held.owner.runId !== owner.runId)
        throw new UpheldError(
          "owner_conflict",
          `conversation ${id} belongs to attempt ${held.owner.attemptId} of run ${held.owner.runId}, not to ${owner.attemptId} of ${owner.runId}`,
        );
    },
    append(id, { role, text }) {
      const { reply, gaps } = replyOf(text, maxReplyBytes, `a message of the ${role}`);
      const [message] = add(id, role, reply);
      heldOf(id).gaps.push(...located(gaps, id));
      return message;
    },
    record(id, { replies, gaps }) {
      const added = replies.flatMap((reply) => add(id, "assistant", reply));
      heldOf(id).gaps.push(...located(gaps, id));
      return added;
    },
    conversation: conversationOf,
    find(messageId) {
      const id = messages.get(messageId);
      if (id === undefined) return [];
      const { owner, messages: all } = heldOf(id);
      const message = all.find((each) => each.id === messageId);
      const found: FoundMessage | undefined = message && {
        runId: owner.runId,
        conversation: conversationOf(id),
        message,
      };
      return found === undefined ? [] : [found];
    },
    async observe(requests, { signal } = {}) {
      signal?.throwIfAborted();
      return requests.map(({ scorable }) => {
        const conversation = upTo(conversationOf(scorable.conversationId), scorable);
        const gaps = gapsOfHeld(heldOf(scorable.conversationId), scorable);
        return observationOf(scorable, conversation, gaps, {
          id: ObservationId.parse(newId()),
          source: identifier(),
          observedAt: clock(),
        });
      });
    },
  };
}

function observationOf(
  scorable: ConversationScorable,
  conversation: Conversation,
  gaps: readonly Gap[],
  made: Pick<Observation, "id" | "source" | "observedAt">,
): Observation {
  return {
    ...made,
    acquisition:
      gaps.length > 0 && conversation.messages.length === 0 ? "unavailable" : acquisitionOf(gaps),
    scorable,
    payload: { kind: "conversation", schemaVersion: 1, conversation, gaps },
    metadata: {},
  };
}

function upTo(conversation: Conversation, { throughSequence }: ConversationScorable): Conversation {
  if (throughSequence === undefined) return conversation;
  return Conversation.parse({
    ...conversation,
    messages: conversation.messages.slice(0, throughSequence + 1),
  });
}

function gapsOfHeld(held: Held, { conversationId }: ConversationScorable): readonly Gap[] {
  if (held.dropped === 0) return [...held.gaps];
  const total = held.messages.length + held.dropped;
  const dropped = gap("text_not_retained", locationOf(conversationId), {
    detail: `the first ${held.messages.length} of ${total} messages were kept`,
    count: held.dropped,
    remedy: `Raise maxMessages to ${total}.`,
  });
  return [...held.gaps, dropped];
}

const locationOf = (id: ConversationId): string => `conversation:/${id}`;

function located(gaps: readonly Gap[], id: ConversationId): readonly Gap[] {
  return gaps.map((each) => ({
    ...each,
    location: locationOf(id),
    detail: each.detail === undefined ? each.location : `${each.location}: ${each.detail}`,
  }));
}
