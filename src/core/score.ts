import { z } from "zod";
import { Condition } from "./condition.ts";
import { Digest, ObservationId, ScoreId } from "./ids.ts";
import { Identifier } from "./identifier.ts";
import { Scorable } from "./scorable.ts";
import { Timestamp } from "./timestamp.ts";
import { Verdict } from "./verdict.ts";

/** A verdict, by whom it was reached, over which evidence, and why. The rationale never holds content. */
export const Score = z
  .object({
    id: ScoreId,
    verdict: Verdict,
    rationale: z.string().min(1),
    scorer: Identifier,
    scorable: Scorable.optional(),
    condition: Condition,
    /** The digest of the whole expectation that the condition was part of. */
    expectation: Digest,
    observationIds: z
      .array(ObservationId)
      .refine((ids) => new Set(ids).size === ids.length, "an observation is named twice")
      .readonly(),
    at: Timestamp,
  })
  .readonly();
export type Score = z.infer<typeof Score>;
