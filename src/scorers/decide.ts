import { isComposite, type Condition, type LeafCondition } from "../core/condition.ts";
import type { Identifier } from "../core/identifier.ts";
import type { ObservationId } from "../core/ids.ts";
import { AttributionMethod, type Observation } from "../core/observation.ts";
import type { Scorable } from "../core/scorable.ts";
import type { Decision, Need, ScoringContext } from "../core/scorer.ts";
import { fingerprint } from "../core/fingerprint.ts";
import { joinDecisions } from "./composite.ts";
import { builtInScorers, type Scorers } from "./registry.ts";

/** A decision with what it rests on. */
export interface ConditionDecision extends Decision {
  readonly observationIds: readonly ObservationId[];
  /** The scorer, with the sources of its observations as children. */
  readonly scorer: Identifier;
  /** What was looked at, where that is one thing. */
  readonly scorable?: Scorable;
  /** The weakest method by which any of the evidence tells what the run changed; absent where none of it is of a surface. */
  readonly method?: AttributionMethod;
}

export interface DecideOptions {
  readonly scorers?: Scorers;
}

/** Gives the observation of a need, or throws "not_replayable" where there is none. */
export type FindObservation = (need: Need) => Observation;

/** Decides a condition of any kind over observations. Throws "condition_unrouted", "source_missing" and "not_replayable". */
export function decideCondition(
  condition: Condition,
  context: ScoringContext,
  find: FindObservation,
  options: DecideOptions = {},
): ConditionDecision {
  if (!isComposite(condition))
    return decideLeaf(condition, context, find, options.scorers ?? builtInScorers);
  const parts = condition.kind === "not" ? [condition.of] : condition.of;
  const decisions = parts.map((part) => decideCondition(part, context, find, options));
  const scorables = uniqueBy(
    decisions.flatMap((each) => (each.scorable === undefined ? [] : [each.scorable])),
    fingerprint,
  );
  return {
    ...joinDecisions(condition.kind, decisions),
    observationIds: [...new Set(decisions.flatMap((each) => each.observationIds))],
    scorer: {
      name: condition.kind,
      version: "1",
      parameters: {},
      children: uniqueBy(
        decisions.map((each) => each.scorer),
        fingerprint,
      ),
    },
    ...oneOf(decisions.every((each) => each.scorable !== undefined) ? scorables : []),
    ...weakestOf(decisions.flatMap((each) => (each.method === undefined ? [] : [each.method]))),
  };
}

function decideLeaf(
  condition: LeafCondition,
  context: ScoringContext,
  find: FindObservation,
  scorers: Scorers,
): ConditionDecision {
  const scorer = scorers.of(condition);
  const needs = scorer.needs(condition, context);
  const observations = needs.map(find);
  const sources = uniqueBy(
    observations.map((each) => each.source),
    fingerprint,
  );
  return {
    ...scorer.decide(condition, observations),
    observationIds: [...new Set(observations.map((each) => each.id))],
    scorer: { ...scorer.identifier(), children: sources },
    ...oneOf(needs.map((need) => need.scorable)),
    ...weakestOf(
      observations.flatMap(({ payload }) =>
        payload.kind === "surface" ? [payload.attribution.method] : [],
      ),
    ),
  };
}

function oneOf(scorables: readonly Scorable[]): { readonly scorable?: Scorable } {
  const [only] = scorables;
  return only !== undefined && scorables.length === 1 ? { scorable: only } : {};
}

function weakestOf(methods: readonly AttributionMethod[]): { readonly method?: AttributionMethod } {
  // The schema lists them strongest first.
  const method = AttributionMethod.options.findLast((each) => methods.includes(each));
  return method === undefined ? {} : { method };
}

function uniqueBy<T>(items: readonly T[], keyOf: (item: T) => string): readonly T[] {
  return [...new Map(items.map((item) => [keyOf(item), item])).values()];
}
