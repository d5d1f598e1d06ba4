import type { Gap } from "../core/gap.ts";
import type { EntryRef, Verdict } from "../core/verdict.ts";
import { counted } from "./bounds.ts";
import { printable } from "./printable.ts";
import type { ReportedRun, ReportedSubGoal, RunReport, SealedBundle } from "./run-report.ts";
import { failureOfAgent } from "./scenario-result.ts";
import { gapText, isLeftToJudge } from "./verdict-text.ts";

/**
 * How a sub-goal came out: as expected, not so, not known, or without an answer because what should have decided it failed
 * itself.
 */
export const OUTCOMES = ["held", "not_held", "undetermined", "broken"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Sub-goals under one name: of a run, a scenario or a bundle. Every report format is written from a list of these. */
export interface ReportedGroup {
  readonly name: string;
  readonly subGoals: readonly ReportedSubGoal[];
  readonly notSeen: readonly Gap[];
  /** Why it came to no result, and whose failure that is. */
  readonly failure?: GroupFailure | undefined;
  /** Why it was not run. */
  readonly skipped?: string | undefined;
  readonly durationMs?: number | undefined;
  readonly run?: ReportedRun | null | undefined;
  readonly bundle?: SealedBundle | null | undefined;
}

export interface GroupFailure {
  readonly domain: string;
  readonly code: string;
  readonly message: string;
}

/** Gaps that tell of a failure of the grading, and of nothing in the world. */
const BROKEN: ReadonlySet<string> = new Set(["check_broken", "check_runtime_missing"]);

/** How a sub-goal came out. */
export function outcomeOf(subGoal: ReportedSubGoal): Outcome {
  const { held, verdict } = subGoal;
  if (held !== null) return held ? "held" : "not_held";
  const codes = verdict.value === "undetermined" ? verdict.gaps.map(({ code }) => code) : [];
  return codes.some((code) => BROKEN.has(code)) || judgeFailed(subGoal, codes)
    ? "broken"
    : "undetermined";
}

/** A judge that was asked, and gave no verdict that could be taken. */
function judgeFailed(subGoal: ReportedSubGoal, codes: readonly string[]): boolean {
  return codes.includes("not_judged") && !isLeftToJudge(subGoal);
}

/** Why it came out as it did, in one safe line: what was expected, and the place or the gap that settles or would settle it. */
export function reasonOf(subGoal: ReportedSubGoal): string {
  const { verdict, expect, rationale } = subGoal;
  if (verdict.value === "undetermined") return gapsOf(verdict.gaps);
  const [first] = placesOf(verdict);
  const place = first === undefined ? printable(rationale) : refText(first, verdict.total);
  return verdict.value === expect
    ? `${verdict.value}: ${place}`
    : `expected ${expect}, was ${verdict.value}: ${place}`;
}

/** The places that a verdict points at. */
export function placesOf(verdict: Verdict): readonly EntryRef[] {
  switch (verdict.value) {
    case "upheld":
      return verdict.witnesses;
    case "refuted":
      return verdict.counterexamples;
    case "undetermined":
      return [];
  }
}

function refText({ uri, change, detail }: EntryRef, total: number): string {
  const told = [uri, change, detail].flatMap((each) => (each === undefined ? [] : printable(each)));
  return `${told.join("  ")}${total > 1 ? ` and ${counted(total - 1, "more place")}` : ""}`;
}

function gapsOf([first, ...rest]: readonly [Gap, ...Gap[]]): string {
  const more = rest.length === 0 ? "" : `, and ${counted(rest.length, "more gap")}`;
  return `${gapText(first)}: ${printable(first.remedy)}${more}`;
}

/** The failure of a group, where none of its sub-goals tells of it already. */
export function wholeFailure({ failure, subGoals }: ReportedGroup): GroupFailure | null {
  if (failure === undefined) return null;
  const isTold =
    failure.domain === "grading" && subGoals.some((each) => outcomeOf(each) === "broken");
  return isTold ? null : failure;
}

/** Why a group without a failure has no result, or null where it has one. */
export function noResult({ skipped, failure, subGoals }: ReportedGroup): string | null {
  if (skipped !== undefined) return skipped;
  return subGoals.length === 0 && failure === undefined ? "nothing was asked" : null;
}

/** The report of one run as a group. */
export function groupOfRun(name: string, report: RunReport): ReportedGroup {
  const { run, subGoals, notSeen, bundle } = report;
  const failure = failureOfAgent(run?.agent?.outcome);
  return {
    name,
    run,
    subGoals,
    notSeen,
    bundle,
    ...(failure === null ? {} : { failure }),
    ...(run?.agent === undefined ? {} : { durationMs: run.agent.durationMs }),
  };
}

/** How many sub-goals of some groups came out in each way. */
export function outcomeCounts(groups: readonly ReportedGroup[]): Readonly<Record<Outcome, number>> {
  const all = groups.flatMap(({ subGoals }) => subGoals.map(outcomeOf));
  const of = (outcome: Outcome): number => all.filter((each) => each === outcome).length;
  return {
    held: of("held"),
    not_held: of("not_held"),
    undetermined: of("undetermined"),
    broken: of("broken"),
  };
}

/** What holds of all sub-goals; what is not known, or broken, is counted against and for. */
export function heldOf(groups: readonly ReportedGroup[]): readonly (boolean | null)[] {
  return groups.flatMap(({ subGoals }) => subGoals.map(({ held }) => held));
}
