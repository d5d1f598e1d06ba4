import type { Observation, ToolsPayload } from "../core/observation.ts";
import {
  shownName,
  shownOutcome,
  type CallOutcome,
  type Provenance,
  type Recorder,
  type ToolCall,
} from "../core/tool-call.ts";
import { effectIndex, isPlace, saysItWrites, targetsOf, type Effect } from "./call-effects.ts";

/** How many calls a report lists one by one. */
export const MAX_REPORTED_CALLS = 1_000;

/** A call and what of the world changed at the places that it names. */
export interface ReportedCall {
  readonly uri: string;
  readonly id?: string;
  readonly name: string;
  readonly outcome: CallOutcome;
  /** Who says so. */
  readonly provenance: readonly Provenance[];
  readonly startedAt?: string;
  readonly endedAt?: string;
  /** Paths and keys among its arguments; the others are not told. */
  readonly targets: readonly string[];
  /** Changes of the run at those places: a hint, on which no verdict rests. */
  readonly effects: readonly Effect[];
  /** What does not fit: the call says that it wrote, and no such change was seen; or it failed, and there is one. */
  readonly doubt: "no_change_seen" | "changed_all_the_same" | null;
}

/** The tool calls of a run, as far as they were recorded. */
export interface ReportedCalls {
  readonly counts: Readonly<Record<CallOutcome, number>>;
  readonly shown: number;
  readonly total: number;
  readonly recorders: readonly Pick<Recorder, "name" | "kind" | "complete" | "shown" | "total">[];
  readonly list: readonly ReportedCall[];
}

/** The calls among the observations; null where nothing recorded any. Where rows changed, keys name places too. */
export function reportedCalls(
  observations: readonly Observation[],
  changes: readonly (Effect & { readonly from?: string })[],
): ReportedCalls | null {
  const payload = observations.map((each) => each.payload).find(({ kind }) => kind === "tools");
  if (payload?.kind !== "tools" || !hasRecord(payload)) return null;
  const index = effectIndex(changes);
  const rows = changes.some(({ uri }) => uri.includes("?"));
  const shown = payload.calls.slice(0, MAX_REPORTED_CALLS);
  const hidden = payload.recorders.reduce((sum, each) => sum + each.total - each.shown, 0);
  return {
    counts: countsOf(payload.calls),
    shown: shown.length,
    total: payload.calls.length + hidden,
    recorders: payload.recorders.map((each) => ({
      name: each.name,
      kind: each.kind,
      complete: each.complete && each.gaps.length === 0,
      shown: each.shown,
      total: each.total,
    })),
    list: shown.map((call) => {
      const targets = targetsOf(call);
      const effects = index.effectsOf(targets, shownName(call));
      return reportedCall(call, { targets, effects, rows });
    }),
  };
}

/** A file that never came, or no span at all, is no record of nothing. */
function hasRecord({ calls, recorders }: ToolsPayload): boolean {
  return calls.length > 0 || recorders.some(({ complete }) => complete);
}

function countsOf(calls: readonly ToolCall[]): Readonly<Record<CallOutcome, number>> {
  const counts = { ok: 0, refused: 0, error: 0, unfinished: 0 };
  for (const call of calls) counts[shownOutcome(call)] += 1;
  return counts;
}

interface Touched {
  readonly targets: readonly string[];
  readonly effects: readonly Effect[];
  readonly rows: boolean;
}

function reportedCall(call: ToolCall, { targets, effects, rows }: Touched): ReportedCall {
  const [first] = call.sightings;
  return {
    uri: call.uri,
    ...(call.id === undefined ? {} : { id: call.id }),
    name: shownName(call),
    outcome: shownOutcome(call),
    provenance: [...new Set(call.sightings.map(({ provenance }) => provenance))],
    ...(first.startedAt === undefined ? {} : { startedAt: first.startedAt }),
    ...(first.endedAt === undefined ? {} : { endedAt: first.endedAt }),
    targets,
    effects,
    doubt: doubtOf(call, { targets, effects, rows }),
  };
}

function doubtOf(call: ToolCall, { targets, effects, rows }: Touched): ReportedCall["doubt"] {
  if (shownOutcome(call) !== "ok") return effects.length > 0 ? "changed_all_the_same" : null;
  const namesPlace = targets.some((target) => rows || isPlace(target));
  return saysItWrites(shownName(call)) && namesPlace && effects.length === 0
    ? "no_change_seen"
    : null;
}
