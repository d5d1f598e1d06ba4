import type { Gap } from "../core/gap.ts";
import type { EntryRef, Verdict } from "../core/verdict.ts";
import type { ReportedSubGoal } from "../report/run-report.ts";
import { count } from "../report/bounds.ts";
import { element, folded, type Child } from "./element.ts";
import { inlineText, placeText } from "./evidence-text.ts";

/** A mark that stands beside the word, so that neither colour nor shape has to be seen. */
const MARKS = { upheld: "✓", refuted: "✗", undetermined: "?" } as const;

/** A card for each sub-goal: the verdict, what it rests on, and what would settle it. */
export function verdictList(subGoals: readonly ReportedSubGoal[]): HTMLElement {
  if (subGoals.length === 0)
    return element("p", { class: "empty" }, "No sub-goal was stated for this run.");
  return element(
    "ol",
    { class: "verdicts" },
    ...subGoals.map((each) => element("li", {}, verdictCard(each))),
  );
}

function verdictCard(subGoal: ReportedSubGoal): HTMLElement {
  const { verdict } = subGoal;
  const isOpen = subGoal.decidedBy === "judge";
  const word = isOpen ? "to judge" : verdict.value;
  return element(
    "article",
    { class: `verdict ${toneOf(subGoal)}` },
    element(
      "p",
      { class: "word" },
      element(
        "span",
        { class: "sign", "aria-hidden": "true" },
        isOpen ? "…" : MARKS[verdict.value],
      ),
      element("strong", {}, word),
      element("span", { class: "held" }, heldText(subGoal)),
    ),
    element(
      "div",
      { class: "ground" },
      element(
        "h3",
        {},
        subGoal.what === undefined ? null : inlineText(subGoal.what),
        element("code", { class: "name" }, inlineText(subGoal.name)),
      ),
      ...groundsOf(verdict, isOpen),
      isOpen ? null : rationaleOf(subGoal),
    ),
  );
}

/** Whether a reader has to worry: not by the verdict, but by whether it is the expected one. */
function toneOf({ held }: ReportedSubGoal): string {
  if (held === null) return "open";
  return held ? "good" : "bad";
}

function heldText({ held, expect }: ReportedSubGoal): string {
  if (held === null) return "no pass, no failure";
  return held ? "as expected" : `${expect} was expected`;
}

function groundsOf(verdict: Verdict, isOpen: boolean): readonly Child[] {
  switch (verdict.value) {
    case "upheld":
      return [refList({ one: "Witness", many: "witnesses" }, verdict.witnesses, verdict.total)];
    case "refuted":
      return [
        refList(
          { one: "Counterexample", many: "counterexamples" },
          verdict.counterexamples,
          verdict.total,
        ),
      ];
    case "undetermined":
      return isOpen
        ? [element("p", {}, "No code can settle this. It stays open until someone has judged it.")]
        : [gapList(verdict.gaps)];
  }
}

/** The reason in a sentence; how it was decided, for who wants to know. */
function rationaleOf({ rationale, method }: ReportedSubGoal): HTMLElement {
  const [first = "", ...rest] = rationale.split(/(?<=\.) |\n/);
  return element(
    "div",
    { class: "rationale" },
    element("p", {}, inlineText(first)),
    folded(["How it was decided"], () => [
      element("p", {}, `Known by: ${method}`),
      ...rest.map((sentence) => element("p", {}, inlineText(sentence))),
    ]),
  );
}

/** Places that a card lists before the rest is folded away. */
const MAX_SHOWN_REFS = 6;

interface RefWords {
  readonly one: string;
  readonly many: string;
}

function refList({ one, many }: RefWords, refs: readonly EntryRef[], total: number): Child {
  if (refs.length === 0) return null;
  const rest = refs.slice(MAX_SHOWN_REFS);
  const notKept = total - refs.length;
  return element(
    "div",
    { class: total === 1 ? "refs single" : "refs" },
    element("h4", {}, total === 1 ? one : `${count(total)} ${many}`),
    element("ul", {}, ...refs.slice(0, MAX_SHOWN_REFS).map(refElement)),
    rest.length === 0
      ? null
      : folded([`${count(rest.length)} more`], () => [
          element("ul", {}, ...rest.map(refElement)),
          notKept > 0
            ? element("p", { class: "cut" }, `and ${count(notKept)} that are not listed`)
            : null,
        ]),
  );
}

function refElement({ uri, change, detail }: EntryRef): HTMLElement {
  return element(
    "li",
    {},
    placeText(uri),
    change === undefined ? null : ` ${change}`,
    detail === undefined ? null : element("span", {}, " ", inlineText(detail)),
  );
}

/** What is not known, where, and what would settle it. */
export function gapList(gaps: readonly Gap[]): HTMLElement {
  return element(
    "table",
    { class: "gaps" },
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        ...["Not seen", "Where", "What would settle it"].map((name) =>
          element("th", { scope: "col" }, name),
        ),
      ),
    ),
    element(
      "tbody",
      {},
      ...gaps.map(({ code, location, detail, count: places, remedy }) =>
        element(
          "tr",
          {},
          element(
            "td",
            {},
            element("code", {}, code),
            detail === undefined ? null : element("div", {}, inlineText(detail)),
          ),
          element("td", {}, placeText(location), places > 1 ? ` (${places} places)` : null),
          element("td", {}, inlineText(remedy)),
        ),
      ),
    ),
  );
}
