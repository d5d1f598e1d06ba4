import type { ToolsCalled } from "../core/condition.ts";
import type { ObservationId } from "../core/ids.ts";
import type { Observation } from "../core/observation.ts";
import {
  shownName,
  shownOutcome,
  type Provenance,
  type Recorder,
  type ToolCall,
} from "../core/tool-call.ts";
import type { EntryRef } from "../core/verdict.ts";
import { callsOf, type CallView } from "./call-view.ts";
import { counted } from "./rationale.ts";

const MAX_TOLD_ATTEMPTS = 5;

const PROVENANCE: Readonly<Record<Provenance, string>> = {
  recorded: "recorded by a proxy",
  reported: "reported by the agent",
};

/** Points at a call: its name, how it ended and who says so. */
export function refOfCall(call: ToolCall, observation: ObservationId): EntryRef {
  return {
    uri: call.uri,
    observation,
    detail: `${shownName(call)} ${shownOutcome(call)}, ${tellProvenance(call.sightings.map((each) => each.provenance))}`,
  };
}

/** Who says so, in words. */
export function tellProvenance(all: readonly Provenance[]): string {
  const words = [...new Set(all)].toSorted().map((each) => PROVENANCE[each]);
  return words.length === 0 ? "nobody saw any" : words.join(" and ");
}

/** What was asked for. Arguments are named, their values are not: they may be secret. */
export function tellAsked({ requirements, order }: ToolsCalled): string {
  const told = requirements.map((each) => {
    const names = Object.keys(each.arguments ?? {});
    const numbers = [
      each.count === undefined ? "" : `exactly ${each.count}`,
      each.atLeast === undefined ? "" : `at least ${each.atLeast}`,
      each.atMost === undefined ? "" : `at most ${each.atMost}`,
    ].filter((part) => part !== "");
    return [
      each.name,
      names.length === 0 ? "" : ` with ${names.join(", ")} given`,
      each.outcome === undefined ? "" : `, outcome ${each.outcome}`,
      numbers.length === 0 ? "" : ` (${numbers.join(", ")})`,
    ].join("");
  });
  const how = { any: "", in_order: ", in this order", exact: ", in this order and nothing else" };
  return `tools_called: ${told.join("; ")}${how[order]}`;
}

/** Calls of a required name that are not those that were asked for: attempts, which are no effects. */
export function tellAttempts({ requirements }: ToolsCalled, views: readonly CallView[]): string {
  const otherwise = views.flatMap(callsOf).filter(({ call, matches }) => {
    const named = matches.filter((_, index) => requirements[index]?.name === shownName(call));
    return named.length > 0 && named.every(({ value }) => value === "no");
  });
  const calls = new Map(
    otherwise.map(({ call }) => [call.uri, `${call.uri} ${shownName(call)} ${shownOutcome(call)}`]),
  );
  if (calls.size === 0) return "";
  const shown = [...calls.values()].slice(0, MAX_TOLD_ATTEMPTS);
  const more = calls.size - shown.length;
  return `Called otherwise: ${shown.join(", ")}${more === 0 ? "" : `, and ${more} more`}`;
}

/** A sentence a recorder: how many calls, whether that is all, and who says so. */
export function tellRecorders(payload: Observation["payload"]): readonly string[] {
  if (payload.kind !== "tools") return [];
  return payload.recorders.map((recorder) => tellRecorder(recorder, payload.calls));
}

function tellRecorder(
  { name, kind, complete, gaps, total }: Recorder,
  calls: readonly ToolCall[],
): string {
  const own = calls
    .flatMap(({ sightings }) => sightings)
    .filter((sighting) => sighting.recorder === name);
  const who =
    own.length > 0
      ? tellProvenance(own.map(({ provenance }) => provenance))
      : kind === "otlp"
        ? PROVENANCE.reported
        : "which the agent was to write";
  const extent = complete && gaps.length === 0 ? "all that there were" : "perhaps not all";
  return `Provenance: ${name} has ${counted(total, "call")}, ${extent}, ${who}`;
}
