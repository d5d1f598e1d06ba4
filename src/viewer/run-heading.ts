import type { EvidencePart } from "../evidence/statement.ts";
import { count, counted, duration, intervalOf, intervalText } from "../report/bounds.ts";
import type { DeltaCounts, ReportedSubGoal, RunReport } from "../report/run-report.ts";
import { outcomeText } from "../report/text.ts";
import { element, type Child } from "./element.ts";
import { inlineText } from "./evidence-text.ts";
import type { OpenedRun } from "./open-evidence.ts";

/** The first screen: how it came out in a sentence, which run it was, and the figures that a reader asks for first. */
export function runHeading({ report, record, statement }: OpenedRun): HTMLElement {
  const objective = record.claims?.objective;
  return element(
    "header",
    {},
    element("h1", {}, ...headline(report.subGoals)),
    objective === undefined
      ? null
      : element("p", { class: "objective" }, "Asked for: ", inlineText(objective)),
    runLine(report),
    glance(report, statement.predicate.parts),
  );
}

function headline(subGoals: readonly ReportedSubGoal[]): readonly Child[] {
  if (subGoals.length === 0) return ["Nothing was expected of this run"];
  const interval = intervalOf(subGoals.map(({ held }) => held));
  const of = (held: boolean | null): number => subGoals.filter((each) => each.held === held).length;
  const [held, not, open] = [of(true), of(false), of(null)];
  const isOpen = open > 0;
  return [
    element("span", { class: "good" }, `${held} of ${subGoals.length} as expected`),
    not === 0 ? null : element("span", { class: "bad" }, `, ${not} not`),
    isOpen ? element("span", { class: "open" }, `, ${open} not decided`) : null,
    element(
      "small",
      {},
      `Score ${intervalText(interval)}`,
      isOpen ? ", by how the open ones turn out" : null,
    ),
  ];
}

function runLine({ run }: RunReport): Child {
  if (run === null) return null;
  const { agent, window, labels } = run;
  return element(
    "p",
    { class: "run" },
    "Run ",
    inlineText(run.runId),
    agent === undefined
      ? null
      : ` · agent ${outcomeText(agent.outcome)} after ${duration(agent.durationMs)}`,
    " · ",
    element("time", { datetime: window[0] }, shortTime(window[0])),
    ...Object.entries(labels ?? {}).flatMap(([name, value]) => [
      " · ",
      inlineText(`${name}: ${value}`),
    ]),
  );
}

/** "2026-11-30T10:15:02.123456789Z" to the second; the whole of it stands in the attribute. */
function shortTime(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;
}

function glance(report: RunReport, parts: readonly EvidencePart[]): HTMLElement {
  const doubts = report.calls?.list.filter(({ doubt }) => doubt !== null).length ?? 0;
  const gaps = report.notSeen.reduce((sum, { count }) => sum + count, 0);
  const removed = parts
    .flatMap((part) => (part.state === "redacted" ? part.redactions : []))
    .reduce((sum, { count }) => sum + count, 0);
  return element(
    "ul",
    { class: "glance" },
    figure("changes", "Changed", changesText(report.deltaCounts)),
    figure(
      "calls",
      "Tool calls",
      report.calls === undefined ? "not recorded" : counted(report.calls.total, "call"),
      doubts === 0
        ? undefined
        : `${count(doubts)} that ${doubts === 1 ? "does" : "do"} not fit what changed`,
    ),
    figure(
      "not-seen",
      "Not seen",
      gaps === 0 ? "nothing that was asked about" : counted(gaps, "place"),
    ),
    figure("dropped", "Removed", removed === 0 ? "no secret" : counted(removed, "secret")),
  );
}

function figure(id: string, name: string, value: string, doubt?: string): HTMLElement {
  return element(
    "li",
    {},
    element("a", { href: `#${id}` }, name),
    element("span", { class: "figure" }, value),
    doubt === undefined ? null : element("span", { class: "doubt" }, doubt),
  );
}

function changesText(counts: DeltaCounts): string {
  if (counts.total === 0) return "nothing";
  const kinds = ["created", "modified", "deleted", "moved", "unknown"] as const;
  const told = kinds.filter((kind) => counts[kind] > 0).map((kind) => `${counts[kind]} ${kind}`);
  return told.length === 0 ? "times only" : told.join(", ");
}
