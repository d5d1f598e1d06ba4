import type { World } from "../evidence/world/world.ts";
import type { EvidencePart } from "../evidence/statement.ts";
import { count, counted } from "../report/bounds.ts";
import { element, type Child } from "./element.ts";
import { inlineText, placeText } from "./evidence-text.ts";
import type { OpenedRun } from "./open-evidence.ts";

/** Everything that was there and is not in the bundle, each with its count and reason; a sentence where there is nothing. */
export function droppedList({ record, statement }: OpenedRun): HTMLElement {
  const lines = [
    ...statement.predicate.parts.flatMap(partLines),
    ...(record.worlds ?? []).flatMap(worldLines),
  ];
  if (lines.length === 0)
    return element(
      "p",
      { class: "empty" },
      "Nothing: all that was captured is here, and no secret was removed from it.",
    );
  return element("ul", { class: "dropped" }, ...lines.map((line) => element("li", {}, ...line)));
}

type Line = readonly Child[];

function partLines(part: EvidencePart): readonly Line[] {
  const title = element("code", {}, part.title);
  switch (part.state) {
    case "present":
      return countLines(part, title);
    case "redacted":
      return [
        ...countLines(part, title),
        ...part.redactions.map((each) => [
          title.cloneNode(true),
          `: ${counted(each.count, "secret")} removed by the rule `,
          inlineText(each.rule),
        ]),
      ];
    case "withheld":
      return [[title, ": withheld from this copy; its digest stands"]];
    case "omitted":
      return [[title, ": left out, ", inlineText(part.reason)]];
  }
}

function countLines({ counts }: EvidencePart, title: HTMLElement): readonly Line[] {
  if (counts === undefined || counts.shown === counts.total) return [];
  const left = counts.total - counts.shown;
  return [
    [title, `: ${count(left)} of ${count(counts.total)} dropped, ${count(counts.shown)} shown`],
  ];
}

function worldLines({ omittedTables, omittedUnnamed }: World): readonly Line[] {
  const named = omittedTables.map(({ uri, reason, rowsTotal }): Line => {
    const rows = rowsTotal === undefined ? "" : ` (${counted(rowsTotal, "row")})`;
    const why = reason === "byte_limit" ? "it did not fit" : "it could not be read";
    return [placeText(uri), `${rows}: not shown, ${why}`];
  });
  const unnamed = omittedUnnamed === 0 ? [] : [[`and ${counted(omittedUnnamed, "table")} more`]];
  return [...named, ...unnamed];
}
