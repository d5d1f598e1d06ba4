import { randomUUID } from "node:crypto";
import type { ExpectationFile } from "../core/expectation.ts";
import { ScoreId } from "../core/ids.ts";
import type { Observation } from "../core/observation.ts";
import type { SurfaceScorable } from "../core/scorable.ts";
import type { Need } from "../core/scorer.ts";
import type { ScoringScope } from "../core/scope.ts";
import type {
  Baseline,
  ObservationRequest,
  ObservationSource,
  ObserveOptions,
} from "../core/source.ts";
import type { WorldSource } from "../core/world.ts";
import {
  contextOf,
  needsOf,
  observeNeeds,
  type BoundCalls,
  type BoundConversation,
  type LiveEvidence,
} from "../scorers/observe.ts";
import { scoreLive } from "../scorers/score.ts";
import { expectationOf } from "../scorers/sub-goal.ts";
import type { RecordedRun, RunRecord } from "../evidence/record/run-record.ts";
import type { TurnResult } from "./agent.ts";
import { captureWorlds, type CaptureLimits } from "./capture-world.ts";
import type { Clock } from "./clock.ts";

/** How many names a source has met so far. */
export type OnListed = (root: string, listed: number) => void;

interface ProgressOptions {
  readonly onProgress?: (touched: { readonly listed: number }) => void;
}

/** A source that can hold on to the world before a run, and says how far it is. */
export interface RunSource extends ObservationSource, Partial<WorldSource> {
  baseline(
    options?: { readonly signal?: AbortSignal } & ProgressOptions,
  ): Promise<Baseline & { readonly entries?: number }>;
  observe(
    requests: readonly ObservationRequest<SurfaceScorable>[],
    options?: ObserveOptions & ProgressOptions,
  ): Promise<readonly Observation[]>;
}

/** A root of the run, the source that reads it, and the world before, where it was recorded. */
export interface ObservedRoot {
  readonly name: string;
  readonly surface: string;
  readonly source: RunSource;
  readonly baseline?: Baseline | undefined;
  /** Why no stronger method than this one could be had. It becomes part of the evidence. */
  readonly reason?: string | undefined;
}

/** What is looked at after a run, and for which claims. */
export interface Question {
  readonly run: RecordedRun;
  readonly roots: readonly ObservedRoot[];
  readonly scope: ScoringScope;
  readonly claims?: ExpectationFile | undefined;
  /** What was said during the run. */
  readonly conversation?: BoundConversation | undefined;
  readonly calls?: RunCalls | undefined;
  /** Within which limits the world at the end is captured. Without them it is not. */
  readonly capture?: CaptureLimits | undefined;
}

/** The tool calls of a run. `isWorthTelling`: whether there is anything to tell of where no claim asks for it. */
export interface RunCalls extends BoundCalls {
  readonly isWorthTelling: () => boolean;
  /** Told how the agent ended: what was ended by force may have had calls to tell. */
  readonly onAgentEnd?: (turn: TurnResult) => void;
}

export interface ObserveRunOptions {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  readonly onListed?: OnListed | undefined;
}

/** Throws where a condition or a root of the claims is not known: before anything is read. */
export function validateClaims(
  claims: ExpectationFile | undefined,
  roots: readonly { readonly name: string; readonly surface: string }[],
): void {
  if (claims !== undefined) needsOf(expectationOf(claims).conditions, { roots });
}

/**
 * Looks at the world once, the delta of every root included, and decides the claims: the second half of a run, also of one
 * that someone else started. Rejects with the signal's reason.
 */
export async function observeRun(
  question: Question,
  options: ObserveRunOptions,
): Promise<RunRecord> {
  const { run, roots, claims } = question;
  const evidence = evidenceOf(question, options.onListed);
  const isTold = question.calls?.isWorthTelling() ?? false;
  const alsoObserve = alwaysObserved(evidence, isTold);
  const { observations, scores } = await observeAndScore(question, evidence, alsoObserve, options);
  const worlds = await captureWorlds(question, observations, options.signal);
  const isDelta = (each: Observation): boolean =>
    each.payload.kind === "surface" &&
    each.payload.extent === "delta" &&
    roots.some(
      ({ name }) => each.scorable.kind === "surface" && each.scorable.uri === `${name}:/**`,
    );
  return {
    run,
    roots: roots.map(({ name, surface }) => ({ name, surface })),
    deltas: observations.filter(isDelta),
    observations: observations.filter((each) => !isDelta(each)),
    ...(claims === undefined ? {} : { claims }),
    ...(worlds.length === 0 ? {} : { worlds }),
    scores: (claims?.subGoals ?? []).flatMap(({ name }, index) => {
      const score = scores[index];
      return score === undefined ? [] : [{ subGoal: name, score }];
    }),
  };
}

async function observeAndScore(
  { claims }: Question,
  evidence: LiveEvidence,
  alsoObserve: readonly Need[],
  { clock, signal }: ObserveRunOptions,
): Promise<Pick<Awaited<ReturnType<typeof scoreLive>>, "observations" | "scores">> {
  if (claims === undefined)
    return { observations: await observeNeeds(alsoObserve, evidence, { signal }), scores: [] };
  const stamp = { newId: () => ScoreId.parse(randomUUID()), now: clock };
  return scoreLive(expectationOf(claims), evidence, stamp, { alsoObserve, signal });
}

/** The delta of each root, and what was said and called: shown and kept whatever the claims ask. */
function alwaysObserved(evidence: LiveEvidence, withCalls: boolean): readonly Need[] {
  const { roots, conversation, calls, scope } = contextOf(evidence);
  return [
    ...roots.map(({ name, surface }): Need => {
      const scorable = { kind: "surface", uri: `${name}:/**`, surface, match: "glob" } as const;
      return { scorable: scope === undefined ? scorable : { ...scorable, scope }, extent: "delta" };
    }),
    ...(conversation === undefined ? [] : [{ scorable: conversation }]),
    ...(calls === undefined || !withCalls ? [] : [{ scorable: calls }]),
  ];
}

function evidenceOf(
  { roots, scope, conversation, calls }: Question,
  onListed: OnListed | undefined,
): LiveEvidence {
  return {
    sources: roots.map(({ name, surface, source, baseline, reason }) => ({
      root: name,
      surface,
      baseline,
      source: {
        identifier: () => source.identifier(),
        observe: async (requests, options = {}) => {
          const observations = await source.observe(requests, {
            ...options,
            onProgress: ({ listed }) => onListed?.(name, listed),
          });
          return observations.map((each) => withReason(each, reason));
        },
      },
    })),
    conversation,
    calls,
    scope,
  };
}

function withReason(observation: Observation, reason: string | undefined): Observation {
  const { payload } = observation;
  if (reason === undefined || payload.kind !== "surface") return observation;
  const reasons = [payload.attribution.reason, reason].filter((each) => each !== undefined);
  const attribution = { ...payload.attribution, reason: reasons.join("; ") };
  return { ...observation, payload: { ...payload, attribution } };
}
