import { count, counted, cut, intervalOf, intervalText } from "./bounds.ts";
import {
  heldOf,
  OUTCOMES,
  outcomeCounts,
  noResult,
  outcomeOf,
  reasonOf,
  wholeFailure,
  type Outcome,
  type ReportedGroup,
} from "./outcome.ts";
import { printable } from "./printable.ts";

/** A step shows so many annotations of one level. */
const MAX_ANNOTATIONS = 10;

/** A summary holds a megabyte; rows beyond this are counted. */
const MAX_ROWS = 500;

const MAX_TEXT = 300;

const WORDS: Readonly<Record<Outcome, string>> = {
  held: "as expected",
  not_held: "NOT as expected",
  undetermined: "undetermined",
  broken: "broken",
};

/** One thing to tell: of a sub-goal, or of a group as a whole. */
interface Row {
  readonly group: string;
  readonly name: string;
  readonly outcome: Outcome;
  readonly reason: string;
}

/**
 * The groups as the summary of a GitHub Actions step: a line of counts and a table, what needs a look first. It is HTML without a
 * blank line, in which nothing is markdown; whatever comes from the world is escaped.
 */
export function githubSummary(groups: readonly ReportedGroup[]): string {
  const rows = rowsOf(groups).toSorted((left, right) => urgency(right) - urgency(left));
  const shown = rows.slice(0, MAX_ROWS);
  const hidden = rows.length - shown.length;
  const lines = [
    "<h3>upheld</h3>",
    `<p>${summaryLine(groups)}</p>`,
    "<table>",
    "<tr><th></th><th>of</th><th>sub-goal</th><th>why</th></tr>",
    ...shown.map(rowHtml),
    "</table>",
    ...(hidden === 0 ? [] : [`<p>and ${counted(hidden, "more row")}</p>`]),
    "",
  ];
  return `${lines.join("\n")}\n`;
}

/** "held: 60 % to 90 % of 10: 6 as expected, 1 NOT as expected, 3 undetermined". */
function summaryLine(groups: readonly ReportedGroup[]): string {
  const interval = intervalOf(heldOf(groups));
  if (interval === null) return intervalText(null);
  const counts = outcomeCounts(groups);
  const told = OUTCOMES.flatMap((each) =>
    counts[each] === 0 ? [] : [`${count(counts[each])} ${WORDS[each]}`],
  );
  return `held: ${intervalText(interval)} of ${count(interval.total)}: ${told.join(", ")}`;
}

/**
 * The same as workflow commands, which GitHub shows beside the step: errors for what is not as expected or broken, warnings for what is
 * not known. At most ten of each, and how many more there are.
 */
export function githubAnnotations(groups: readonly ReportedGroup[]): string {
  const rows = rowsOf(groups);
  const errors = rows.filter(({ outcome }) => outcome === "not_held" || outcome === "broken");
  const warnings = rows.filter(({ outcome }) => outcome === "undetermined");
  return [...commandsOf("error", errors), ...commandsOf("warning", warnings)]
    .map((line) => `${line}\n`)
    .join("");
}

function commandsOf(level: "error" | "warning", rows: readonly Row[]): readonly string[] {
  // The last of them counts the rest.
  const shown = rows.length > MAX_ANNOTATIONS ? rows.slice(0, MAX_ANNOTATIONS - 1) : rows;
  const hidden = rows.length - shown.length;
  const lines = shown.map(({ group, name, outcome, reason }) => {
    const title = property(`${WORDS[outcome]}: ${group}/${name}`);
    return `::${level} title=${title}::${data(reason)}`;
  });
  if (hidden === 0) return lines;
  return [...lines, `::${level} title=upheld::${data(`and ${count(hidden)} more`)}`];
}

function rowsOf(groups: readonly ReportedGroup[]): readonly Row[] {
  return groups.flatMap((group) => [
    ...group.subGoals.map((subGoal) => ({
      group: group.name,
      name: subGoal.name,
      outcome: outcomeOf(subGoal),
      reason: reasonOf(subGoal),
    })),
    ...wholeRow(group),
  ]);
}

function wholeRow(group: ReportedGroup): readonly Row[] {
  const whole = { group: group.name, name: "" };
  const failure = wholeFailure(group);
  if (failure !== null) {
    const reason = `${failure.domain}: ${failure.message} (${failure.code})`;
    return [{ ...whole, outcome: "broken", reason }];
  }
  const reason = noResult(group);
  return reason === null ? [] : [{ ...whole, outcome: "undetermined", reason }];
}

function urgency({ outcome }: Row): number {
  switch (outcome) {
    case "held":
      return 0;
    case "undetermined":
      return 1;
    case "broken":
      return 2;
    case "not_held":
      return 3;
  }
}

function rowHtml({ group, name, outcome, reason }: Row): string {
  const cells = [group, name, reason].map((text) => `<td>${code(text)}</td>`);
  return `<tr><td>${WORDS[outcome]}</td>${cells.join("")}</tr>`;
}

/** Within code, GitHub finds no mention, no issue and no emoji. */
function code(text: string): string {
  if (text === "") return "";
  const safe = cut(printable(text), MAX_TEXT).replaceAll(
    /[&<>"'`]/g,
    (char) => `&#${char.charCodeAt(0)};`,
  );
  return `<code>${safe}</code>`;
}

function data(text: string): string {
  return cut(printable(text), MAX_TEXT).replaceAll("%", "%25");
}

function property(text: string): string {
  return data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
