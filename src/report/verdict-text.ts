import { foldGaps, type Gap } from "../core/gap.ts";
import type { EntryRef, Verdict } from "../core/verdict.ts";
import { count, counted, cut } from "./bounds.ts";
import type { Paint } from "./paint.ts";
import { printable } from "./printable.ts";
import type { ReportedSubGoal } from "./run-report.ts";

const MAX_GAP_LINES = 10;

/** One line a sub-goal, and a line that counts them. */
export function verdictText(subGoals: readonly ReportedSubGoal[], paint: Paint): readonly string[] {
  if (subGoals.length === 0) return [];
  return [...subGoalLines(subGoals, paint), `  ${summaryOf(subGoals)}`];
}

/** One line a sub-goal. */
export function subGoalLines(
  subGoals: readonly ReportedSubGoal[],
  paint: Paint,
): readonly string[] {
  const width = Math.max(0, ...subGoals.map(({ name }) => name.length));
  return subGoals.flatMap((subGoal) => subGoalText(subGoal, width, paint));
}

function subGoalText(subGoal: ReportedSubGoal, width: number, paint: Paint): readonly string[] {
  const word = isLeftToJudge(subGoal) ? "to judge" : subGoal.verdict.value;
  const name = subGoal.name.padEnd(width);
  const line = `  ${colourOf(subGoal, paint)(word.padEnd(12))}  ${name}  ${heldText(subGoal, paint)}`;
  return [`${line}  ${reasonText(subGoal)}`.trimEnd()];
}

/** No judge has been named yet. */
export function isLeftToJudge({ decidedBy, method }: ReportedSubGoal): boolean {
  return decidedBy === "judge" && method === "judge";
}

function colourOf({ held }: ReportedSubGoal, paint: Paint): (text: string) => string {
  if (held === null) return paint.open;
  return held ? paint.good : paint.bad;
}

function heldText({ held, expect }: ReportedSubGoal, paint: Paint): string {
  if (held === null) return "           ";
  if (held) return "as expected";
  return paint.bad(`EXPECTED ${expect}`);
}

function reasonText(subGoal: ReportedSubGoal): string {
  if (isLeftToJudge(subGoal)) return "";
  const method = `(${subGoal.method})`;
  const { verdict } = subGoal;
  switch (verdict.value) {
    case "upheld":
      return refsText(verdict.witnesses, verdict.total, subGoal, method);
    case "refuted":
      return refsText(verdict.counterexamples, verdict.total, subGoal, method);
    case "undetermined":
      return gapsText(verdict, method);
  }
}

function refsText(
  refs: readonly EntryRef[],
  total: number,
  { rationale }: ReportedSubGoal,
  method: string,
): string {
  const [first] = refs;
  if (first === undefined) return `${exhaustionText(rationale)}  ${method}`;
  const more = total > 1 ? ` and ${count(total - 1)} more` : "";
  const detail = first.detail === undefined ? "" : `  ${printable(cut(first.detail, 120))}`;
  const change = first.change === undefined ? "" : `  ${first.change}`;
  return `${printable(first.uri)}${change}${detail}${more}  ${method}`;
}

/** Why there is nothing to point at: the first sentence of the rationale, which names no place. */
function exhaustionText(rationale: string): string {
  const [line = ""] = rationale.split("\n");
  const [reason = ""] = line.split(/\.(?: |$)/);
  return printable(cut(reason, 300));
}

function gapsText(verdict: Extract<Verdict, { value: "undetermined" }>, method: string): string {
  const [first, ...rest] = verdict.gaps;
  const more = rest.length === 0 ? "" : ` and ${counted(rest.length, "more gap", "more gaps")}`;
  return `${gapText(first)}: ${first.remedy}${more}  ${method}`;
}

/** "workspace:/data/private  listing_failed (EACCES)". */
export function gapText(gap: Gap): string {
  const detail = gap.detail === undefined ? "" : ` (${printable(cut(gap.detail, 200))})`;
  const places = gap.count > 1 ? `  ${counted(gap.count, "place")}` : "";
  return `${printable(gap.location)}  ${gap.code}${detail}${places}`;
}

/** What was not seen: a line a gap, few of each, with counts. */
export function notSeenText(gaps: readonly Gap[]): readonly string[] {
  const folded = foldGaps(gaps);
  const lines = folded.slice(0, MAX_GAP_LINES).map((gap) => `  not seen   ${gapText(gap)}`);
  const hidden = folded.length - lines.length;
  return hidden === 0
    ? lines
    : [...lines, `             and ${counted(hidden, "more place")} (--json lists them)`];
}

/** "2 of 4 sub-goals as expected, 1 not, 1 undetermined". */
export function summaryOf(subGoals: readonly ReportedSubGoal[]): string {
  const as = subGoals.filter(({ held }) => held === true).length;
  const not = subGoals.filter(({ held }) => held === false).length;
  const judged = subGoals.filter(isLeftToJudge).length;
  const open = subGoals.length - as - not - judged;
  return [
    `${count(as)} of ${counted(subGoals.length, "sub-goal")} as expected`,
    ...(not > 0 ? [`${count(not)} not`] : []),
    ...(open > 0 ? [`${count(open)} undetermined`] : []),
    ...(judged > 0 ? [`${count(judged)} to judge`] : []),
  ].join(", ");
}
