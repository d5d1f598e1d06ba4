import { ConversationId, MessageId, ObservationId } from "../../src/core/ids.ts";
import type { RetainedContent } from "../../src/core/entry.ts";
import { EntryState, SurfaceEntry } from "../../src/core/entry.ts";
import { digestOf } from "../../src/core/fingerprint.ts";
import { gap, type Gap, type GapCode } from "../../src/core/gap.ts";
import { parseObservation, type Observation } from "../../src/core/observation.ts";
import type { Match } from "../../src/core/scorable.ts";
import { contentOf } from "../../src/core/text.ts";

/** Observations by hand: what a source would have returned for a small world. */

export const NOW = "2026-11-30T18:48:15.000000000Z";

let made = 0;

/** Ids that differ within a test file. */
export function nextId(): ObservationId {
  made += 1;
  return ObservationId.parse(`00000000-0000-4000-8000-${made.toString(16).padStart(12, "0")}`);
}

const encoder = new TextEncoder();

/** A file that was read to its end. */
export function file(text: string | Uint8Array, more: Partial<EntryState> = {}): EntryState {
  const bytes = typeof text === "string" ? encoder.encode(text) : text;
  return EntryState.parse({
    type: "file",
    sizeBytes: bytes.length,
    mode: 0o644,
    owner: { uid: 1000, gid: 1000 },
    sha256: digestOf(bytes),
    content: retained(bytes, true),
    ...more,
  });
}

/** A file of which only the head was kept, or nothing at all. */
export function cutFile(text: string, keptBytes: number, unread?: GapCode): EntryState {
  const bytes = encoder.encode(text);
  return EntryState.parse({
    type: "file",
    sizeBytes: bytes.length,
    mode: 0o644,
    owner: { uid: 1000, gid: 1000 },
    ...(unread === undefined ? { sha256: digestOf(bytes) } : { unread: { code: unread } }),
    ...(keptBytes === 0 ? {} : { content: retained(bytes.subarray(0, keptBytes), false) }),
  });
}

export function directory(more: Partial<EntryState> = {}): EntryState {
  return EntryState.parse({ type: "directory", sizeBytes: 0, mode: 0o755, ...more });
}

export function link(target: string, more: Partial<EntryState> = {}): EntryState {
  return EntryState.parse({ type: "link", sizeBytes: target.length, linkTarget: target, ...more });
}

export function retained(bytes: Uint8Array, whole: boolean): RetainedContent {
  const content = contentOf(bytes, whole);
  return content.encoding === "binary"
    ? { encoding: "binary", value: Buffer.from(bytes).toString("base64"), truncated: !whole }
    : { encoding: content.encoding, value: content.text, truncated: !whole };
}

export const created = (uri: string, now: EntryState): SurfaceEntry =>
  SurfaceEntry.parse({ uri, change: "created", now });
export const modified = (
  uri: string,
  before: EntryState | undefined,
  now: EntryState,
): SurfaceEntry => SurfaceEntry.parse({ uri, change: "modified", before, now });
export const touched = (
  uri: string,
  before: EntryState | undefined,
  now: EntryState,
): SurfaceEntry => SurfaceEntry.parse({ uri, change: "touched", before, now });
export const unchanged = (uri: string, now: EntryState): SurfaceEntry =>
  SurfaceEntry.parse({ uri, change: "unchanged", before: now, now });
export const deleted = (uri: string, before?: EntryState): SurfaceEntry =>
  SurfaceEntry.parse({ uri, change: "deleted", before });
export const moved = (from: string, uri: string, now: EntryState): SurfaceEntry =>
  SurfaceEntry.parse({ uri, from, change: "moved", before: now, now });
export const unknown = (uri: string, reasons: readonly GapCode[], now: EntryState): SurfaceEntry =>
  SurfaceEntry.parse({ uri, change: "unknown", reasons, now });

export interface World {
  readonly uri?: string;
  readonly match?: Match;
  readonly surface?: string;
  readonly extent?: "candidates" | "delta";
  readonly method?: "exact" | "baseline" | "baseline (stat)" | "window" | "none";
  readonly entries?: readonly SurfaceEntry[];
  readonly gaps?: readonly Gap[];
  readonly links?: readonly string[];
  readonly unavailable?: boolean;
  readonly outside?: number;
}

/** What a source returns for a world: by default the candidates of everything in the workspace, under a baseline. */
export function observe(world: World = {}): Observation {
  const gaps = world.gaps ?? [];
  const scorable = {
    kind: "surface",
    uri: world.uri ?? "workspace:/**",
    surface: world.surface ?? "file",
    match: world.match ?? ((world.uri ?? "**").includes("*") ? "glob" : "exact"),
  };
  const entries = world.entries ?? [];
  return parseObservation({
    id: nextId(),
    source: { name: "by-hand", version: "1" },
    acquisition:
      world.unavailable === true ? "unavailable" : gaps.length === 0 ? "complete" : "partial",
    observedAt: NOW,
    scorable,
    payload: {
      kind: "surface",
      schemaVersion: 1,
      scope: scorable,
      extent: world.extent ?? "candidates",
      attribution: { method: world.method ?? "baseline" },
      entries,
      coverage: {
        gaps,
        listed: 100,
        readBytes: 1000,
        shown: entries.length,
        total: entries.length,
        unchanged: 7,
        confinement: "handle",
        links: world.links ?? [],
      },
      excludedOutsideScope: world.outside ?? 0,
      scopeKeysNotApplied: [],
    },
  });
}

export const gapAt = (code: GapCode, location: string): Gap => gap(code, location);

export interface Line {
  readonly role?: "user" | "assistant" | "system" | "tool";
  readonly text: string;
  readonly textTruncated?: boolean;
}

export const CONVERSATION = ConversationId.parse("c1");

/** A recorded conversation. */
export function conversation(lines: readonly Line[], gaps: readonly Gap[] = []): Observation {
  return parseObservation({
    id: nextId(),
    source: { name: "by-hand", version: "1" },
    acquisition: gaps.length === 0 ? "complete" : "partial",
    observedAt: NOW,
    scorable: { kind: "conversation", conversationId: CONVERSATION },
    payload: {
      kind: "conversation",
      schemaVersion: 1,
      gaps,
      conversation: {
        id: CONVERSATION,
        owner: "a1",
        messages: lines.map((line, sequence) => ({
          id: MessageId.parse(`m${sequence}`),
          conversationId: CONVERSATION,
          sequence,
          role: line.role ?? "assistant",
          text: line.text,
          textTruncated: line.textTruncated ?? false,
          at: NOW,
        })),
      },
    },
  });
}
