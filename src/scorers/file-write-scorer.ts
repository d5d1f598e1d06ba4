import type { ContentWritten } from "../core/condition.ts";
import { UpheldError } from "../core/errors.ts";
import { expectationFingerprint, type Expectation } from "../core/expectation.ts";
import { rootOf } from "../core/locator.ts";
import type { Observation } from "../core/observation.ts";
import type { Score } from "../core/score.ts";
import type { ScoringScope } from "../core/scope.ts";
import type { Baseline, ObservationSource } from "../core/source.ts";
import { contextOfObservations, replay } from "./replay.ts";
import { parseExpectation, scoreLive, scoreOf, type ScoreStamp } from "./score.ts";

export interface FileWriteOptions {
  readonly signal?: AbortSignal;
  /** The world before the run. */
  readonly baseline?: Baseline;
  /** Which run the content must belong to. */
  readonly scope?: ScoringScope;
}

/** Scores one question, whether the run wrote matching content, over any source of surfaces. */
export interface FileWriteScorer {
  /** Observes and decides. Keep the observation: other questions can be asked of it. */
  score(
    expectation: Expectation,
    options?: FileWriteOptions,
  ): Promise<{ readonly score: Score; readonly observation: Observation }>;
  /** Decides over a stored observation. Throws "not_replayable" where it does not cover the question. */
  scoreObservation(observation: Observation, expectation: Expectation): Score;
}

/**
 * A scorer of file writes over `source`. The expectation must state exactly one condition of kind content_written, else
 * "condition_unrouted" is thrown before anything is read. `surface` is the kind of place that the source reads.
 */
export function fileWriteScorer(
  source: ObservationSource,
  stamp: ScoreStamp,
  surface: string = "file",
): FileWriteScorer {
  return {
    async score(expectation, { signal, baseline, scope } = {}) {
      const condition = onlyCondition(parseExpectation(expectation));
      const bound = { root: rootOf(condition.uri), surface, source, baseline };
      const { scores, observations } = await scoreLive(
        expectation,
        { sources: [bound], scope },
        stamp,
        { signal },
      );
      const [score] = scores;
      const [observation] = observations;
      if (score === undefined || observation === undefined)
        throw new UpheldError("internal", "one condition gave no score");
      return { score, observation };
    },
    scoreObservation(observation, expectation) {
      const parsed = parseExpectation(expectation);
      const condition = onlyCondition(parsed);
      const decision = replay(condition, [observation], contextOfObservations([observation]));
      return scoreOf(condition, decision, expectationFingerprint(parsed), stamp);
    },
  };
}

function onlyCondition({ conditions }: Expectation): ContentWritten {
  const [only] = conditions;
  if (only?.kind === "content_written" && conditions.length === 1) return only;
  throw new UpheldError(
    "condition_unrouted",
    `expected one condition of kind content_written, got ${conditions.map((each) => each.kind).join(", ")}`,
  );
}
