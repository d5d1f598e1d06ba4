import { z } from "zod";
import type { ReportedSubGoal } from "./run-report.ts";

/**
 * The verdicts in short, for a reader who waits until the evidence is verified. It stands outside of the bundle, so nothing
 * vouches for it, and it has to be told so.
 */
export const VerdictPreview = z
  .array(
    z
      .object({
        name: z.string(),
        what: z.string().optional(),
        word: z.enum(["upheld", "refuted", "undetermined", "to judge"]),
      })
      .readonly(),
  )
  .readonly();
export type VerdictPreview = z.infer<typeof VerdictPreview>;

/** The preview of what a report tells. */
export function verdictPreview(subGoals: readonly ReportedSubGoal[]): VerdictPreview {
  return subGoals.map(({ name, what, decidedBy, verdict }) => ({
    name,
    ...(what === undefined ? {} : { what }),
    word: decidedBy === "judge" ? "to judge" : verdict.value,
  }));
}
