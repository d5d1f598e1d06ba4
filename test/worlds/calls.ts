import { array, constantFrom, integer, option, record, type Arbitrary } from "fast-check";
import { ToolsCalled } from "../../src/core/condition.ts";
import { gap, type Gap } from "../../src/core/gap.ts";
import { AttemptId } from "../../src/core/ids.ts";
import { acquisitionOf, gapsOf, parseObservation } from "../../src/core/observation.ts";
import type { Observation, ToolsPayload } from "../../src/core/observation.ts";
import { callValue, type Sighting } from "../../src/core/tool-call.ts";
import { mergeRecordings } from "../../src/sources/tool-calls/merge.ts";
import type { IdentifiedSighting } from "../../src/sources/tool-calls/recording.ts";
import { nextId, NOW } from "./observations.ts";

export const SCOPE = {
  kind: "tool_calls",
  uri: "calls:/",
  attemptId: AttemptId.parse("attempt-1"),
} as const;

/** A call in short: what is left out has a plain value. */
export interface ShortCall extends Partial<Omit<Sighting, "arguments">> {
  readonly name: string;
  readonly id?: string | undefined;
  readonly given?: unknown;
}

export interface ShortRecorder {
  readonly name: string;
  readonly calls: readonly ShortCall[];
  readonly complete?: boolean;
  readonly gaps?: readonly Gap[];
  readonly total?: number;
}

/** What a source would have returned for these recorders. */
export function observeCalls(
  recorders: readonly ShortRecorder[],
  more: readonly Gap[] = [],
): Observation {
  const payload = mergeRecordings(
    SCOPE,
    recorders.map(({ name, calls, complete = true, gaps = [], total = calls.length }) => ({
      name,
      kind: "calls-file" as const,
      recording: {
        complete,
        gaps,
        sightings: calls.map((call, at) => sighted(name, call, at)),
        total,
      },
    })),
  );
  return observationOf({ ...payload, gaps: [...payload.gaps, ...more] });
}

export function observationOf(payload: ToolsPayload): Observation {
  return parseObservation({
    id: nextId(),
    source: { name: "tool-calls", version: "1", parameters: {}, children: [] },
    acquisition: acquisitionOf(gapsOf(payload)),
    observedAt: NOW,
    scorable: payload.scope,
    payload,
  });
}

function sighted(
  recorder: string,
  { id, given, ...call }: ShortCall,
  at: number,
): IdentifiedSighting {
  const sighting: Sighting = {
    recorder,
    provenance: "reported",
    sequence: at,
    outcome: "ok",
    ...(given === undefined ? {} : { arguments: callValue(given, 16_384) }),
    ...call,
  };
  return { id, sighting };
}

const names = constantFrom("a", "b", "c");
const outcomes = constantFrom("ok", "refused", "error", "unfinished");

export const anyCall: Arbitrary<ShortCall> = record({
  name: names,
  id: option(constantFrom("1", "2", "3"), { nil: undefined, freq: 3 }),
  outcome: outcomes,
  given: option(constantFrom({ x: 1 }, { x: 2 }, { x: 1, y: 2 }), { nil: undefined, freq: 4 }),
  sequence: integer({ min: 0, max: 4 }),
}) as Arbitrary<ShortCall>;

export const anyCallGap: Arbitrary<Gap> = record({
  code: constantFrom("trace_incomplete", "call_truncated", "evidence_kind_missing"),
  location: constantFrom("calls:/", "calls:/1", "calls:/2", "calls:/one"),
}).map(({ code, location }) => gap(code as Gap["code"], location));

const counts = constantFrom(
  {},
  {},
  { count: 0 },
  { count: 1 },
  { count: 2 },
  { atLeast: 2 },
  { atMost: 0 },
  { atMost: 1 },
  { atLeast: 1, atMost: 2 },
);

export const anyToolsCalled: Arbitrary<ToolsCalled> = record({
  order: constantFrom("any", "in_order", "exact"),
  requirements: array(
    record({
      name: names,
      outcome: option(outcomes, { nil: undefined }),
      arguments: option(constantFrom({ x: 1 }, { y: 2 }), { nil: undefined, freq: 2 }),
      counts,
    }).map(({ counts: given, ...rest }) => ({ ...rest, ...given })),
    { minLength: 1, maxLength: 3 },
  ),
}).map((given) => ToolsCalled.parse({ kind: "tools_called", ...given }));

export const anyRecorders: Arbitrary<readonly ShortRecorder[]> = array(
  record({
    calls: array(anyCall, { maxLength: 5 }),
    complete: constantFrom(true, true, false),
    gaps: array(anyCallGap, { maxLength: 1 }),
  }),
  { minLength: 1, maxLength: 2 },
).map((all) => all.map((each, index) => ({ ...each, name: ["one", "two"][index] ?? "more" })));
