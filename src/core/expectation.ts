import { z } from "zod";
import { Condition, Polarity } from "./condition.ts";
import { UpheldError } from "./errors.ts";
import { EvidenceKind } from "./evidence-kind.ts";
import { fingerprint } from "./fingerprint.ts";
import type { Digest } from "./ids.ts";
import { issuesOf } from "./issues.ts";

/** An objective and the conditions that are looked for. */
export const Expectation = z
  .strictObject({
    schemaVersion: z.literal(1).default(1),
    objective: z.string().min(1).optional(),
    conditions: z.array(Condition).min(1).readonly(),
  })
  .readonly();
export type Expectation = z.infer<typeof Expectation>;

const name = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
    "expected a plain name: letters, digits, dots, dashes, underscores",
  );

const named = { name, what: z.string().min(1).optional() };

/** A sub-goal that code decides: a condition and which verdict is wished for. */
export const CodedSubGoal = z
  .strictObject({
    ...named,
    expect: z.enum(["upheld", "refuted"]).default("upheld"),
    condition: Condition,
  })
  .readonly();
export type CodedSubGoal = z.infer<typeof CodedSubGoal>;

/**
 * A sub-goal that no code can decide, by its text and the kinds of evidence that it needs. Its polarity says which answer needs
 * proof: that something did not happen (existential), that nothing else did (universal), or both (exact).
 */
export const JudgedSubGoal = z
  .strictObject({
    ...named,
    judged: z.string().min(1),
    needs: z.array(EvidenceKind).readonly().default([]),
    polarity: Polarity.default("existential"),
  })
  .readonly();
export type JudgedSubGoal = z.infer<typeof JudgedSubGoal>;

export const SubGoal = z.union([CodedSubGoal, JudgedSubGoal]);
export type SubGoal = z.infer<typeof SubGoal>;

/** What a user writes in claims.yaml. Names are unique. */
export const ExpectationFile = z
  .strictObject({
    schemaVersion: z.literal(1).default(1),
    objective: z.string().min(1).optional(),
    subGoals: z
      .array(SubGoal)
      .min(1)
      .refine(
        (goals) => new Set(goals.map((goal) => goal.name)).size === goals.length,
        "two sub-goals have one name",
      )
      .readonly(),
  })
  .readonly();
export type ExpectationFile = z.infer<typeof ExpectationFile>;

/** Reads a parsed claims file. Throws "expectation_invalid" naming each place that is not of the form. */
export function parseExpectationFile(value: unknown): ExpectationFile {
  const parsed = ExpectationFile.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new UpheldError("expectation_invalid", issuesOf(parsed.error), { cause: parsed.error });
}

/** The digest of an expectation's canonical JSON. */
export function expectationFingerprint(expectation: Expectation): Digest {
  return fingerprint(expectation);
}
