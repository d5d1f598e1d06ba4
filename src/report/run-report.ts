import { CHANGES, type Change } from "../core/change.ts";
import type { EntryState, SurfaceEntry } from "../core/entry.ts";
import type { SubGoal } from "../core/expectation.ts";
import { foldGaps, gap, type Gap } from "../core/gap.ts";
import type { Digest } from "../core/ids.ts";
import {
  AttributionMethod,
  gapsOf,
  type Observation,
  type ToolsPayload,
} from "../core/observation.ts";
import type { Run } from "../core/run.ts";
import type { Score } from "../core/score.ts";
import type { Provenance, ToolCall } from "../core/tool-call.ts";
import type { Verdict } from "../core/verdict.ts";
import { reportedCalls, type ReportedCalls } from "./run-calls.ts";

/** A run as it is reported; `agent` is absent where the agent was started by someone else. */
export type ReportedRun = Omit<Run, "agent"> & { readonly agent?: Run["agent"] | undefined };

/** A sub-goal and the score that code gave it, if any. */
export interface ScoredSubGoal {
  readonly subGoal: SubGoal;
  readonly score?: Score | undefined;
}

/** Everything that a report tells of. */
export interface ReportInput {
  /** Null where only observations are at hand, of a run that nothing is known of. */
  readonly run: ReportedRun | null;
  /** The delta of each root. */
  readonly deltas: readonly Observation[];
  /** All other observations that the scores rest on. */
  readonly observations: readonly Observation[];
  readonly subGoals: readonly ScoredSubGoal[];
  readonly bundle?: SealedBundle | undefined;
}

export interface SealedBundle {
  readonly path?: string | undefined;
  readonly digest: Digest;
  readonly parts: number;
  readonly sizeBytes: number;
  /** How many secrets a mask stands for; absent where that was not counted. */
  readonly secretsRemoved?: number;
}

/** A location before or after, without its content. */
export type ReportedState = Omit<EntryState, "content" | "findings">;

export interface ReportedChange {
  readonly uri: string;
  readonly nameBytes?: string;
  readonly change: Change;
  readonly from?: string;
  readonly before?: ReportedState;
  readonly after?: ReportedState;
}

/** How many entries there are of each change. `unchanged` is null where it is not known: nobody counted them. */
export type DeltaCounts = Readonly<Record<Exclude<Change, "unchanged">, number>> & {
  readonly unchanged: number | null;
  /** Entries in `delta`, and how many locations are known to have changed. */
  readonly shown: number;
  readonly total: number;
};

export interface ReportedSubGoal {
  readonly name: string;
  readonly what?: string;
  /** Whether code decides it, or a judge has to. */
  readonly decidedBy: "code" | "judge";
  readonly expect: "upheld" | "refuted";
  readonly verdict: Verdict;
  /** How it was known what the run changed; "judge" for what is left to one, and who judged where one did. */
  readonly method: string;
  /** Whether the verdict is the expected one; null when it is undetermined. */
  readonly held: boolean | null;
  readonly rationale: string;
}

/** What `--json` prints, and what the text is written from. */
export interface RunReport {
  readonly run: ReportedRun | null;
  readonly delta: readonly ReportedChange[];
  readonly deltaCounts: DeltaCounts;
  /** The tool calls and what changed at the places that they name; absent where nothing recorded any. */
  readonly calls?: ReportedCalls;
  readonly notSeen: readonly Gap[];
  readonly subGoals: readonly ReportedSubGoal[];
  readonly bundle: SealedBundle | null;
}

/** Writes the report of a run from its evidence. */
export function runReport(input: ReportInput): RunReport {
  const all = [...input.deltas, ...input.observations];
  const delta = input.deltas.flatMap((each) => entriesOf(each)).map(reportedChange);
  const calls = reportedCalls(all, delta);
  return {
    run: input.run,
    delta,
    deltaCounts: deltaCounts(input.deltas),
    ...(calls === null ? {} : { calls }),
    notSeen: foldGaps(all.flatMap((each) => gapsOf(each.payload))),
    subGoals: input.subGoals.map((each) => reportedSubGoal(each, all)),
    bundle: input.bundle ?? null,
  };
}

/** The changed locations of an observation. */
export function entriesOf(observation: Observation): readonly SurfaceEntry[] {
  if (observation.payload.kind !== "surface") return [];
  return observation.payload.entries.filter((entry) => entry.change !== "unchanged");
}

/** The counts over the deltas of all roots. */
export function deltaCounts(deltas: readonly Observation[]): DeltaCounts {
  const counts = new Map<Change, number>(CHANGES.map((change) => [change, 0]));
  let shown = 0;
  let hidden = 0;
  let unchanged: number | null = 0;
  for (const { payload } of deltas) {
    if (payload.kind !== "surface") continue;
    for (const entry of payload.entries)
      counts.set(entry.change, (counts.get(entry.change) ?? 0) + 1);
    shown += payload.entries.length;
    hidden += Math.max(0, payload.coverage.total - payload.coverage.shown);
    const known = payload.coverage.unchanged;
    unchanged = unchanged === null || known === undefined ? null : unchanged + known;
  }
  const of = (change: Change): number => counts.get(change) ?? 0;
  return {
    created: of("created"),
    modified: of("modified"),
    touched: of("touched"),
    deleted: of("deleted"),
    moved: of("moved"),
    unknown: of("unknown"),
    unchanged,
    shown: shown - of("unchanged"),
    total: shown - of("unchanged") + hidden,
  };
}

function reportedChange(entry: SurfaceEntry): ReportedChange {
  return {
    uri: entry.uri,
    ...(entry.nameBytes === undefined ? {} : { nameBytes: entry.nameBytes }),
    change: entry.change,
    ...(entry.from === undefined ? {} : { from: entry.from }),
    ...(entry.before === undefined ? {} : { before: withoutContent(entry.before) }),
    ...(entry.now === undefined ? {} : { after: withoutContent(entry.now) }),
  };
}

function withoutContent(state: EntryState): ReportedState {
  if (state.content === undefined && state.findings === undefined) return state;
  const { content: _content, findings: _findings, ...rest } = state;
  return rest;
}

function reportedSubGoal(
  { subGoal, score }: ScoredSubGoal,
  observations: readonly Observation[],
): ReportedSubGoal {
  const named = {
    name: subGoal.name,
    ...(subGoal.what === undefined ? {} : { what: subGoal.what }),
  };
  if ("judged" in subGoal || score === undefined)
    return {
      ...named,
      decidedBy: "judge",
      expect: "upheld",
      verdict: { value: "undetermined", gaps: [gap("not_judged", subGoal.name)] },
      method: "judge",
      held: null,
      rationale: "No code can settle this; it is left to a judge.",
    };
  return {
    ...named,
    decidedBy: "code",
    expect: subGoal.expect,
    verdict: score.verdict,
    method: methodOf(score, observations),
    held: score.verdict.value === "undetermined" ? null : score.verdict.value === subGoal.expect,
    rationale: score.rationale,
  };
}

/** The weakest method of attribution behind a score; else what it rests on: "conversation", or "calls" and who says so. */
function methodOf(score: Score, observations: readonly Observation[]): string {
  const ids = new Set<string>(score.observationIds);
  const payloads = observations.filter((each) => ids.has(each.id)).map(({ payload }) => payload);
  const methods = payloads.flatMap((payload) =>
    payload.kind === "surface" ? [payload.attribution.method] : [],
  );
  // The schema lists them strongest first.
  const weakest = AttributionMethod.options.findLast((each) => methods.includes(each));
  if (weakest !== undefined) return weakest;
  const calls = payloads.find(({ kind }) => kind === "tools");
  if (calls?.kind === "tools") return `calls ${provenanceOf(calls)}`;
  return payloads.length > 0 ? "conversation" : "none";
}

/** A call that one recorder reported and none recorded makes the whole no stronger than a report. */
function provenanceOf({ calls }: ToolsPayload): Provenance {
  return calls.length > 0 && calls.every(isRecorded) ? "recorded" : "reported";
}

function isRecorded({ sightings }: ToolCall): boolean {
  return sightings.some(({ provenance }) => provenance === "recorded");
}
