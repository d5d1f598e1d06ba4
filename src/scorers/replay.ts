import { Condition } from "../core/condition.ts";
import { NonReplayableObservationError, UpheldError, isUpheldError } from "../core/errors.ts";
import { issuesOf } from "../core/issues.ts";
import { rootOf } from "../core/locator.ts";
import { holdsMask } from "../core/mask.ts";
import type { Observation } from "../core/observation.ts";
import type { ConversationScorable, ToolCallsScorable } from "../core/scorable.ts";
import type { Need, ScoringContext } from "../core/scorer.ts";
import { covers, distance } from "./covers.ts";
import { decideCondition, type ConditionDecision, type DecideOptions } from "./decide.ts";
import { mismatch } from "./surface-view.ts";

/**
 * Decides a condition over stored observations, by the same code as live. `context` names every root of the run and its
 * conversation, so that leaving out an observation is noticed. Throws "not_replayable" where what is stored does not cover the
 * question: another location, candidates where a delta is needed, another scope, a root of which nothing is stored, a secret
 * of which only the mask was kept.
 */
export function replay(
  condition: Condition,
  observations: readonly Observation[],
  context: ScoringContext,
  options: DecideOptions = {},
): ConditionDecision {
  const parsed = Condition.safeParse(condition);
  if (!parsed.success)
    throw new UpheldError("expectation_invalid", issuesOf(parsed.error), { cause: parsed.error });
  if (holdsMask(JSON.stringify(parsed.data)))
    throw new NonReplayableObservationError(
      "the question names a secret that was removed when the run was sealed: its verdict of then stands in scores.json",
    );
  try {
    return decideCondition(parsed.data, context, (need) => findStored(need, observations), options);
  } catch (error) {
    if (!isUpheldError(error) || error.code !== "source_missing") throw error;
    throw new NonReplayableObservationError(
      `nothing is stored of what is asked: ${error.message}`,
      { cause: error },
    );
  }
}

/**
 * The roots, the conversation and the tool calls that these observations tell of. Only where their list is known to be whole, as in a sealed
 * bundle, is that the context of the run: "nothing else changed" is about every root.
 */
export function contextOfObservations(observations: readonly Observation[]): ScoringContext {
  const roots = new Map<string, string>();
  let conversation: ConversationScorable | undefined;
  let calls: ToolCallsScorable | undefined;
  for (const { payload, scorable } of observations)
    switch (payload.kind) {
      case "surface":
        roots.set(rootOf(payload.scope.uri), payload.scope.surface);
        break;
      case "tools":
        calls ??= payload.scope;
        break;
      case "conversation":
        conversation ??=
          scorable.kind === "conversation"
            ? scorable
            : { kind: "conversation", conversationId: payload.conversation.id };
    }
  return { roots: [...roots].map(([name, surface]) => ({ name, surface })), conversation, calls };
}

/** The stored observation that fits a need most closely. Throws "not_replayable" where none covers it. */
export function findStored(need: Need, observations: readonly Observation[]): Observation {
  const [best] = observations
    .filter((each) => covers(each, need))
    .toSorted((left, right) => distance(left, need) - distance(right, need));
  if (best !== undefined) return best;
  const [only] = observations;
  throw new NonReplayableObservationError(
    mismatch(observations.length === 1 ? only : undefined, need),
  );
}
