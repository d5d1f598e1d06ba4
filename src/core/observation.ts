import { z } from "zod";
import { canonicalJson } from "./canonical-json.ts";
import { Conversation } from "./conversation.ts";
import { isNamedBy, SurfaceEntry } from "./entry.ts";
import { Gap } from "./gap.ts";
import { Digest, ObservationId } from "./ids.ts";
import { Identifier } from "./identifier.ts";
import { UpheldError } from "./errors.ts";
import { issuesOf } from "./issues.ts";
import {
  ConversationScorable,
  globOfScorable,
  MessageScorable,
  SurfaceScorable,
  ToolCallsScorable,
} from "./scorable.ts";
import { Timestamp } from "./timestamp.ts";
import { Recorder, ToolCall } from "./tool-call.ts";

export const Acquisition = z.enum(["complete", "partial", "unavailable", "error"]);
export type Acquisition = z.infer<typeof Acquisition>;

/** How it is known what this run changed, strongest first. "baseline (stat)": by identity, size and times, without reading every file. */
export const AttributionMethod = z.enum(["exact", "baseline", "baseline (stat)", "window", "none"]);
export type AttributionMethod = z.infer<typeof AttributionMethod>;

/** The method that was used, over which world before, and why no stronger one. */
export const Attribution = z
  .object({
    method: AttributionMethod,
    baseline: Digest.optional(),
    reason: z.string().optional(),
  })
  .readonly();
export type Attribution = z.infer<typeof Attribution>;

/**
 * Which entries an observation holds: "candidates" are the locations that can hold content, "delta" is every changed
 * location of any type, directories too. A delta answers what candidates answer, never the other way round.
 */
export const Extent = z.enum(["candidates", "delta"]);
export type Extent = z.infer<typeof Extent>;

/** What was looked at, and every place that was not. Complete if and only if there is no gap. */
export const Coverage = z
  .object({
    gaps: z.array(Gap).readonly(),
    /** Names met in listings. */
    listed: z.int().min(0),
    /** Bytes read from files. */
    readBytes: z.int().min(0),
    /** Locations that match: how many are entries here, and how many were found. */
    shown: z.int().min(0),
    total: z.int().min(0),
    /** Matching locations that the run did not change; absent where that count is not known. */
    unchanged: z.int().min(0).optional(),
    /**
     * Links in scope that are no entries here, since what lies behind them stands under its own name. Absent where they are
     * not known: then only a question about these very locations can be refuted.
     */
    links: z.array(z.string().min(1)).readonly().optional(),
    /** How it was made sure that what was read lies inside the root. */
    confinement: z.enum(["handle", "identity", "unverified", "not-applicable"]),
  })
  .readonly();
export type Coverage = z.infer<typeof Coverage>;

const surfacePayload = z.object({
  kind: z.literal("surface"),
  schemaVersion: z.literal(1),
  scope: SurfaceScorable,
  extent: Extent,
  attribution: Attribution,
  entries: z.array(SurfaceEntry).readonly(),
  coverage: Coverage,
  excludedOutsideScope: z.int().min(0),
  scopeKeysNotApplied: z.array(z.enum(["window", "labels", "attemptId", "baseline"])).readonly(),
});

/** What a surface holds at the asked locations, and what the run did to each. */
export const SurfacePayload = surfacePayload.readonly().superRefine((payload, context) => {
  const uris = new Set<string>();
  const glob = globOfScorable(payload.scope);
  for (const [index, entry] of payload.entries.entries()) {
    const path = ["entries", index, "uri"];
    if (uris.has(entry.uri))
      context.addIssue({ code: "custom", path, message: `location ${entry.uri} stands twice` });
    uris.add(entry.uri);
    if (!isNamedBy(glob, entry))
      context.addIssue({
        code: "custom",
        path,
        message: `location ${entry.uri} is not one that ${payload.scope.uri} names`,
      });
  }
});
export type SurfacePayload = z.infer<typeof SurfacePayload>;

/** A conversation as it was recorded. `gaps` names what the recording lacks. */
export const ConversationPayload = z
  .object({
    kind: z.literal("conversation"),
    schemaVersion: z.literal(1),
    conversation: Conversation,
    gaps: z.array(Gap).readonly(),
  })
  .readonly();
export type ConversationPayload = z.infer<typeof ConversationPayload>;

/**
 * The calls of tools that one attempt made, in the order in which the first record of each came. Each recorder says whether it
 * brought all of them, and what it lacks; `gaps` names what is not known of single calls.
 */
export const ToolsPayload = z
  .object({
    kind: z.literal("tools"),
    schemaVersion: z.literal(1),
    scope: ToolCallsScorable,
    recorders: z.array(Recorder).readonly(),
    calls: z.array(ToolCall).readonly(),
    gaps: z.array(Gap).readonly(),
    /** Calls before the window of the run, which are not kept. */
    excludedOutsideScope: z.int().min(0).default(0),
  })
  .readonly()
  .superRefine(({ recorders, calls }, context) => {
    const names = new Set(recorders.map(({ name }) => name));
    const unknown = calls.flatMap(({ sightings }) => sightings.map(({ recorder }) => recorder));
    if (names.size !== recorders.length || unknown.some((name) => !names.has(name)))
      context.addIssue({
        code: "custom",
        path: ["recorders"],
        message: "a recorder is not named once",
      });
    if (new Set(calls.map(({ uri }) => uri)).size !== calls.length)
      context.addIssue({ code: "custom", path: ["calls"], message: "two calls have one location" });
  });
export type ToolsPayload = z.infer<typeof ToolsPayload>;

export const Payload = z.union([SurfacePayload, ConversationPayload, ToolsPayload]);
export type Payload = z.infer<typeof Payload>;

/**
 * Immutable evidence: what a source saw, for which scorable, when, and how completely. Acquisition is "complete" exactly
 * when nothing is missing; "unavailable" and "error" hold no entries.
 */
export const Observation = z
  .object({
    id: ObservationId,
    source: Identifier,
    acquisition: Acquisition,
    observedAt: Timestamp,
    scorable: z.union([SurfaceScorable, ConversationScorable, MessageScorable, ToolCallsScorable]),
    payload: Payload,
    metadata: z.record(z.string(), z.string()).readonly().default({}),
  })
  .readonly()
  .superRefine((observation, context) => {
    const gaps = gapsOf(observation.payload);
    if ((observation.acquisition === "complete") !== (gaps.length === 0))
      context.addIssue({
        code: "custom",
        path: ["acquisition"],
        message: `acquisition is ${observation.acquisition} with ${gaps.length} gaps`,
      });
    if (
      observation.acquisition !== "complete" &&
      observation.acquisition !== "partial" &&
      sizeOf(observation.payload) > 0
    )
      context.addIssue({
        code: "custom",
        path: ["payload"],
        message: `acquisition is ${observation.acquisition}, yet there are entries`,
      });
    if (!isOfScorable(observation))
      context.addIssue({
        code: "custom",
        path: ["payload"],
        message: "the payload is of another scorable",
      });
  });
export type Observation = z.infer<typeof Observation>;
export type SurfaceObservation = Observation & { readonly payload: SurfacePayload };

/** The gaps of any payload. */
export function gapsOf(payload: Payload): readonly Gap[] {
  switch (payload.kind) {
    case "surface":
      return payload.coverage.gaps;
    case "conversation":
      return payload.gaps;
    case "tools":
      return [...payload.recorders.flatMap(({ gaps }) => gaps), ...payload.gaps];
  }
}

/** "complete" or "partial", as the gaps say. */
export function acquisitionOf(gaps: readonly Gap[]): Acquisition {
  return gaps.length === 0 ? "complete" : "partial";
}

/** Observations that keep the invariants by how they were made. */
const made = new WeakSet();

/** Says that an observation was built by code of this package, so that it need not be parsed where it is handed on. */
export function markMade(observation: Observation): Observation {
  made.add(observation);
  return observation;
}

/** True for an observation that this process built by itself; one that was stored or came from elsewhere has to be parsed. */
export function isMade(value: unknown): value is Observation {
  return typeof value === "object" && value !== null && made.has(value);
}

/** Reads a stored or returned observation. Unknown fields are left out. Throws "observation_changed" where an invariant is broken. */
export function parseObservation(value: unknown): Observation {
  const parsed = Observation.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new UpheldError("observation_changed", `not an observation: ${issuesOf(parsed.error)}`, {
    cause: parsed.error,
  });
}

/** A surface is of the locations that it names; a conversation is the one that was asked for, and no longer. */
function isOfScorable({
  scorable,
  payload,
}: {
  readonly scorable: z.infer<typeof Observation>["scorable"];
  readonly payload: Payload;
}): boolean {
  if (payload.kind !== "conversation")
    return canonicalJson(payload.scope) === canonicalJson(scorable);
  if (scorable.kind !== "conversation") return scorable.kind === "message";
  const { conversationId, throughSequence } = scorable;
  return (
    payload.conversation.id === conversationId &&
    (throughSequence === undefined || payload.conversation.messages.length <= throughSequence + 1)
  );
}

function sizeOf(payload: Payload): number {
  switch (payload.kind) {
    case "surface":
      return payload.entries.length;
    case "conversation":
      return payload.conversation.messages.length;
    case "tools":
      return payload.calls.length;
  }
}
