import { z } from "zod";
import { AttemptId, ConversationId, MessageId } from "./ids.ts";
import { Timestamp } from "./timestamp.ts";

export const Role = z.enum(["user", "assistant", "system", "tool"]);
export type Role = z.infer<typeof Role>;

/** One message. `textTruncated` says that only the head of its text was kept, `textRedacted` that secrets were removed. */
export const Message = z
  .object({
    id: MessageId,
    conversationId: ConversationId,
    sequence: z.int().min(0),
    role: Role,
    text: z.string(),
    textTruncated: z.boolean().default(false),
    textRedacted: z.boolean().optional(),
    at: Timestamp,
  })
  .readonly();
export type Message = z.infer<typeof Message>;

/** A conversation and the attempt that owns it. The owner is assigned once, before anything is sent. */
export const Conversation = z
  .object({ id: ConversationId, owner: AttemptId, messages: z.array(Message).readonly() })
  .readonly()
  .refine(
    (conversation) =>
      conversation.messages.every(
        (message, index) =>
          message.sequence === index && message.conversationId === conversation.id,
      ),
    "messages must be numbered from 0 without a hole and belong to the conversation",
  );
export type Conversation = z.infer<typeof Conversation>;
