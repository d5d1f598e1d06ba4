import type { Observation } from "../core/observation.ts";
import type { AgentOutcome } from "../core/run.ts";
import { byteSize, counted, cut, duration } from "./bounds.ts";
import { callCountText, callsText } from "./calls-text.ts";
import { deltaText } from "./delta-text.ts";
import { paintOf } from "./paint.ts";
import { printable } from "./printable.ts";
import type { RunReport, SealedBundle } from "./run-report.ts";
import { notSeenText, verdictText } from "./verdict-text.ts";

const MAX_HINTS = 10;

/** What a text adds to the report: the deltas with their content, and hints that bear on no verdict. */
export interface TextInput {
  readonly report: RunReport;
  readonly deltas: readonly Observation[];
  /** Claims of the agent's reply about paths, a sentence each. */
  readonly hints?: readonly string[];
  readonly colour?: boolean;
}

/** The part of a report that tells of verdicts: for evidence that was stored, where nothing was run. */
export function decisionText(report: RunReport, colour: boolean): string {
  const paint = paintOf(colour);
  const { run } = report;
  const lines = [
    ...(run === null
      ? []
      : [`  evidence   run ${run.runId}, ${run.window[0]} to ${run.window[1]}`]),
    ...notSeenText(report.notSeen),
    ...verdictText(report.subGoals, paint),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/** The report for a person. Whatever comes from the world is escaped; every list is bounded and says how much it left out. */
export function reportText({ report, deltas, hints = [], colour = false }: TextInput): string {
  const paint = paintOf(colour);
  const lines = [
    ...agentText(report),
    ...deltas.flatMap((each) => deltaText(each, paint)),
    ...unchangedText(report),
    ...callsText(report.calls ?? null, paint),
    ...notSeenText(report.notSeen),
    ...hintText(hints),
    ...verdictText(report.subGoals, paint),
    ...sealedText(report.bundle),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

function agentText({ run, calls }: RunReport): readonly string[] {
  if (run?.agent === undefined) return [];
  const { outcome, durationMs } = run.agent;
  const took = outcome.kind === "not_started" ? "" : ` after ${duration(durationMs)}`;
  return [`  agent      ${outcomeText(outcome)}${took}${callCountText(calls ?? null)}`];
}

/** How an agent's run ended, in a few words. */
export function outcomeText(outcome: AgentOutcome): string {
  switch (outcome.kind) {
    case "exited":
      return `exited ${outcome.code}`;
    case "signaled":
      return `was ended by ${outcome.signal}`;
    case "timed_out":
      return `was ended at its time limit of ${duration(outcome.afterMs)}`;
    case "not_started":
      return `could not be started: ${printable(cut(outcome.reason, 300))}`;
    case "answered":
      return "answered";
    case "failed":
      return `failed: ${printable(cut(outcome.reason, 300))}`;
  }
}

function unchangedText({ deltaCounts }: RunReport): readonly string[] {
  const { unchanged } = deltaCounts;
  return unchanged === null || unchanged === 0
    ? []
    : [`  unchanged  ${counted(unchanged, "file")}`];
}

function hintText(hints: readonly string[]): readonly string[] {
  const shown = hints.slice(0, MAX_HINTS).map((hint) => `  ${printable(cut(hint, 200))}`);
  const hidden = hints.length - shown.length;
  return hidden === 0 ? shown : [...shown, `  and ${counted(hidden, "more claim")} of the reply`];
}

function sealedText(bundle: SealedBundle | null): readonly string[] {
  if (bundle === null) return [];
  const where = bundle.path === undefined ? "" : `${printable(bundle.path)}  `;
  const size = `${counted(bundle.parts, "part")}, ${byteSize(bundle.sizeBytes)}`;
  const { secretsRemoved = 0 } = bundle;
  const removed = secretsRemoved === 0 ? "" : `, ${counted(secretsRemoved, "secret")} removed`;
  return [`  sealed     ${where}${bundle.digest}  ${size}${removed}`];
}
