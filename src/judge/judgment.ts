import { z } from "zod";
import { fingerprint } from "../core/fingerprint.ts";
import { Digest, JudgmentId } from "../core/ids.ts";
import { Timestamp } from "../core/timestamp.ts";
import { Verdict } from "../core/verdict.ts";

const count = z.int().min(0);
const text = z.string().min(1);

/** The kinds of judges. */
export const JudgeKind = z.enum(["model", "command", "replay", "person", "panel"]);
export type JudgeKind = z.infer<typeof JudgeKind>;

export type JudgeIdentity = {
  readonly kind: JudgeKind;
  readonly name: string;
  readonly promptVersion?: string | undefined;
  readonly parameters: Readonly<Record<string, string | number | boolean>>;
  readonly members: readonly JudgeIdentity[];
};

/**
 * Who judged: another model, version of the prompt or parameter is another judge. A panel is its members. A person has no
 * prompt. Never a key, never a path of the host.
 */
export const JudgeIdentity: z.ZodType<JudgeIdentity> = z
  .object({
    kind: JudgeKind,
    name: text,
    promptVersion: text.optional(),
    parameters: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
      .readonly()
      .default({}),
    members: z.lazy(() => z.array(JudgeIdentity).readonly()).default([]),
  })
  .readonly();

/** The digest of a judge's identity: by it a judgment is found again. */
export function judgeDigest(identity: JudgeIdentity): Digest {
  return fingerprint(identity);
}

/**
 * What a judge pointed at. `part` and `location` say where in the bundle it lies; they are absent where the judge named evidence
 * that it was not shown. `found`: it was shown, and holds the quote where one is given.
 */
export const Citation = z
  .object({
    evidence: z.string(),
    part: text.optional(),
    location: text.optional(),
    quote: z.string().optional(),
    found: z.boolean(),
  })
  .readonly();
export type Citation = z.infer<typeof Citation>;

/** Every way in which a judge can fail to answer. None of them says anything about a claim. */
export const JudgeFailureCode = z.enum([
  "unreachable",
  "timed_out",
  "rate_limited",
  "server_error",
  "request_refused",
  "answer_refused",
  "answer_cut",
  "answer_empty",
  "answer_malformed",
  "command_failed",
  "not_recorded",
]);
export type JudgeFailureCode = z.infer<typeof JudgeFailureCode>;

/** What came of asking. Only "answered" and "panel" are of a judge; "not_asked" and "failed" are not judged at all. */
export const JudgmentOutcome = z.discriminatedUnion("kind", [
  z
    .object({
      kind: z.literal("answered"),
      /** What the judge said. The verdict can be weaker. */
      held: z.boolean().nullable(),
      reason: z.string(),
      cites: z.array(Citation).readonly(),
    })
    .readonly(),
  z.object({ kind: z.literal("not_asked") }).readonly(),
  z.object({ kind: z.literal("failed"), code: JudgeFailureCode, detail: z.string() }).readonly(),
  z
    .object({
      kind: z.literal("panel"),
      members: z
        .array(
          z
            .object({
              judge: Digest,
              judgment: JudgmentId.optional(),
              value: z.enum(["upheld", "refuted", "undetermined"]),
              outcome: z.enum(["answered", "not_asked", "failed"]),
            })
            .readonly(),
        )
        .readonly(),
      /** Members behind the most frequent verdict, of those that reached one; null where none did. */
      agreement: z.object({ agreed: count, decided: count }).readonly().nullable(),
    })
    .readonly(),
]);
export type JudgmentOutcome = z.infer<typeof JudgmentOutcome>;

/** One question to a judge, which may be about several claims: those judgments share its id. Sum costs over ids. */
export const Asking = z
  .object({
    id: z.string().min(1),
    /** The digest of the question without its fence, which differs from call to call. */
    question: Digest,
    claims: z.int().min(1),
    attempts: z.int().min(1),
    latencyMs: z.number().min(0),
    /** The model that answered, where it says so. */
    model: text.optional(),
    inputTokens: count.optional(),
    outputTokens: count.optional(),
    costUsd: z.number().min(0).optional(),
    /** The last answer as it came. `rawBytes` is there where only its head was kept. */
    raw: z.string().optional(),
    rawBytes: count.optional(),
  })
  .readonly();
export type Asking = z.infer<typeof Asking>;

/**
 * What one judge came to about one claim over one bundle. Append-only: a later judgment stands beside it. The verdict is what
 * the rules allow to conclude from the answer.
 */
export const Judgment = z
  .object({
    schemaVersion: z.literal(1),
    id: JudgmentId,
    bundle: Digest,
    claim: z.object({ name: text, digest: Digest, text }).readonly(),
    judge: JudgeIdentity,
    outcome: JudgmentOutcome,
    verdict: Verdict,
    asking: Asking.optional(),
    at: Timestamp,
  })
  .readonly()
  .refine(
    ({ outcome, verdict }) => isDecided(outcome.kind) || verdict.value === "undetermined",
    "without an answer there is no verdict",
  );
export type Judgment = z.infer<typeof Judgment>;

function isDecided(kind: JudgmentOutcome["kind"]): boolean {
  return kind === "answered" || kind === "panel";
}
