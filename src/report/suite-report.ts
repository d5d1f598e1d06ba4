import type { Gap } from "../core/gap.ts";
import type { ReceiptFailure, ReceiptStatus } from "../evidence/receipt.ts";
import {
  byteSize,
  counted,
  count,
  duration,
  intervalOf,
  intervalText,
  type Interval,
} from "./bounds.ts";
import { paintOf, type Paint } from "./paint.ts";
import { printable } from "./printable.ts";
import type { ReportedRun, ReportedSubGoal, SealedBundle } from "./run-report.ts";
import { notSeenText, subGoalLines } from "./verdict-text.ts";

/** What came of one scenario. */
export interface ScenarioReport {
  readonly name: string;
  readonly status: ReceiptStatus;
  /** How often it was tried: again only where the infrastructure failed. */
  readonly attempts: number;
  /** Of all that belongs to it; where it is read from evidence, of its agent. */
  readonly durationMs: number;
  readonly subGoals: readonly ReportedSubGoal[];
  /** Why it came to no result, and whose failure that is. */
  readonly failure?: ReceiptFailure;
  /** Why it was not run. */
  readonly skipped?: string;
  readonly run?: ReportedRun;
  readonly notSeen: readonly Gap[];
  readonly bundle?: SealedBundle;
}

/** What a control found: whether the suite itself tells right from wrong. */
export interface ControlReport {
  readonly scenario: string;
  /** "nothing": an agent that does nothing; "gold": one that does what is asked; else the sub-goal that a run must break. */
  readonly control: string;
  /** Whether it came out as it must; null where that is not known. */
  readonly held: boolean | null;
  readonly reason: string;
  /** How each sub-goal came out under it; none where it came to no result. */
  readonly subGoals: readonly Pick<ReportedSubGoal, "name" | "held">[];
}

/** A sub-goal that no control made hold, or none made break: nobody has seen it tell right from wrong. */
export interface UnprovenSubGoal {
  readonly scenario: string;
  readonly name: string;
  readonly seenToHold: boolean;
  readonly seenToBreak: boolean;
}

/** The sub-goals that the controls leave unproven, by scenario. */
export function unprovenSubGoals(controls: readonly ControlReport[]): readonly UnprovenSubGoal[] {
  return [...new Set(controls.map(({ scenario }) => scenario))].flatMap((scenario) => {
    const seen = controls
      .filter((each) => each.scenario === scenario)
      .flatMap((each) => each.subGoals);
    const was = (name: string, held: boolean): boolean =>
      seen.some((each) => each.name === name && each.held === held);
    return [...new Set(seen.map(({ name }) => name))]
      .map((name) => ({
        scenario,
        name,
        seenToHold: was(name, true),
        seenToBreak: was(name, false),
      }))
      .filter(({ seenToHold, seenToBreak }) => !seenToHold || !seenToBreak);
  });
}

/** A suite as it is told: `--json` prints it. Shares are intervals, or null where nothing was asked. */
export interface SuiteReport {
  readonly scenarios: readonly ScenarioReport[];
  readonly counts: Readonly<Record<ReceiptStatus, number>>;
  /** The share of scenarios that passed, of those that were run. */
  readonly passed: Interval | null;
  /** The share of sub-goals that held. */
  readonly subGoals: Interval | null;
  readonly notes: readonly string[];
  /** The evidence of all scenarios in one; `parts` counts the scenarios. */
  readonly bundle?: SealedBundle;
}

/** Sums up the scenarios of a suite. What is undecided, or came to no result, is counted against and for. */
export function suiteReport(
  scenarios: readonly ScenarioReport[],
  notes: readonly string[],
): SuiteReport {
  const of = (status: ReceiptStatus): number =>
    scenarios.filter((each) => each.status === status).length;
  return {
    scenarios,
    counts: {
      passed: of("passed"),
      failed: of("failed"),
      errored: of("errored"),
      skipped: of("skipped"),
      undecided: of("undecided"),
    },
    passed: intervalOf(
      scenarios.filter(({ status }) => status !== "skipped").map(({ status }) => passedOf(status)),
    ),
    subGoals: intervalOf(scenarios.flatMap((each) => each.subGoals.map(({ held }) => held))),
    notes,
  };
}

function passedOf(status: ReceiptStatus): boolean | null {
  switch (status) {
    case "passed":
      return true;
    case "failed":
      return false;
    case "errored":
    case "undecided":
    case "skipped":
      return null;
  }
}

/** The report of a suite for a person: what did not pass is told with its sub-goals. */
export function suiteText(report: SuiteReport, colour: boolean): string {
  const paint = paintOf(colour);
  const lines = [
    ...report.notes.map((note) => `  note       ${printable(note)}`),
    ...report.scenarios.flatMap((each) => scenarioText(each, paint)),
    `  scenarios  ${countsText(report)}`,
    `  sub-goals  held: ${intervalText(report.subGoals)}${totalText(report.subGoals)}`,
    ...(report.bundle === undefined ? [] : [sealedText(report.bundle)]),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/** One line of a scenario that ended: "  passed     refund-order   1.2 s". */
export function scenarioLine({ name, status, durationMs }: ScenarioReport, paint: Paint): string {
  const word = colourOf(status, paint)(status.padEnd(10));
  return `  ${word} ${name}   ${duration(durationMs)}`;
}

function scenarioText(scenario: ScenarioReport, paint: Paint): readonly string[] {
  const { status, failure, skipped } = scenario;
  if (skipped !== undefined)
    return [`  ${status.padEnd(10)} ${scenario.name}   ${printable(skipped)}`];
  const isPlain = status === "passed";
  return [
    scenarioLine(scenario, paint),
    ...(failure === undefined ? [] : [failureText(failure, scenario.attempts)]),
    ...(isPlain ? [] : indented(subGoalLines(scenario.subGoals, paint))),
    ...(isPlain ? [] : indented(notSeenText(scenario.notSeen))),
  ];
}

function sealedText({
  path = "",
  digest,
  parts,
  sizeBytes,
  secretsRemoved = 0,
}: SealedBundle): string {
  const told = [counted(parts, "scenario"), byteSize(sizeBytes)];
  const removed = secretsRemoved > 0 ? [`${counted(secretsRemoved, "secret")} removed`] : [];
  return `  sealed     ${printable(path)}  ${digest}  ${[...told, ...removed].join(", ")}`;
}

function failureText({ domain, code, message }: ReceiptFailure, attempts: number): string {
  const tried = attempts > 1 ? `, tried ${counted(attempts, "time")}` : "";
  return `    ${domain}: ${printable(message)} (${code}${tried})`;
}

function indented(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `  ${line}`);
}

function countsText({ counts, passed }: SuiteReport): string {
  const others = (["failed", "undecided", "errored", "skipped"] as const).flatMap((status) =>
    counts[status] === 0 ? [] : [`${count(counts[status])} ${status}`],
  );
  const share = `passed: ${intervalText(passed)}${totalText(passed)}`;
  return [share, ...others].join(", ");
}

function totalText(interval: Interval | null): string {
  return interval === null ? "" : ` of ${count(interval.total)}`;
}

function colourOf(status: ReceiptStatus, paint: Paint): (text: string) => string {
  switch (status) {
    case "passed":
      return paint.good;
    case "failed":
      return paint.bad;
    case "errored":
    case "undecided":
    case "skipped":
      return paint.open;
  }
}

/** What the controls of a suite found, a line each. */
export function controlsText(controls: readonly ControlReport[], colour: boolean): string {
  const paint = paintOf(colour);
  const lines = controls.map(({ scenario, control, held, reason }) => {
    const word = held === null ? "unknown" : held ? "as it must" : "FLAGGED";
    const paintWord = held === null ? paint.open : held ? paint.good : paint.bad;
    return `  ${paintWord(word.padEnd(10))} ${scenario}  ${control}  ${printable(reason)}`;
  });
  const share = intervalOf(controls.map(({ held }) => held));
  const unproven = unprovenSubGoals(controls).map(unprovenText);
  return [
    ...lines,
    ...unproven,
    `  controls   as they must: ${intervalText(share)}${totalText(share)}`,
  ]
    .map((line) => `${line}\n`)
    .join("");
}

function unprovenText({ scenario, name, seenToHold, seenToBreak }: UnprovenSubGoal): string {
  const never = [...(seenToHold ? [] : ["hold"]), ...(seenToBreak ? [] : ["break"])];
  return `  unproven   ${scenario}  ${name}  no control made it ${never.join(" or ")}`;
}
