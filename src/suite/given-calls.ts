import { parseStrictJson } from "../core/strict-json.ts";
import { gap, type Gap } from "../core/gap.ts";
import { gapsOf, type Observation } from "../core/observation.ts";
import {
  argumentsOf,
  resultOf,
  shownName,
  shownOutcome,
  type CallValue,
  type Settled,
  type ToolCall,
} from "../core/tool-call.ts";
import type { GivenCall } from "./given-world.ts";

/** The tool calls of a run as check functions get them, and what they lack. No record of any is no proof of none. */
export function callsGiven(observations: readonly Observation[]): {
  readonly calls: readonly GivenCall[];
  readonly gaps: readonly Gap[];
} {
  const payloads = observations.flatMap(({ payload }) =>
    payload.kind === "tools" ? [payload] : [],
  );
  const isWhole = payloads.some(({ recorders }) => recorders.some(({ complete }) => complete));
  const missing =
    payloads.length === 0
      ? [gap("evidence_kind_missing", "calls:/", { detail: "nothing recorded the tool calls" })]
      : isWhole
        ? []
        : [gap("trace_incomplete", "calls:/")];
  return {
    calls: payloads.flatMap(({ calls }) => calls.map(givenCall)),
    gaps: [
      ...payloads.flatMap((payload) => (isWhole ? payload.gaps : gapsOf(payload))),
      ...missing,
    ],
  };
}

function givenCall(call: ToolCall): GivenCall {
  const outcome = shownOutcome(call);
  return {
    name: shownName(call),
    arguments: valueOf(argumentsOf(call)) ?? {},
    result: valueOf(resultOf(call)) ?? null,
    outcome,
    ok: outcome === "ok",
    refused: outcome === "refused",
    error: outcome === "error",
  };
}

function valueOf(settled: Settled<CallValue>): unknown {
  if (settled.kind !== "known") return undefined;
  const { value } = settled;
  if (value.kind === "json") return parseStrictJson(value.text);
  return value.kind === "text" ? value.text : undefined;
}
