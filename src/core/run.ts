import { z } from "zod";
import { AttemptId, ConversationId, RunId } from "./ids.ts";
import { Timestamp } from "./timestamp.ts";

/** How an agent's run ended. Its failure is none of the check, of the judge or of the infrastructure. */
export const AgentOutcome = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("exited"), code: z.int() }).readonly(),
  z.object({ kind: z.literal("signaled"), signal: z.string() }).readonly(),
  z.object({ kind: z.literal("timed_out"), afterMs: z.number() }).readonly(),
  z.object({ kind: z.literal("not_started"), reason: z.string() }).readonly(),
  z.object({ kind: z.literal("answered") }).readonly(),
  z.object({ kind: z.literal("failed"), reason: z.string() }).readonly(),
]);
export type AgentOutcome = z.infer<typeof AgentOutcome>;

/** One attempt of an agent. The window's edges are taken from the clock of the observed file system where there is one. */
export const Run = z
  .object({
    runId: RunId,
    attemptId: AttemptId,
    conversationId: ConversationId.optional(),
    window: z.tuple([Timestamp, Timestamp]).readonly(),
    labels: z.record(z.string(), z.string()).readonly(),
    agent: z
      .object({
        kind: z.enum(["command", "endpoint", "function"]),
        outcome: AgentOutcome,
        durationMs: z.number().min(0),
      })
      .readonly(),
  })
  .readonly();
export type Run = z.infer<typeof Run>;
