import { gap, type Gap } from "../../core/gap.ts";
import type { ToolsPayload } from "../../core/observation.ts";
import type { ToolCallsScorable } from "../../core/scorable.ts";
import { nanosecondsOf, type Timestamp } from "../../core/timestamp.ts";
import { argumentsOf, nameOf, outcomeOf, resultOf, type Recorder } from "../../core/tool-call.ts";
import type { Settled, Sighting, ToolCall } from "../../core/tool-call.ts";
import type { CallRecorder, IdentifiedSighting, Recording } from "./recording.ts";

export type Brought = Pick<CallRecorder, "name" | "kind"> & { readonly recording: Recording };

/**
 * Joins what the recorders brought: sightings with one id are of one call, and both are kept where they contradict each other.
 * Calls that had ended before `from` are counted, not kept.
 */
export function mergeRecordings(
  scope: ToolCallsScorable,
  all: readonly Brought[],
  from?: Timestamp,
): ToolsPayload {
  const kept = all.map((each) => withoutOlder(each, from));
  const calls = callsOf(kept.flatMap(({ recording }) => recording.sightings));
  const excluded = all.flatMap(({ recording }) => recording.sightings).length;
  return {
    kind: "tools",
    schemaVersion: 1,
    scope,
    recorders: kept.map((each) => recorderOf(each, calls)),
    calls,
    gaps: calls.flatMap(gapsOfCall),
    excludedOutsideScope: excluded - kept.flatMap(({ recording }) => recording.sightings).length,
  };
}

function withoutOlder(brought: Brought, from: Timestamp | undefined): Brought {
  if (from === undefined) return brought;
  const edge = nanosecondsOf(from);
  const { recording } = brought;
  const sightings = recording.sightings.filter(({ sighting }) => {
    const last = sighting.endedAt ?? sighting.startedAt;
    return last === undefined || nanosecondsOf(last) >= edge;
  });
  const total = recording.total - (recording.sightings.length - sightings.length);
  return { ...brought, recording: { ...recording, sightings, total } };
}

function recorderOf({ name, kind, recording }: Brought, calls: readonly ToolCall[]): Recorder {
  const own = calls.filter(({ sightings }) => sightings.some(({ recorder }) => recorder === name));
  // Several sightings of one call count once.
  const hidden = recording.total - recording.sightings.length;
  const { complete } = recording;
  const gaps = [...recording.gaps, ...hiddenGap(name, hidden)];
  // What is not complete says why.
  if (!complete && gaps.length === 0) gaps.push(gap("trace_incomplete", `calls:/${name}`));
  return { name, kind, complete, gaps, shown: own.length, total: own.length + hidden };
}

function hiddenGap(name: string, hidden: number): readonly Gap[] {
  if (hidden === 0) return [];
  const detail = `${hidden} records beyond the limit were not kept`;
  return [
    gap("trace_incomplete", `calls:/${name}`, { detail, count: hidden, remedy: "Raise maxCalls." }),
  ];
}

function callsOf(identified: readonly IdentifiedSighting[]): readonly ToolCall[] {
  const byId = new Map<string, [Sighting, ...Sighting[]]>();
  const groups: { id: string | undefined; sightings: [Sighting, ...Sighting[]] }[] = [];
  for (const { id, sighting } of identified) {
    const known = id === undefined ? undefined : byId.get(id);
    if (known !== undefined) {
      join(known, sighting);
      continue;
    }
    const sightings: [Sighting, ...Sighting[]] = [sighting];
    if (id !== undefined) byId.set(id, sightings);
    groups.push({ id, sightings });
  }
  return inTime(groups).map(({ id, sightings }, index) => ({
    uri: `calls:/${index + 1}`,
    ...(id === undefined ? {} : { id }),
    sightings,
  }));
}

/** A later record of one recorder completes an earlier one that saw no end, and says nothing new where it is the same. */
function join(sightings: [Sighting, ...Sighting[]], later: Sighting): void {
  const index = sightings.findIndex(
    (each) => each.recorder === later.recorder && (isOpen(each) || isOpen(later)),
  );
  const earlier = sightings[index];
  if (earlier === undefined) {
    if (!sightings.some((each) => addsNothing(later, each))) sightings.push(later);
    return;
  }
  const [begun, ended] = isOpen(earlier) ? [earlier, later] : [later, earlier];
  if (begun.name !== ended.name) sightings.push(later);
  else
    sightings[index] = { ...begun, ...ended, sequence: Math.min(begun.sequence, ended.sequence) };
}

function isOpen({ outcome }: Sighting): boolean {
  return outcome === "unfinished";
}

/** True where all that a sighting tells stands in an earlier one of the same recorder. */
function addsNothing(later: Sighting, earlier: Sighting): boolean {
  const known: Readonly<Record<string, unknown>> = earlier;
  return Object.entries(later).every(
    ([key, value]) => key === "sequence" || JSON.stringify(known[key]) === JSON.stringify(value),
  );
}

/** By their starts where all are known, so that what several recorders saw is told in one order. */
function inTime<T extends { readonly sightings: readonly Sighting[] }>(
  groups: readonly T[],
): readonly T[] {
  const started = groups.map(({ sightings }) => {
    const at = sightings.find(({ startedAt }) => startedAt !== undefined)?.startedAt;
    return at === undefined ? undefined : nanosecondsOf(at);
  });
  if (started.includes(undefined)) return groups;
  return groups
    .map((group, index) => ({ group, at: started[index] ?? 0n, index }))
    .toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.index - b.index))
    .map(({ group }) => group);
}

/** What is not known of a single call. */
function gapsOfCall(call: ToolCall): readonly Gap[] {
  const [name, outcome, given, result] = [
    nameOf(call),
    outcomeOf(call),
    argumentsOf(call),
    resultOf(call),
  ];
  const contradicted = Object.entries({ name, outcome, arguments: given, result }).filter(
    ([, fact]) => fact.kind === "contradicted",
  );
  return [
    ...contradicted.map(([what]) => gap("calls_contradictory", call.uri, { detail: what })),
    ...(outcome.kind === "known" && outcome.value === "unfinished"
      ? [gap("span_unfinished", call.uri)]
      : []),
    ...cutGaps(call, { arguments: given, result }),
  ];
}

function cutGaps(
  { uri }: ToolCall,
  facts: Readonly<
    Record<string, Settled<{ readonly kind: string; readonly sizeBytes?: number | undefined }>>
  >,
): readonly Gap[] {
  return Object.entries(facts).flatMap(([what, fact]) => {
    if (fact.kind !== "known" || fact.value.kind !== "cut") return [];
    const { sizeBytes } = fact.value;
    const size = sizeBytes === undefined ? "" : ` of ${sizeBytes} bytes`;
    return [gap("call_truncated", uri, { detail: `${what}${size}` })];
  });
}
