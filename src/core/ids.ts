import { z } from "zod";

/** "sha256:" and 64 lower-case hex digits. Made only by parsing. */
export const Digest = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/, "expected sha256: and 64 lower-case hex digits")
  .brand("Digest");
export type Digest = z.infer<typeof Digest>;

const uuid = z
  .string()
  .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, "expected a UUID in lower case");
const name = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
    "expected 1 to 128 letters, digits, dots, dashes or underscores",
  );

/** One run of an agent. Also the name of its state folder: never a path. */
export const RunId = name.brand("RunId");
export type RunId = z.infer<typeof RunId>;

/** One attempt of an agent at one scenario; allocated before anything is sent. */
export const AttemptId = name.brand("AttemptId");
export type AttemptId = z.infer<typeof AttemptId>;

export const ConversationId = name.brand("ConversationId");
export type ConversationId = z.infer<typeof ConversationId>;

export const MessageId = name.brand("MessageId");
export type MessageId = z.infer<typeof MessageId>;

export const ObservationId = uuid.brand("ObservationId");
export type ObservationId = z.infer<typeof ObservationId>;

export const ScoreId = uuid.brand("ScoreId");
export type ScoreId = z.infer<typeof ScoreId>;

/** One judgment: an answer of one judge about one claim. */
export const JudgmentId = uuid.brand("JudgmentId");
export type JudgmentId = z.infer<typeof JudgmentId>;

/** A W3C trace id: 32 hex digits, not all zero. */
export const TraceId = z
  .string()
  .regex(/^(?!0{32}$)[0-9a-f]{32}$/, "expected 32 lower-case hex digits, not all zero")
  .brand("TraceId");
export type TraceId = z.infer<typeof TraceId>;
