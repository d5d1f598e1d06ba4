import type { Condition } from "../core/condition.ts";
import { UpheldError } from "../core/errors.ts";
import { expectationFingerprint, Expectation } from "../core/expectation.ts";
import type { Digest, ScoreId } from "../core/ids.ts";
import { issuesOf } from "../core/issues.ts";
import type { Observation } from "../core/observation.ts";
import type { Score } from "../core/score.ts";
import type { Need } from "../core/scorer.ts";
import type { Timestamp } from "../core/timestamp.ts";
import { decideCondition, type ConditionDecision, type DecideOptions } from "./decide.ts";
import { contextOf, keyOf, needsOf, observeNeeds, type LiveEvidence } from "./observe.ts";

/** Where names and times come from. */
export interface ScoreStamp {
  readonly newId: () => ScoreId;
  readonly now: () => Timestamp;
}

export interface ScoreOptions extends DecideOptions {
  readonly signal?: AbortSignal | undefined;
  /** Observed in the same call besides what the conditions need, such as the delta that a report shows. */
  readonly alsoObserve?: readonly Need[];
}

/** A score for each condition, in order, and every observation that was made. */
export interface Scored {
  readonly scores: readonly Score[];
  readonly decisions: readonly ConditionDecision[];
  readonly observations: readonly Observation[];
}

/**
 * Observes and decides an expectation. Before anything is read, every condition has reached a scorer that declares it and
 * every root a source. Throws "expectation_invalid", "condition_unrouted", "source_missing", "glob_invalid" and
 * "source_contract_broken"; rejects with the signal's reason.
 */
export async function scoreLive(
  expectation: Expectation,
  evidence: LiveEvidence,
  stamp: ScoreStamp,
  options: ScoreOptions = {},
): Promise<Scored> {
  const asked = parseExpectation(expectation);
  const context = contextOf(evidence);
  const needs = needsOf(asked.conditions, context, options.scorers);
  const observations = await observeNeeds(
    [...needs, ...(options.alsoObserve ?? [])],
    evidence,
    options,
  );
  const found = new Map(observations.map((each) => [keyOfObservation(each), each]));
  const decisions = asked.conditions.map((condition) =>
    decideCondition(condition, context, (need) => findIn(found, need), options),
  );
  const digest = expectationFingerprint(asked);
  const scores = decisions.map((decision, index) => {
    const condition = asked.conditions[index] ?? asked.conditions[0];
    if (condition === undefined)
      throw new UpheldError("internal", "a decision without a condition");
    return scoreOf(condition, decision, digest, stamp);
  });
  return { scores, decisions, observations };
}

/** Makes the score of a decision. */
export function scoreOf(
  condition: Condition,
  decision: ConditionDecision,
  expectation: Digest,
  stamp: ScoreStamp,
): Score {
  return {
    id: stamp.newId(),
    verdict: decision.verdict,
    rationale: decision.rationale,
    scorer: decision.scorer,
    ...(decision.scorable === undefined ? {} : { scorable: decision.scorable }),
    condition,
    expectation,
    observationIds: [...decision.observationIds],
    at: stamp.now(),
  };
}

/** The expectation in its one form, defaults filled in. Throws "expectation_invalid". */
export function parseExpectation(value: unknown): Expectation {
  const parsed = Expectation.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new UpheldError("expectation_invalid", issuesOf(parsed.error), { cause: parsed.error });
}

function keyOfObservation({ scorable, payload }: Observation): string {
  if (payload.kind === "surface") return keyOf({ scorable: payload.scope, extent: payload.extent });
  return scorable.kind === "conversation" || scorable.kind === "tool_calls"
    ? keyOf({ scorable })
    : "";
}

function findIn(found: ReadonlyMap<string, Observation>, need: Need): Observation {
  const observation = found.get(keyOf(need));
  if (observation !== undefined) return observation;
  throw new UpheldError("internal", "a need was not observed");
}
