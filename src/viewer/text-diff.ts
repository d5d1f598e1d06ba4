import { structuredPatch } from "diff";
import { count } from "../report/bounds.ts";
import { element } from "./element.ts";
import { printable } from "../report/printable.ts";

/** Lines kept around a change. */
const CONTEXT_LINES = 3;
/** Edits beyond which two texts are not compared line by line. */
const MAX_EDITS = 5_000;
/** Lines of a difference that are shown. */
const MAX_LINES = 2_000;
const LINE_CHARACTERS = 2_000;

const MARK_WORDS: Readonly<Record<string, readonly [className: string, word: string]>> = {
  "+": ["added", "added: "],
  "-": ["removed", "removed: "],
  " ": ["same", ""],
};

/** The difference of two texts, line by line, with the words for who cannot see colours; a sentence where they differ too much. */
export function textDiff(before: string, after: string): HTMLElement {
  const patch = structuredPatch("", "", before, after, "", "", {
    context: CONTEXT_LINES,
    maxEditLength: MAX_EDITS,
  });
  if (patch === undefined)
    return element("p", {}, "The two texts differ in too many lines to be compared here.");
  const lines = patch.hunks.flatMap(({ oldStart, newStart, lines: of }) => [
    headLine(oldStart, newStart),
    ...of.filter((line) => !line.startsWith("\\")).map(lineElement),
  ]);
  const left = lines.length - MAX_LINES;
  return element(
    "div",
    { class: "diff", tabindex: 0, role: "group", "aria-label": "difference" },
    ...lines.slice(0, MAX_LINES),
    left > 0 ? element("p", {}, `and ${count(left)} more lines`) : null,
  );
}

function headLine(oldStart: number, newStart: number): HTMLElement {
  return element("div", { class: "hunk" }, `line ${oldStart} before, line ${newStart} after`);
}

function lineElement(line: string): HTMLElement {
  const mark = line.slice(0, 1);
  const [className, word] = MARK_WORDS[mark] ?? ["same", ""];
  const text = line.slice(1);
  const shown = text.slice(0, LINE_CHARACTERS).split("\t").map(printable).join("\t");
  const cut = text.length - LINE_CHARACTERS;
  return element(
    "div",
    { class: className, dir: "auto" },
    element("span", { "aria-hidden": "true", class: "mark" }, mark),
    element("span", { class: "unseen" }, word),
    element("code", {}, shown, cut > 0 ? ` … ${count(cut)} more characters` : null),
  );
}
