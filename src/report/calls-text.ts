import { CallOutcome } from "../core/tool-call.ts";
import { count, counted, cut } from "./bounds.ts";
import type { Effect } from "./call-effects.ts";
import type { Paint } from "./paint.ts";
import { printable } from "./printable.ts";
import type { ReportedCall, ReportedCalls } from "./run-calls.ts";

const MAX_CALL_LINES = 10;
const NAME_WIDTH = 24;
const TARGET_WIDTH = 40;

/** "18 tool calls", for the agent's line. */
export function callCountText(calls: ReportedCalls | null): string {
  return calls === null ? "" : `, ${counted(calls.total, "tool call")}`;
}

/** Calls and effects side by side: those that did not do what they say first, and how many are not shown. */
export function callsText(calls: ReportedCalls | null, paint: Paint): readonly string[] {
  if (calls === null || calls.total === 0) return [];
  const shown = calls.list
    .map((call, index) => ({ call, index, rank: rankOf(call) }))
    .toSorted((a, b) => a.rank - b.rank || a.index - b.index)
    .slice(0, MAX_CALL_LINES)
    .toSorted((a, b) => a.index - b.index)
    .map(({ call }) => call);
  const width = Math.min(NAME_WIDTH, Math.max(...shown.map(({ name }) => printable(name).length)));
  const hidden = calls.total - shown.length;
  return [
    `  calls      ${countsText(calls)}   (${recordersText(calls)})`,
    ...shown.map((call) => callText(call, width, paint)),
    ...(hidden === 0 ? [] : [`               and ${count(hidden)} more`]),
  ];
}

function countsText({ counts, total }: ReportedCalls): string {
  const parts = CallOutcome.options.flatMap((outcome) =>
    counts[outcome] === 0 ? [] : [`${count(counts[outcome])} ${outcome}`],
  );
  return `${counted(total, "tool call")}: ${parts.join(", ")}`;
}

function recordersText({ list, recorders }: ReportedCalls): string {
  const who = new Set(list.flatMap(({ provenance }) => provenance));
  const words = [
    ...(who.has("recorded") ? ["recorded by a proxy"] : []),
    ...(who.has("reported") ? ["reported by the agent"] : []),
  ];
  const all = recorders.some(({ complete }) => complete) ? [] : ["perhaps not all"];
  return [recorders.map(({ name }) => name).join(" and "), ...words, ...all].join(", ");
}

function rankOf({ doubt, outcome, effects }: ReportedCall): number {
  if (doubt !== null) return 0;
  if (outcome !== "ok") return 1;
  return effects.length > 0 ? 2 : 3;
}

function callText(call: ReportedCall, width: number, paint: Paint): string {
  const word = call.outcome.padEnd(10);
  const outcome = call.outcome === "ok" ? word : paint.open(word);
  const name = cut(printable(call.name), width).padEnd(width);
  const [target = ""] = call.targets;
  const place = cut(printable(target), TARGET_WIDTH);
  return `               ${outcome} ${name}  ${place}  ${effectText(call, paint)}`.trimEnd();
}

function effectText({ effects, doubt }: ReportedCall, paint: Paint): string {
  const [first] = effects;
  if (first === undefined)
    return doubt === null ? "" : paint.bad("no change of that name was seen");
  const more = effects.length > 1 ? ` and ${count(effects.length - 1)} more` : "";
  return `${changeText(first)}${more}${doubt === null ? "" : paint.bad(", all the same")}`;
}

function changeText({ uri, change }: Effect): string {
  return `${change} ${printable(cut(uri, 72))}`;
}
