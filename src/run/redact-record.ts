import { canonicalJson } from "../core/canonical-json.ts";
import { leavesOf, type Condition } from "../core/condition.ts";
import { expectationFingerprint, type ExpectationFile } from "../core/expectation.ts";
import type { Digest } from "../core/ids.ts";
import { matcherFingerprint, type Matcher } from "../core/matcher.ts";
import { maskOfTexts, redactObservation } from "../evidence/redact-observation.ts";
import { redactPlace } from "../evidence/redact-place.ts";
import { redactValue } from "../evidence/redact-value.ts";
import type { Redactor } from "../evidence/redactor.ts";
import { redactWorld } from "../evidence/world/redact-world.ts";
import { expectationOf } from "../scorers/sub-goal.ts";
import type { RunRecord } from "../evidence/record/run-record.ts";

/**
 * The record of a run without secrets: observations, claims, scores and whatever else is told of it. Verdicts stay those of
 * the live run. Redacting twice gives the same as once.
 */
export async function redactRecord(record: RunRecord, redactor: Redactor): Promise<RunRecord> {
  const met = new Set<string>();
  const meet = (text: string): string => {
    met.add(text);
    return text;
  };
  redacted(record, { ...redactor, mask: meet, maskHead: meet, maskWhole: meet });
  await redactor.study(met);
  return redacted(record, redactor);
}

function redacted(record: RunRecord, redactor: Redactor): RunRecord {
  const place = (uri: string): string => redactPlace(uri, redactor);
  const mask = maskOfTexts({ redactor, place });
  const { claims, deltas, observations, scores, worlds, ...rest } = record;
  const needles = new Set(claims === undefined ? [] : needlesOf(claims, mask));
  const how = { redactor, place, needles };
  const told = claims === undefined ? undefined : redactClaims(claims, mask);
  const expectation =
    told === undefined || canonicalJson(told) === canonicalJson(claims)
      ? undefined
      : expectationFingerprint(expectationOf(told));
  return {
    ...redactValue(rest, mask),
    ...(told === undefined ? {} : { claims: told }),
    ...(worlds === undefined
      ? {}
      : { worlds: worlds.map((world) => redactWorld(world, { redactor, mask })) }),
    deltas: deltas.map((each) => redactObservation(each, how)),
    observations: observations.map((each) => redactObservation(each, how)),
    scores: scores.map(({ subGoal, score }) => {
      const masked = redactValue(score, mask);
      // The digest of a claim with a secret in it could be guessed from.
      return {
        subGoal: plainName(subGoal, mask),
        score: expectation === undefined ? masked : { ...masked, expectation },
      };
    }),
  };
}

function redactClaims(claims: ExpectationFile, mask: (text: string) => string): ExpectationFile {
  return {
    ...redactValue(claims, mask),
    subGoals: claims.subGoals.map((goal) => ({
      ...redactValue(goal, mask),
      name: plainName(goal.name, mask),
    })),
  };
}

/** A sub-goal's name has letters, digits, dots, dashes and underscores alone. */
function plainName(name: string, mask: (text: string) => string): string {
  const masked = mask(name);
  return masked === name ? name : masked.replaceAll(/[<>]/g, "").replaceAll(":", ".");
}

/** The matchers that name a secret, as observations record what they found. */
function needlesOf(
  { subGoals }: ExpectationFile,
  mask: (text: string) => string,
): readonly Digest[] {
  return subGoals
    .flatMap((goal) => ("condition" in goal ? matchersOf(goal.condition) : []))
    .filter((matcher) => canonicalJson(redactValue(matcher, mask)) !== canonicalJson(matcher))
    .map(matcherFingerprint);
}

function matchersOf(condition: Condition): readonly Matcher[] {
  return leavesOf(condition).flatMap((leaf) =>
    "matcher" in leaf && leaf.matcher !== undefined ? [leaf.matcher] : [],
  );
}
