import { z } from "zod";
import { exactGlob, parseGlob, type Glob } from "./glob.ts";
import { AttemptId, ConversationId, MessageId, TraceId } from "./ids.ts";
import { LocatorText } from "./locator.ts";
import { defineKinds } from "./registry.ts";
import { ScoringScope } from "./scope.ts";

/** Whether looking again later may show something else. */
export type Volatility = "stable" | "append-only" | "mutable";

const unique = (items: readonly unknown[]): boolean => new Set(items).size === items.length;

/** One message of one run, or some of its pieces. */
export const MessageScorable = z
  .strictObject({
    kind: z.literal("message"),
    messageIds: z.array(MessageId).min(1).refine(unique, "a message id stands twice").readonly(),
  })
  .readonly();
export type MessageScorable = z.infer<typeof MessageScorable>;

/** A conversation, up to a message where `throughSequence` is given. */
export const ConversationScorable = z
  .strictObject({
    kind: z.literal("conversation"),
    conversationId: ConversationId,
    throughSequence: z.int().min(0).optional(),
  })
  .readonly();
export type ConversationScorable = z.infer<typeof ConversationScorable>;

/** Content in hand. */
export const ContentScorable = z
  .strictObject({
    kind: z.literal("content"),
    value: z.string(),
    mediaType: z.string().min(1).default("text/plain"),
  })
  .readonly();
export type ContentScorable = z.infer<typeof ContentScorable>;

/** The calls of tools that one attempt made. Their locations are beneath its uri. */
export const ToolCallsScorable = z
  .strictObject({
    kind: z.literal("tool_calls"),
    uri: z.literal("calls:/"),
    attemptId: AttemptId,
  })
  .readonly();
export type ToolCallsScorable = z.infer<typeof ToolCallsScorable>;

export const TraceScorable = z
  .strictObject({
    kind: z.literal("trace"),
    traceIds: z.array(TraceId).min(1).refine(unique, "a trace id stands twice").readonly(),
  })
  .readonly();
export type TraceScorable = z.infer<typeof TraceScorable>;

export const Match = z.enum(["exact", "glob"]);
export type Match = z.infer<typeof Match>;

/** Locations on a surface: one, or all that a pattern names. `surface` is the kind of place: file, sql, bucket, ... */
export const SurfaceScorable = z
  .strictObject({
    kind: z.literal("surface"),
    uri: LocatorText,
    surface: z.string().min(1).default("file"),
    match: Match.default("exact"),
    scope: ScoringScope.optional(),
  })
  .readonly();
export type SurfaceScorable = z.infer<typeof SurfaceScorable>;

export const Scorable = z.discriminatedUnion("kind", [
  MessageScorable,
  ConversationScorable,
  ContentScorable,
  TraceScorable,
  ToolCallsScorable,
  SurfaceScorable,
]);
export type Scorable = z.infer<typeof Scorable>;

/** The kinds of scorables, each with what it declares. An unknown tag is an error. */
export const scorableKinds = defineKinds("scorable", [
  { kind: "message", schema: MessageScorable, volatility: "stable" as Volatility },
  { kind: "conversation", schema: ConversationScorable, volatility: "append-only" as Volatility },
  { kind: "content", schema: ContentScorable, volatility: "stable" as Volatility },
  { kind: "trace", schema: TraceScorable, volatility: "append-only" as Volatility },
  { kind: "tool_calls", schema: ToolCallsScorable, volatility: "append-only" as Volatility },
  { kind: "surface", schema: SurfaceScorable, volatility: "mutable" as Volatility },
]);

/** The pattern of a surface scorable's locations. Throws "glob_invalid". */
export function globOfScorable(scorable: { readonly uri: string; readonly match: Match }): Glob {
  return scorable.match === "glob" ? parseGlob(scorable.uri) : exactGlob(scorable.uri);
}
