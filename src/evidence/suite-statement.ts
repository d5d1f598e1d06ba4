import { z } from "zod";
import { AttemptId, Digest, RunId } from "../core/ids.ts";
import { Timestamp } from "../core/timestamp.ts";
import { ReceiptFailure, ReceiptStatus } from "./receipt.ts";
import { scenarioReference } from "./reference.ts";
import { EvidenceSealer, hexOf, STATEMENT_TYPE, Subject } from "./statement.ts";

export const SUITE_PREDICATE_TYPE = "https://upheld.dev/suite-run/v1";

const text = z.string().min(1).max(2000);
const attempt = z.int().min(1);

/** A scenario of a suite run: sealed, by the digests of its manifest and statement, or without evidence, and why. */
export const SuiteScenario = z.discriminatedUnion("state", [
  z
    .object({
      state: z.literal("sealed"),
      scenarioKey: text,
      scenarioAttempt: attempt,
      runId: RunId,
      attemptId: AttemptId.optional(),
      manifest: Digest,
      statement: Digest,
    })
    .readonly(),
  z
    .object({
      state: z.literal("absent"),
      scenarioKey: text,
      scenarioAttempt: attempt,
      reason: text,
      /** What it came to, as it was told; nothing here shows it. */
      status: ReceiptStatus.optional(),
      failure: ReceiptFailure.optional(),
    })
    .readonly(),
]);
export type SuiteScenario = z.infer<typeof SuiteScenario>;
export type SealedScenario = Extract<SuiteScenario, { readonly state: "sealed" }>;

/** Which run of which suite it was. */
export const SuiteRun = z
  .object({
    suite: text.optional(),
    suiteDigest: Digest.optional(),
    jobId: text.optional(),
    startedAt: Timestamp,
    endedAt: Timestamp,
    producer: z.object({ name: text, version: text }).readonly(),
  })
  .readonly();
export type SuiteRun = z.infer<typeof SuiteRun>;

export const SuitePredicate = z
  .object({
    run: SuiteRun,
    sealer: EvidenceSealer.optional(),
    /** How many scenarios there were, also those without evidence. */
    count: z.int().min(0),
    /** In the order in which they ran. */
    scenarios: z.array(SuiteScenario).readonly(),
  })
  .refine(({ count, scenarios }) => count === scenarios.length, {
    message: "count must be the number of scenarios",
    path: ["count"],
  })
  .readonly();
export type SuitePredicate = z.infer<typeof SuitePredicate>;

/** An in-toto Statement v1 over the scenarios of a suite run: leaving one out changes its bytes. */
export const SuiteStatement = z
  .object({
    _type: z.literal(STATEMENT_TYPE),
    subject: z.array(Subject).readonly(),
    predicateType: z.literal(SUITE_PREDICATE_TYPE),
    predicate: SuitePredicate,
  })
  .readonly();
export type SuiteStatement = z.infer<typeof SuiteStatement>;

/** The scenarios that have evidence, in order. */
export function sealedScenarios({ scenarios }: SuitePredicate): readonly SealedScenario[] {
  return scenarios.filter((each) => each.state === "sealed");
}

/** The subjects of a suite's statement: the manifest and the statement of each scenario that has evidence. */
export function suiteSubjectsOf(predicate: SuitePredicate): readonly Subject[] {
  return sealedScenarios(predicate).flatMap(({ manifest, statement }, index) => {
    const name = scenarioReference(index + 1);
    return [
      { name: `oci:${name}`, digest: { sha256: hexOf(manifest) } },
      { name: `statement:${name}`, digest: { sha256: hexOf(statement) } },
    ];
  });
}

/** The first two scenarios that are one attempt at one scenario, as a place; null where there are none. */
export function repeatedScenario(scenarios: readonly SuiteScenario[]): number | null {
  const seen = new Set<string>();
  for (const [index, { scenarioKey, scenarioAttempt }] of scenarios.entries()) {
    const key = `${scenarioAttempt} ${scenarioKey}`;
    if (seen.has(key)) return index;
    seen.add(key);
  }
  return null;
}
