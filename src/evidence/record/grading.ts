import { z } from "zod";
import { Verdict } from "../../core/verdict.ts";

const name = z.string().min(1);

/** A sub-goal that a function of the suite decided: it cannot be asked again, so what it said is sealed. */
export const CheckedSubGoal = z
  .object({
    name,
    what: z.string().min(1).optional(),
    verdict: Verdict,
    rationale: z.string().min(1),
  })
  .readonly();
export type CheckedSubGoal = z.infer<typeof CheckedSubGoal>;

/** What `grading.json` holds of a scenario: its sub-goals in order, and those that functions decided. */
export const Grading = z
  .object({
    schemaVersion: z.literal(1),
    order: z.array(name).readonly(),
    checks: z.array(CheckedSubGoal).readonly(),
  })
  .readonly();
export type Grading = z.infer<typeof Grading>;
