import type { Gap } from "../core/gap.ts";
import type { Decision } from "../core/scorer.ts";
import type { Verdict } from "../core/verdict.ts";
import type { SurfaceView } from "./surface-view.ts";

/** How many gaps a rationale spells out; the verdict holds the rest. */
const MAX_TOLD_GAPS = 5;

/** A verdict with its reasons, one sentence each, the main one first: a report may show that one alone. Empty ones fall away. */
export function decided(verdict: Verdict, sentences: readonly string[]): Decision {
  const gaps = verdict.value === "undetermined" ? [`Not known: ${tellGaps(verdict.gaps)}`] : [];
  const told = [...sentences, ...gaps].filter((sentence) => sentence !== "");
  return { verdict, rationale: told.map((sentence) => `${sentence}.`).join(" ") };
}

/** By which method it is known what the run changed, and why by no stronger one. */
export function tellMethod(view: SurfaceView): string {
  const { method, reason } = view.payload.attribution;
  return `Attribution: ${method}${reason === undefined ? "" : ` (${reason})`}`;
}

/** How much was looked at, what did not change, and what lay outside of the scope. */
export function tellCoverage(view: SurfaceView): string {
  const { coverage, excludedOutsideScope, scope } = view.payload;
  const over = view.isNarrowed ? `Over the observation of ${scope.uri}: ` : "Looked at: ";
  return `${over}${[
    `${coverage.shown} of ${coverage.total} locations`,
    coverage.unchanged === undefined ? "" : `${coverage.unchanged} unchanged`,
    excludedOutsideScope === 0 ? "" : `${excludedOutsideScope} outside the scope`,
  ]
    .filter((part) => part !== "")
    .join(", ")}`;
}

/** A count with its noun. */
export function counted(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

function tellGaps(gaps: readonly Gap[]): string {
  const told = gaps
    .slice(0, MAX_TOLD_GAPS)
    .map(
      (each) =>
        `${each.code} at ${each.location}${each.count === 1 ? "" : ` (${each.count} places)`}${each.detail === undefined ? "" : `: ${each.detail}`}`,
    );
  const more = gaps.length - told.length;
  return `${told.join("; ")}${more === 0 ? "" : `; and ${more} more`}`;
}
