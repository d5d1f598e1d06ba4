import { gapsOf, type Observation } from "../core/observation.ts";
import { counted } from "../report/bounds.ts";
import type { RunReport } from "../report/run-report.ts";
import { element, section, type Child } from "./element.ts";
import { callTimeline } from "./call-timeline.ts";
import { deltaSection } from "./delta-tree.ts";
import { droppedList } from "./dropped-list.ts";
import { inlineText } from "./evidence-text.ts";
import type { OpenedRun } from "./open-evidence.ts";
import { partList } from "./part-list.ts";
import { runHeading } from "./run-heading.ts";
import { transcript } from "./transcript.ts";
import { gapList, verdictList } from "./verdict-list.ts";

/** The sections of the page, and the menu that leads to them. */
export function runPage(opened: OpenedRun): readonly HTMLElement[] {
  const { report, record, statement } = opened;
  const { deltas, observations } = record;
  const { predicate } = statement;
  const payloads = observations.map((each) => each.payload);
  const tools = payloads.find((payload) => payload.kind === "tools");
  const conversation = payloads.find((payload) => payload.kind === "conversation");
  const sections = [
    section("verdicts", "Verdicts", verdictList(report.subGoals)),
    section("changes", "What the run changed", ...deltaSection(deltas)),
    section(
      "calls",
      "Tool calls, beside what changed",
      ...callTimeline(report.calls, tools?.kind === "tools" ? tools : undefined),
    ),
    section(
      "conversation",
      "What was said",
      ...transcript(conversation?.kind === "conversation" ? conversation : undefined),
    ),
    section("not-seen", "What was not seen", ...notSeen(report, deltas, observations)),
    section("dropped", "What was dropped or removed", droppedList(opened)),
    section("parts", "What the bundle holds", partList(predicate)),
  ];
  return [runHeading(opened), element("nav", { "aria-label": "Sections" }, menu()), ...sections];
}

/** The words of the menu by the section that each leads to. */
const MENU = {
  verdicts: "Verdicts",
  changes: "Changes",
  calls: "Tool calls",
  conversation: "Said",
  "not-seen": "Not seen",
  dropped: "Dropped",
  parts: "Parts",
} as const;

function menu(): HTMLElement {
  const links = Object.entries(MENU).map(([id, word]) =>
    element("li", {}, element("a", { href: `#${id}` }, word)),
  );
  return element("ul", {}, ...links);
}

function notSeen(
  report: RunReport,
  deltas: readonly Observation[],
  observations: readonly Observation[],
): readonly Child[] {
  const looked = [...deltas, ...observations].map(({ source, acquisition, payload }) =>
    element(
      "li",
      {},
      inlineText(source.name),
      `: ${acquisition}`,
      gapsOf(payload).length === 0
        ? null
        : `, ${counted(gapsOf(payload).length, "place")} not seen`,
    ),
  );
  return [
    report.notSeen.length === 0
      ? element("p", { class: "empty" }, "Every place that was asked about was looked at.")
      : gapList(report.notSeen),
    element("h3", {}, "How completely each source saw"),
    element("ul", {}, ...looked),
  ];
}
