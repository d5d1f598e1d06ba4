import {
  argumentsOf,
  resultOf,
  type CallValue,
  type Settled,
  type ToolCall,
} from "../core/tool-call.ts";
import type { ToolsPayload } from "../core/observation.ts";
import { count, cut } from "../report/bounds.ts";
import type { ReportedCall, ReportedCalls } from "../report/run-calls.ts";
import { printable } from "../report/printable.ts";
import { element, folded, type Child } from "./element.ts";
import { blockText, inlineText, placeText } from "./evidence-text.ts";
import { paged } from "./paged.ts";

const DOUBTS = {
  no_change_seen: "It says that it wrote. No such change was seen.",
  changed_all_the_same: "It did not end well. Something changed all the same.",
} as const;

/** Characters of a place or key that a call names, in its line. */
const TARGET_CHARACTERS = 120;

/** The calls in their order, each beside what changed at the places that it names. */
export function callTimeline(
  reported: ReportedCalls | undefined,
  payload: ToolsPayload | undefined,
): readonly Child[] {
  if (reported === undefined || payload === undefined)
    return [
      element(
        "p",
        { class: "empty" },
        "Nothing recorded the tool calls of this run. That is no proof that there were none.",
      ),
    ];
  const byUri = new Map(payload.calls.map((call) => [call.uri, call]));
  return [
    element("p", {}, countsText(reported)),
    element(
      "ul",
      { class: "recorders" },
      ...reported.recorders.map(({ name, complete, shown, total }) =>
        element(
          "li",
          {},
          inlineText(name),
          complete ? ": every call of the run" : ": not known to be every call of the run",
          shown < total ? `; ${count(total - shown)} were not kept` : null,
        ),
      ),
    ),
    paged(reported.list, "Calls", (page) =>
      element(
        "ol",
        { class: "calls" },
        ...page.map((call) =>
          element("li", { class: call.outcome }, callElement(call, byUri.get(call.uri))),
        ),
      ),
    ),
    reported.total > reported.shown
      ? element("p", {}, `and ${count(reported.total - reported.shown)} more calls`)
      : null,
  ];
}

function countsText({ counts, total }: ReportedCalls): string {
  const told = Object.entries(counts).filter(([, calls]) => calls > 0);
  const list = told.map(([outcome, calls]) => `${count(calls)} ${outcome}`);
  return `${count(total)} in all${list.length === 0 ? "" : `: ${list.join(", ")}`}`;
}

/** When, what was called, and beside it what of the world changed at the places that it names. */
function callElement(call: ReportedCall, whole: ToolCall | undefined): HTMLElement {
  return element(
    "article",
    {},
    element("span", { class: "when" }, timeText(call)),
    folded(
      [
        element("bdi", { class: "name" }, printable(call.name)),
        ...call.targets.map((target) =>
          element("bdi", { class: "target" }, printable(cut(target, TARGET_CHARACTERS))),
        ),
        element("span", { class: `outcome ${call.outcome}` }, call.outcome),
      ],
      () => (whole === undefined ? [] : detailOf(call, whole)),
    ),
    effectsOf(call),
  );
}

function detailOf({ provenance }: ReportedCall, whole: ToolCall): readonly Child[] {
  const told = provenance.map((each) => PROVENANCE[each]).join(" and ");
  return [
    ...valueElements("Arguments", argumentsOf(whole)),
    ...valueElements("Result", resultOf(whole)),
    element("p", { class: "method" }, `Known by: ${told}`),
  ];
}

const PROVENANCE = {
  recorded: "a proxy that recorded it",
  reported: "the agent, who reported it",
} as const;

/** A call of which no time is known is told by its place among the calls. */
function timeText({ uri, startedAt, endedAt }: ReportedCall): string {
  const start = startedAt?.slice(11, 23) ?? "";
  const end = endedAt?.slice(11, 23) ?? "";
  if (start === "") return uri;
  return end === "" ? start : `${start} to ${end}`;
}

function effectsOf({ effects, doubt, outcome }: ReportedCall): HTMLElement {
  const isQuiet = effects.length === 0 && doubt === null;
  return element(
    "div",
    { class: "effects" },
    effects.length === 0
      ? null
      : paged(effects, "Changes", (page) =>
          element(
            "ul",
            {},
            ...page.map(({ uri, change }) =>
              element(
                "li",
                {},
                element("span", { class: `count ${change}` }, change),
                " ",
                placeText(uri),
              ),
            ),
          ),
        ),
    doubt === null ? null : element("p", { class: "doubt" }, "! ", DOUBTS[doubt]),
    isQuiet
      ? element(
          "p",
          { class: "faint" },
          outcome === "ok" ? "no change at places that it names" : "",
        )
      : null,
  );
}

function valueElements(heading: string, value: Settled<CallValue>): readonly Child[] {
  switch (value.kind) {
    case "not_recorded":
      return [element("p", { class: "faint" }, `${heading}: not recorded`)];
    case "contradicted":
      return [
        element("h4", {}, `${heading}: the recorders contradict each other`),
        ...value.values.map(valueElement),
      ];
    case "known":
      return [element("h4", {}, heading), valueElement(value.value)];
  }
}

function valueElement(value: CallValue): HTMLElement {
  switch (value.kind) {
    case "json":
      return blockText(JSON.stringify(JSON.parse(value.text), null, 2));
    case "text":
      return blockText(value.text);
    case "cut":
      return element(
        "div",
        {},
        blockText(value.head),
        element(
          "p",
          { class: "cut" },
          value.sizeBytes === undefined
            ? "Only the beginning was kept."
            : `Only the beginning of ${count(value.sizeBytes)} bytes was kept.`,
        ),
      );
  }
}
