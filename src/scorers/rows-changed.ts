import type { RowsChanged } from "../core/condition.ts";
import type { EntryState, SurfaceEntry } from "../core/entry.ts";
import { gap, nonEmpty, type Gap, type NonEmpty } from "../core/gap.ts";
import type { Observation } from "../core/observation.ts";
import { holdsCell, type Cell } from "../core/row.ts";
import type { Decision, Scorer } from "../core/scorer.ts";
import { refuted, undetermined, upheld, type EntryRef } from "../core/verdict.ts";
import { digestOf } from "../core/fingerprint.ts";
import { worldBefore } from "./content-removed.ts";
import { counted, decided, tellCoverage, tellMethod } from "./rationale.ts";
import { surfaceNeed } from "./surface-need.ts";
import { viewOf, type SurfaceView } from "./surface-view.ts";

/**
 * Decides how many rows of a table the run inserted, updated or deleted. Rows that are known to match give the least number;
 * rows that may match, and every gap, leave the greatest open. It is decided when both lie on one side of what was asked.
 */
export const rowsChanged: Scorer<RowsChanged> = {
  kind: "rows_changed",
  identifier: () => ({ name: "rows_changed", version: "1", parameters: {}, children: [] }),
  needs: ({ uri }, context) => [surfaceNeed({ uri, match: "exact" }, context, "delta")],
  decide: (condition, [observation]) => decide(condition, observation),
};

function decide(condition: RowsChanged, observation: Observation | undefined): Decision {
  const view = viewOf(observation, { uri: condition.uri, match: "exact", extent: "delta" });
  const mixed = tablesOfMixedRows(view.entries);
  const matching: EntryRef[] = [];
  const gaps: Gap[] = [];
  let possible = 0;
  for (const entry of view.entries.filter(isRow)) {
    const found = judgeEntry(condition, entry, mixed.has(entry.partOf ?? ""));
    if (found === "match") {
      matching.push(refOf(entry, view));
      continue;
    }
    gaps.push(...found);
    if (found.length > 0) possible += 1;
  }
  const unseen = [...view.gaps, ...worldBefore(view)];
  const most = unseen.length > 0 ? Number.POSITIVE_INFINITY : matching.length + possible;
  const context = [tellMethod(view), tellCoverage(view)];
  const asked = `rows_changed at ${condition.uri}: ${describe(condition)}`;
  const found = counted(matching.length, "row");
  const settled = matching.length === 0 ? NONE_FOUND : `Found: ${found}`;
  switch (compare(condition, matching.length, most)) {
    case "within":
      return decided(upheld(matching), [settled, asked, ...context]);
    case "outside":
      return decided(refuted(matching), [settled, asked, ...context]);
    case "open":
      return decided(undetermined(reasonsOf([...unseen, ...gaps], condition)), [
        `Known to match: ${found}, and more may`,
        asked,
        ...context,
      ]);
  }
}

const NONE_FOUND = "No such row changed, and every change is known";

function reasonsOf(gaps: readonly Gap[], { uri }: RowsChanged): NonEmpty<Gap> {
  return nonEmpty(gaps) ?? [gap("evidence_kind_missing", uri)];
}

function compare(
  { count, atLeast, atMost }: RowsChanged,
  least: number,
  most: number,
): "within" | "outside" | "open" {
  const from = count ?? atLeast ?? (atMost === undefined ? 1 : 0);
  const to = count ?? atMost ?? Number.POSITIVE_INFINITY;
  if (least > to || most < from) return "outside";
  return least >= from && most <= to ? "within" : "open";
}

/** What keeps an entry from being ruled out; empty where it is. */
type Found = "match" | readonly Gap[];

/** Yes, no, or why it is not known. */
type Answer = boolean | Gap;

function judgeEntry(condition: RowsChanged, entry: SurfaceEntry, isMixed: boolean): Found {
  switch (entry.change) {
    case "touched":
    case "unchanged":
    case "moved":
      return [];
    case "unknown":
      return judgeUnknown(condition, entry);
    case "created":
      return judgeKnown(condition, entry, "inserted", isMixed);
    case "modified":
      return judgeKnown(condition, entry, "updated", false);
    case "deleted":
      return judgeKnown(condition, entry, "deleted", isMixed);
  }
}

/** What the run did to it is not known; what it is now is. */
function judgeUnknown({ after }: RowsChanged, { now, uri, reasons = [] }: SurfaceEntry): Found {
  if (now !== undefined && holds(after, now, uri) === false) return [];
  return reasons.map((reason) => gap(reason, uri));
}

function isRow({ now, before }: SurfaceEntry): boolean {
  return (now ?? before)?.type === "row";
}

function judgeKnown(
  condition: RowsChanged,
  entry: SurfaceEntry,
  change: NonNullable<RowsChanged["change"]>,
  isMixed: boolean,
): Found {
  const answer = matches(condition, entry, isMixed);
  if (answer === false) return [];
  if (isMixed && !isSettled(condition)) return [gap("no_stable_key", entry.uri)];
  if (condition.change !== undefined && condition.change !== change) return [];
  return answer === true ? "match" : [answer];
}

/** Without a key, a row gone and a row come may be one row that was updated: only that something changed is certain. */
function isSettled({ change, count, atMost }: RowsChanged): boolean {
  return change === undefined && count === undefined && atMost === undefined;
}

function matches(
  { where, before, after }: RowsChanged,
  { uri, before: was, now }: SurfaceEntry,
  isMixed: boolean,
): Answer {
  // The side that is not there may be another entry's.
  const absent: Answer = isMixed ? gap("no_stable_key", uri) : false;
  const side = (wanted: Wanted, state: EntryState | undefined): Answer =>
    state === undefined ? absent : holds(wanted, state, uri);
  return both([
    where === undefined ? true : either([side(where, was), side(where, now)]),
    before === undefined ? true : side(before, was),
    after === undefined ? true : side(after, now),
  ]);
}

type Wanted = Readonly<Record<string, Cell>> | undefined;

function holds(wanted: Wanted, state: EntryState, uri: string): Answer {
  if (wanted === undefined) return true;
  return both(Object.entries(wanted).map(([name, cell]) => holdsColumn(name, cell, state, uri)));
}

function holdsColumn(name: string, wanted: Cell, { row, unread }: EntryState, uri: string): Answer {
  const column = row?.columns.find((each) => each.name === name);
  if (column === undefined) {
    if (row !== undefined && row.partial !== true)
      return gap("evidence_kind_missing", uri, {
        detail: `the table has no column ${name}`,
        remedy: "Name a column of the table.",
      });
    return gap(unread?.code ?? "prior_content_unknown", uri, { detail: `column ${name}` });
  }
  if (column.redacted === true) return gap("content_redacted", uri, { detail: `column ${name}` });
  if (column.cut === undefined) return holdsCell(column, wanted);
  return (
    typeof wanted === "string" && digestOf(new TextEncoder().encode(wanted)) === column.cut.sha256
  );
}

function both(answers: readonly Answer[]): Answer {
  if (answers.includes(false)) return false;
  return answers.find((each) => each !== true) ?? true;
}

function either(answers: readonly Answer[]): Answer {
  if (answers.includes(true)) return true;
  return answers.find((each) => each !== false) ?? false;
}

/** Tables in which rows without a key both came and went. */
function tablesOfMixedRows(entries: readonly SurfaceEntry[]): ReadonlySet<string> {
  const tablesOf = (change: SurfaceEntry["change"]): ReadonlySet<string> =>
    new Set(
      entries
        .filter(
          (each) => each.change === change && (each.now ?? each.before)?.row?.key.length === 0,
        )
        .flatMap(({ partOf }) => partOf ?? []),
    );
  const gone = tablesOf("deleted");
  return new Set([...tablesOf("created")].filter((table) => gone.has(table)));
}

function refOf(entry: SurfaceEntry, view: SurfaceView): EntryRef {
  const detail = columnsThatDiffer(entry);
  return {
    uri: entry.uri,
    change: entry.change,
    observation: view.observation.id,
    ...(detail === "" ? {} : { detail }),
  };
}

/** The names of the columns that differ, never their values. */
function columnsThatDiffer({ before, now }: SurfaceEntry): string {
  const old = new Map(before?.row?.columns.map((each) => [each.name, each.value]));
  if (old.size === 0 || before?.row?.partial === true) return "";
  return (now?.row?.columns ?? [])
    .filter(({ name, value }) => old.get(name) !== value)
    .map(({ name }) => name)
    .join(", ");
}

/** The question without its values. */
function describe({ change, where, before, after, ...counts }: RowsChanged): string {
  const sides = Object.entries({ where, before, after }).flatMap(([side, wanted]) =>
    wanted === undefined ? [] : [`${side} ${Object.keys(wanted).join(", ")}`],
  );
  const numbers = (["count", "atLeast", "atMost"] as const).flatMap((name) =>
    counts[name] === undefined ? [] : [`${name} ${counts[name]}`],
  );
  return [change ?? "changed", ...sides, ...numbers].join("; ");
}
