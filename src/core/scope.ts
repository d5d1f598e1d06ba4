import { z } from "zod";
import { AttemptId, Digest } from "./ids.ts";
import { nanosecondsOf, Timestamp } from "./timestamp.ts";

/**
 * Which run the evidence must belong to. A source applies the keys that it can; those it could not are named in the
 * observation. `window` is closed at both ends; `labels` are never interpreted; `baseline` names the world before the run.
 */
export const ScoringScope = z
  .strictObject({
    window: z
      .tuple([Timestamp, Timestamp])
      .readonly()
      .refine(
        ([from, to]) => nanosecondsOf(from) <= nanosecondsOf(to),
        "a window must not end before it starts",
      )
      .optional(),
    labels: z.record(z.string().min(1), z.string()).readonly().optional(),
    attemptId: AttemptId.optional(),
    baseline: Digest.optional(),
  })
  .readonly();
export type ScoringScope = z.infer<typeof ScoringScope>;

export type ScopeKey = keyof ScoringScope;

/** The keys of a scope that are set. */
export function scopeKeys(scope: ScoringScope | undefined): readonly ScopeKey[] {
  if (scope === undefined) return [];
  const keys: readonly ScopeKey[] = ["window", "labels", "attemptId", "baseline"];
  return keys.filter((key) => scope[key] !== undefined);
}
