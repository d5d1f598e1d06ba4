import { z } from "zod";
import { Digest } from "../core/ids.ts";
import { ADMISSION_FAULTS } from "./artifact-kinds.ts";

/** Every error that a collector answers with, by its code: the status it comes with, and what it means. */
export const DELIVERY_ERRORS = {
  header_invalid: { status: 400, meaning: "A header is missing or not of its form." },
  unauthorized: { status: 401, meaning: "The token is missing, unknown or no longer valid." },
  forbidden: { status: 403, meaning: "The token is not for this job." },
  job_unknown: { status: 404, meaning: "No such job is expected here." },
  scenario_unknown: { status: 404, meaning: "The job has no such scenario." },
  artifact_conflict: { status: 409, meaning: "These bytes are here as another kind." },
  receipt_conflict: { status: 409, meaning: "This attempt has another receipt." },
  attempt_superseded: { status: 409, meaning: "A newer attempt has its receipt here." },
  artifact_too_large: { status: 413, meaning: ADMISSION_FAULTS.artifact_too_large },
  receipt_too_large: { status: 413, meaning: "The receipt is larger than may be read." },
  budget_spent: { status: 413, meaning: ADMISSION_FAULTS.budget_spent },
  hard_cap_reached: { status: 413, meaning: ADMISSION_FAULTS.hard_cap_reached },
  kind_unknown: { status: 422, meaning: ADMISSION_FAULTS.kind_unknown },
  level_forbids: { status: 422, meaning: ADMISSION_FAULTS.level_forbids },
  digest_mismatch: { status: 422, meaning: "The bytes do not have the digest in their name." },
  origin_mismatch: {
    status: 422,
    meaning: "The evidence is not intact, or says inside that it is of another attempt.",
  },
  receipt_invalid: { status: 422, meaning: "The bytes are no receipt that can be believed." },
  evidence_missing: {
    status: 422,
    meaning: "The receipt names evidence that this attempt did not deliver.",
  },
} as const satisfies Readonly<
  Record<string, { readonly status: number; readonly meaning: string }>
>;
export type DeliveryError = keyof typeof DELIVERY_ERRORS;

/** What a collector says of something that it has: now, or since before. */
export const DeliveryReceived = z
  .object({ status: z.enum(["stored", "duplicate"]), digest: Digest })
  .readonly();
export type DeliveryReceived = z.infer<typeof DeliveryReceived>;

/** What a collector says of something that it does not take. A newer one may know codes that we do not. */
export const DeliveryRefusal = z
  .object({
    error: z
      .object({ code: z.string().regex(/^[a-z_]{3,60}$/), message: z.string().optional() })
      .readonly(),
  })
  .readonly();
export type DeliveryRefusal = z.infer<typeof DeliveryRefusal>;

/** The headers of an upload. Their values are percent-encoded UTF-8. */
export const ARTIFACT_HEADERS = {
  kind: "upheld-artifact-kind",
  sizeBytes: "upheld-artifact-size",
  jobId: "upheld-job",
  attemptId: "upheld-attempt",
  attemptNumber: "upheld-attempt-number",
  scenarioKey: "upheld-scenario-key",
  scenarioAttempt: "upheld-scenario-attempt",
} as const;
