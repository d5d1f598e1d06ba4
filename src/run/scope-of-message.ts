import type { Conversation, Message } from "../core/conversation.ts";
import { UpheldError } from "../core/errors.ts";
import type { MessageId, RunId } from "../core/ids.ts";
import { issuesOf } from "../core/issues.ts";
import { DEFAULT_LIMITS, limitsOf } from "../core/limits.ts";
import { MessageScorable } from "../core/scorable.ts";
import type { ScoringScope } from "../core/scope.ts";
import { nanosecondsOf, timestampOf, type Timestamp } from "../core/timestamp.ts";

/** A stored message, the conversation it stands in, and the run that this belongs to. */
export interface FoundMessage {
  readonly runId: RunId;
  readonly conversation: Conversation;
  readonly message: Message;
}

/** Where messages are stored. */
export interface MessageStore {
  /**
   * Every message that has this id, or holds the piece of this id, in whatever run: none where it is not stored, and
   * several where runs share the id.
   */
  find(id: MessageId): readonly FoundMessage[] | Promise<readonly FoundMessage[]>;
}

export interface ScopeOptions {
  readonly now: Timestamp;
  /** By how much the window begins before the first message. Default 2 000 ms. */
  readonly clockSkewMs?: number;
}

/**
 * The scope of the run that a message belongs to: from the first message of its conversation, less a clock skew, until now,
 * and the attempt that owns the conversation. Throws "reference_invalid" where the reference is empty, names what is not
 * stored, or names more than one message, conversation or run; "argument_invalid" on a skew below 0.
 */
export async function scopeOfMessage(
  reference: { readonly messageIds: readonly string[] },
  store: MessageStore,
  { now, clockSkewMs = DEFAULT_LIMITS.clockSkewMs }: ScopeOptions,
): Promise<ScoringScope> {
  limitsOf({ clockSkewMs });
  const parsed = MessageScorable.safeParse({ kind: "message", messageIds: reference.messageIds });
  if (!parsed.success)
    throw new UpheldError("reference_invalid", `not a message: ${issuesOf(parsed.error)}`, {
      cause: parsed.error,
    });
  const found: FoundMessage[] = [];
  for (const id of parsed.data.messageIds) found.push(onlyOne(id, await store.find(id)));
  const { conversation } = sameMessage(found);
  const times = conversation.messages.map(({ at }) => at).toSorted();
  const from = timestampOf(nanosecondsOf(times[0] ?? now) - BigInt(clockSkewMs) * 1_000_000n);
  // A clock that was set back must not end the window before its messages.
  const last = times.at(-1) ?? now;
  return { window: [from, last > now ? last : now], attemptId: conversation.owner };
}

function onlyOne(id: MessageId, found: readonly FoundMessage[]): FoundMessage {
  const [first, ...others] = found;
  if (first === undefined)
    throw new UpheldError("reference_invalid", `no stored message has the id ${id}`);
  const runs = new Set(found.map(({ runId }) => runId));
  if (others.length > 0)
    throw new UpheldError(
      "reference_invalid",
      `message ${id} is stored ${found.length} times, in ${runs.size} runs; expected once`,
    );
  return first;
}

function sameMessage(found: readonly FoundMessage[]): FoundMessage {
  const sizes = [
    ["runs", new Set(found.map(({ runId }) => runId)).size],
    ["conversations", new Set(found.map(({ conversation }) => conversation.id)).size],
    ["messages", new Set(found.map(({ message }) => message.id)).size],
  ] as const;
  const [first] = found;
  const broken = sizes.find(([, size]) => size !== 1);
  if (broken === undefined && first !== undefined) return first;
  throw new UpheldError(
    "reference_invalid",
    `the reference names ${broken?.[1] ?? 0} ${broken?.[0] ?? "messages"}; expected one message`,
  );
}
