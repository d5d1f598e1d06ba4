import type { JsonValue } from "../core/canonical-json.ts";
import type { Message } from "../core/conversation.ts";
import type { EntryState, SurfaceEntry } from "../core/entry.ts";
import { evidenceKindOf, type EvidenceKind } from "../core/evidence-kind.ts";
import { gap, type Gap, type GapCode } from "../core/gap.ts";
import { rootOf } from "../core/locator.ts";
import type { Observation } from "../core/observation.ts";
import type { Column, Row } from "../core/row.ts";
import { parseStrictJson } from "../core/strict-json.ts";
import {
  argumentsOf,
  resultOf,
  shownName,
  shownOutcome,
  type CallValue,
  type Settled,
  type ToolCall,
} from "../core/tool-call.ts";

/** One piece of evidence that a judge can cite. */
export interface Exhibit {
  readonly kind: EvidenceKind;
  /** The title of the part of the bundle that holds it. */
  readonly part: string;
  /** Where it lies: a uri, or the number of a message. */
  readonly location: string;
  readonly value: JsonValue;
  /** What of it is not known, so that it proves no absence. */
  readonly gaps: readonly Gap[];
}

/** Every piece of evidence of some observations, each location once: what the run changed first. */
export function exhibitsOf(observations: readonly Observation[]): readonly Exhibit[] {
  const found = new Map<string, Exhibit>();
  for (const observation of deltasFirst(observations))
    for (const exhibit of exhibitsOfOne(observation)) {
      const key = `${exhibit.part}\n${exhibit.location}`;
      if (!found.has(key)) found.set(key, exhibit);
    }
  return [...found.values()];
}

function deltasFirst(observations: readonly Observation[]): readonly Observation[] {
  return [...observations.filter(isDelta), ...observations.filter((each) => !isDelta(each))];
}

function isDelta({ payload }: Observation): boolean {
  return payload.kind === "surface" && payload.extent === "delta";
}

function exhibitsOfOne({ payload }: Observation): readonly Exhibit[] {
  switch (payload.kind) {
    case "surface":
      return payload.entries
        .toSorted((left, right) => rankOf(left) - rankOf(right))
        .map((entry) => entryExhibit(entry, evidenceKindOf(payload.scope.surface)));
    case "conversation":
      return payload.conversation.messages.map(messageExhibit);
    case "tools":
      return payload.calls.map(callExhibit);
  }
}

/** What the run did comes before what it left alone. */
function rankOf({ change }: SurfaceEntry): number {
  return change === "unchanged" || change === "touched" ? 1 : 0;
}

function messageExhibit({ sequence, role, text, textTruncated, at }: Message): Exhibit {
  const location = `transcript:/${sequence}`;
  return {
    kind: "transcript",
    part: "transcript.jsonl",
    location,
    value: { at, role, text, ...(textTruncated ? { cut: true } : {}) },
    gaps: textTruncated ? [gap("text_not_retained", location)] : [],
  };
}

function callExhibit(call: ToolCall): Exhibit {
  const given = argumentsOf(call);
  const result = resultOf(call);
  const said = new Set(call.sightings.map(({ provenance }) => provenance));
  const startedAt = call.sightings.find((each) => each.startedAt !== undefined)?.startedAt;
  return {
    kind: "tool-calls",
    part: "tool-calls.jsonl",
    location: call.uri,
    value: {
      tool: shownName(call),
      outcome: shownOutcome(call),
      arguments: settledJson(given),
      result: settledJson(result),
      saidBy: [...said].toSorted(),
      ...(startedAt === undefined ? {} : { startedAt }),
    },
    gaps: [...gapOfValue(given, call.uri), ...gapOfValue(result, call.uri)],
  };
}

function settledJson(value: Settled<CallValue>): JsonValue {
  switch (value.kind) {
    case "known":
      return valueJson(value.value);
    case "not_recorded":
      return { notRecorded: true };
    case "contradicted":
      return { recordsDiffer: value.values.map(valueJson) };
  }
}

/** What a call may nest as deep as JSON goes has to fit below the levels of an exhibit. */
const MAX_SHOWN_DEPTH = 32;

function valueJson(value: CallValue): JsonValue {
  switch (value.kind) {
    case "json": {
      const json = parseStrictJson(value.text);
      return depthOf(json) > MAX_SHOWN_DEPTH ? value.text : json;
    }
    case "text":
      return value.text;
    case "cut":
      return {
        cut: value.head,
        ...(value.sizeBytes === undefined ? {} : { sizeBytes: value.sizeBytes }),
      };
  }
}

function depthOf(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Object.values(value).reduce<number>((most, each) => Math.max(most, depthOf(each)), 0);
}

function gapOfValue(value: Settled<CallValue>, location: string): readonly Gap[] {
  switch (value.kind) {
    case "known":
      return value.value.kind === "cut" ? [gap("call_truncated", location)] : [];
    case "not_recorded":
      return [gap("trace_incomplete", location, { detail: "a value was not recorded" })];
    case "contradicted":
      return [gap("calls_contradictory", location)];
  }
}

function entryExhibit(entry: SurfaceEntry, kind: EvidenceKind): Exhibit {
  const { uri, change, from, now, before } = entry;
  const isRewritten = change === "modified" || change === "moved";
  const unknownBefore = isRewritten && before === undefined && now !== undefined;
  const states = [now, before].filter((state) => state !== undefined);
  const codes: readonly GapCode[] = [
    ...states.flatMap(unknownOfState),
    ...(unknownBefore ? ["prior_content_unknown" as const] : []),
    ...(entry.reasons ?? []),
  ];
  return {
    kind,
    part: `observations/${rootOf(uri)}.json`,
    location: uri,
    value: {
      place: uri,
      change,
      ...(from === undefined ? {} : { from }),
      ...(before === undefined ? {} : { before: stateJson(before) }),
      ...(now === undefined ? {} : { now: stateJson(now) }),
    },
    gaps: [...new Set(codes)].map((code) => gap(code, uri)),
  };
}

/** What of a location's content a judge cannot read. */
function unknownOfState(state: EntryState): readonly GapCode[] {
  if (state.unread !== undefined) return [state.unread.code];
  if (state.row !== undefined) return unknownOfRow(state.row);
  if (state.type !== "file") return [];
  const { content } = state;
  if (content === undefined || content.truncated) return ["text_not_retained"];
  return content.encoding === "binary" ? ["not_text"] : [];
}

function unknownOfRow({ partial, columns }: Row): readonly GapCode[] {
  const isWhole = partial !== true && columns.every(({ cut }) => cut === undefined);
  return isWhole ? [] : ["text_not_retained"];
}

function stateJson(state: EntryState): JsonValue {
  const { type, row, content, definition, linkTarget, sizeBytes } = state;
  return {
    type,
    ...(row === undefined ? { sizeBytes } : { row: rowJson(row) }),
    ...(linkTarget === undefined ? {} : { linkTarget }),
    ...(definition === undefined ? {} : { definition }),
    ...(row === undefined && content !== undefined ? contentJson(content) : {}),
    ...(state.unread === undefined ? {} : { notRead: state.unread.code }),
  };
}

function contentJson(content: NonNullable<EntryState["content"]>): Record<string, JsonValue> {
  if (content.encoding === "binary") return { content: { binary: true } };
  return content.truncated ? { content: { cut: content.value } } : { content: content.value };
}

function rowJson({ columns, partial }: Row): JsonValue {
  const cells = Object.fromEntries(columns.map((column) => [column.name, cellJson(column)]));
  return partial === true ? { ...cells, otherColumns: { notKept: true } } : cells;
}

function cellJson({ value, cut }: Column): JsonValue {
  return cut === undefined || value === null ? value : { cut: value, sizeBytes: cut.sizeBytes };
}
