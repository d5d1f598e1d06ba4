import type { EvidencePredicate } from "../evidence/statement.ts";
import { byteSize, count } from "../report/bounds.ts";
import { element, type Child } from "./element.ts";
import { inlineText } from "./evidence-text.ts";

type Part = EvidencePredicate["parts"][number];

/** Every part that the statement names: what is here, what was removed from it, what is elsewhere, what was left out. */
export function partList({ parts }: EvidencePredicate): HTMLElement {
  return element(
    "div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": "parts" },
    element(
      "table",
      {},
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          ...["Part", "State", "Size", "Kept", "Removed or left out"].map((name) =>
            element("th", { scope: "col" }, name),
          ),
        ),
      ),
      element("tbody", {}, ...parts.map(partRow)),
    ),
  );
}

function partRow(part: Part): HTMLElement {
  return element(
    "tr",
    { class: part.state },
    element("th", { scope: "row" }, element("code", {}, part.title)),
    element("td", {}, part.state),
    element("td", {}, part.state === "omitted" ? "" : byteSize(part.sizeBytes)),
    element("td", {}, keptText(part)),
    element("td", {}, ...removedOf(part)),
  );
}

function keptText({ counts }: Part): string {
  if (counts === undefined) return "";
  return `${count(counts.shown)} of ${count(counts.total)}`;
}

function removedOf(part: Part): readonly Child[] {
  switch (part.state) {
    case "present":
      return [];
    case "redacted":
      return part.redactions.map(({ rule, count: times }) =>
        element("div", {}, `${count(times)} × `, inlineText(rule)),
      );
    case "withheld":
      return ["Its digest stands; its bytes are not in this bundle."];
    case "omitted":
      return [inlineText(part.reason)];
  }
}
