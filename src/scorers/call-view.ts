import type { CallRequirement, ToolsCalled } from "../core/condition.ts";
import { NonReplayableObservationError } from "../core/errors.ts";
import { gap, type Gap } from "../core/gap.ts";
import type { Observation, ToolsPayload } from "../core/observation.ts";
import type { ToolCall } from "../core/tool-call.ts";
import type { CallTable, Span } from "./call-order.ts";
import { matchCall, type CallMatch } from "./match-call.ts";

/** A call and how it compares with each requirement. */
export interface MatchedCall {
  readonly call: ToolCall;
  readonly matches: readonly CallMatch[];
}

/**
 * The calls that one recorder saw: surely calls of the run, and all of them where it is complete. Calls of two recorders without
 * a common id may be the same, so that they are never added up.
 */
export interface CallView {
  readonly recorder: string;
  /** It says of itself that it brought all. */
  readonly claimsAll: boolean;
  /** And nothing speaks against it. */
  readonly isComplete: boolean;
  readonly groups: readonly (readonly MatchedCall[])[];
  /** Why there may be further calls. */
  readonly gaps: readonly Gap[];
}

/** Reads the calls of an observation for a question. Throws "not_replayable" where it holds none. */
export function viewsOf(
  { requirements }: ToolsCalled,
  observation: Observation,
): readonly CallView[] {
  const { payload } = observation;
  if (payload.kind !== "tools")
    throw new NonReplayableObservationError(
      `the observation is of a ${payload.kind}, asked were the tool calls`,
    );
  const known = new Set(payload.calls.map(({ uri }) => uri));
  // A gap at a call is about that call; any other may hide one.
  const elsewhere = payload.gaps.filter(({ location }) => !known.has(location));
  const matched = payload.calls.map((call) => ({
    call,
    matches: requirements.map((requirement) => matchCall(requirement, call)),
  }));
  return payload.recorders.map(({ name, complete, gaps, shown, total }) => {
    const hiding = [...gaps, ...elsewhere];
    const isComplete = complete && hiding.length === 0 && shown === total;
    return {
      recorder: name,
      claimsAll: complete,
      isComplete,
      groups: groupsOf(name, matched),
      gaps: isComplete || hiding.length > 0 ? hiding : [incomplete(payload, name)],
    };
  });
}

function incomplete({ scope }: ToolsPayload, recorder: string): Gap {
  return gap("trace_incomplete", `${scope.uri}${recorder}`, {
    detail: "it is not known to have brought every call",
  });
}

function groupsOf(
  recorder: string,
  calls: readonly MatchedCall[],
): readonly (readonly MatchedCall[])[] {
  const placed = calls.flatMap((each) => {
    const own = each.call.sightings.filter((sighting) => sighting.recorder === recorder);
    const sequence = Math.min(...own.map((sighting) => sighting.sequence));
    return own.length === 0 ? [] : [{ sequence, each }];
  });
  const groups = new Map<number, MatchedCall[]>();
  for (const { sequence, each } of placed.toSorted((a, b) => a.sequence - b.sequence)) {
    const group = groups.get(sequence);
    if (group === undefined) groups.set(sequence, [each]);
    else group.push(each);
  }
  return [...groups.values()];
}

export function callsOf(view: CallView): readonly MatchedCall[] {
  return view.groups.flat();
}

export function tableOf({ groups }: CallView): CallTable {
  return groups.map((group) => group.map(({ matches }) => matches.map((match) => match.value)));
}

/** The calls of a view that surely, or perhaps, are those of a requirement. */
export function matchingIn(
  view: CallView,
  requirement: number,
  values: readonly CallMatch["value"][],
): readonly MatchedCall[] {
  return callsOf(view).filter(({ matches }) => {
    const match = matches[requirement];
    return match !== undefined && values.includes(match.value);
  });
}

/** How many calls a requirement asks for: at least one, or exactly one where the order is exact, unless it says otherwise. */
export function spanOf(
  { count, atLeast, atMost }: CallRequirement,
  order: ToolsCalled["order"],
): Span {
  if (count !== undefined) return { least: count, most: count };
  if (atLeast === undefined && atMost === undefined)
    return { least: 1, most: order === "exact" ? 1 : Number.POSITIVE_INFINITY };
  return { least: atLeast ?? 0, most: atMost ?? Number.POSITIVE_INFINITY };
}
