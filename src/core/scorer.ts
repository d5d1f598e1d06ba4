import type { Condition } from "./condition.ts";
import type { Identifier } from "./identifier.ts";
import type { Observation } from "./observation.ts";
import type { ObservationRequest } from "./source.ts";
import type { ConversationScorable, SurfaceScorable, ToolCallsScorable } from "./scorable.ts";
import type { ScoringScope } from "./scope.ts";
import type { Verdict } from "./verdict.ts";

/** What a condition is asked of: the roots of the run, by name and kind of surface, its conversation, and its scope. */
export interface ScoringContext {
  readonly roots: readonly { readonly name: string; readonly surface: string }[];
  readonly conversation?: ConversationScorable | undefined;
  /** The tool calls of the run, where any recorder was set. */
  readonly calls?: ToolCallsScorable | undefined;
  readonly scope?: ScoringScope | undefined;
}

export type Need = ObservationRequest<SurfaceScorable | ConversationScorable | ToolCallsScorable>;

/** A verdict with its reasons in words. */
export interface Decision {
  readonly verdict: Verdict;
  readonly rationale: string;
}

/**
 * Decides the conditions of one kind over observations. Pure: the same observations give the same decision, live and on replay.
 * `decide` gets the observations of `needs`, in that order, and throws "not_replayable" where one does not cover the question.
 */
export interface Scorer<C extends Condition = Condition> {
  /** The kind of condition that it declares. */
  readonly kind: C["kind"];
  identifier(): Identifier;
  needs(condition: C, context: ScoringContext): readonly Need[];
  decide(condition: C, observations: readonly Observation[]): Decision;
}
