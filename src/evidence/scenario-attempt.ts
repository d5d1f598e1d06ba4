import { z } from "zod";
import { AttemptId } from "../core/ids.ts";

const key = z.string().min(1).max(500);
const ordinal = z.int().min(1);

/** Which attempt at which scenario of which job: what a receipt, an upload and the evidence inside it must agree on. */
export const ScenarioAttempt = z
  .object({
    jobId: key,
    attemptId: AttemptId,
    /** The attempts of a job count from 1. */
    attemptNumber: ordinal,
    scenarioKey: key,
    /** The attempts at a scenario within one attempt of the job count from 1. */
    scenarioAttempt: ordinal,
  })
  .readonly();
export type ScenarioAttempt = z.infer<typeof ScenarioAttempt>;

/** What evidence says of itself, as far as it does. */
export type EvidenceOrigin = Readonly<{
  [Field in keyof ScenarioAttempt]?: ScenarioAttempt[Field] | undefined;
}>;

const BINDING = ["jobId", "attemptId", "scenarioKey", "scenarioAttempt"] as const;
export type BindingField = (typeof BINDING)[number];

/**
 * The first field in which evidence is of another attempt than the one asked about, or null where it fits. Evidence that
 * does not say which attempt it is of fits none.
 */
export function mismatchOf(asked: ScenarioAttempt, evidence: EvidenceOrigin): BindingField | null {
  return BINDING.find((field) => asked[field] !== evidence[field]) ?? null;
}

/** Below 0 where the left attempt is the older one, 0 where they are one attempt. Only for one scenario of one job. */
export function compareAttempts(left: ScenarioAttempt, right: ScenarioAttempt): number {
  return left.attemptNumber - right.attemptNumber || left.scenarioAttempt - right.scenarioAttempt;
}
