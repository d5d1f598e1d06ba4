/** What the manifest of a single run, and the statement of a suite, are called in the index. */
export const RUN_REFERENCE = "evidence";
export const SUITE_REFERENCE = "suite";

/** The name in the index of the scenario that is the n-th with evidence, from 1. */
export function scenarioReference(number: number): string {
  return `scenario-${number}`;
}
