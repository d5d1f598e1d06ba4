import { fingerprint } from "../core/fingerprint.ts";
import type { Digest } from "../core/ids.ts";
import type { ScenarioAttempt } from "../evidence/scenario-attempt.ts";
import type { ProjectName } from "./auth.ts";

/** By what the database knows a job, a scenario of it and an attempt at that: each within its project, each of one length. */
export interface AttemptNames {
  readonly job: Digest;
  readonly scenario: Digest;
  readonly attempt: Digest;
}

export function attemptNames(
  project: ProjectName,
  { jobId, attemptId, scenarioKey, scenarioAttempt }: ScenarioAttempt,
): AttemptNames {
  return {
    job: fingerprint([project, jobId]),
    scenario: fingerprint([project, jobId, scenarioKey]),
    attempt: fingerprint([project, jobId, attemptId, scenarioKey, scenarioAttempt]),
  };
}

/** Whether the database can keep the names of an attempt: its text holds every character but NUL. */
export function canBeKept({ jobId, scenarioKey }: ScenarioAttempt): boolean {
  return !jobId.includes("\0") && !scenarioKey.includes("\0");
}
