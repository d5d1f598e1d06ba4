import { z } from "zod";
import { AttemptId, Digest, RunId } from "../core/ids.ts";
import { Timestamp } from "../core/timestamp.ts";

export const STATEMENT_TYPE = "https://in-toto.io/Statement/v1";
export const EVIDENCE_PREDICATE_TYPE = "https://upheld.dev/evidence/v1";
export const STATEMENT_MEDIA_TYPE = "application/vnd.in-toto+json";

/** The subject that names the image manifest. No part's title can be this: a title has no colon. */
export const MANIFEST_SUBJECT = "oci:manifest";

const count = z.int().min(0);
const text = z.string().min(1).max(2000);

/** The plain name of a part, such as "observations/workspace.json". A label in the manifest, never a path. */
export const PartTitle = z
  .string()
  .max(200)
  .regex(
    /^[A-Za-z0-9_][A-Za-z0-9._-]*(\/[A-Za-z0-9_][A-Za-z0-9._-]*)*$/,
    "expected names of letters, digits, dots, dashes and underscores, joined by single slashes",
  );

const MediaType = z
  .string()
  .max(200)
  .regex(/^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/, "expected a media type");

/** How many entries a part holds, of how many there were. */
export const PartCounts = z
  .object({ shown: count, total: count })
  .refine(({ shown, total }) => shown <= total, "shown must not be more than total")
  .readonly();
export type PartCounts = z.infer<typeof PartCounts>;

/** How often a redaction rule masked something in a part. */
export const PartRedaction = z.object({ rule: text, count: z.int().min(1) }).readonly();
export type PartRedaction = z.infer<typeof PartRedaction>;

const named = { title: PartTitle, mediaType: MediaType };
const stored = { ...named, digest: Digest, sizeBytes: count, counts: PartCounts.optional() };

/**
 * What the statement says of one part. `present`: its bytes are in the bundle. `redacted`: they are, with spans masked.
 * `withheld`: the digest stands, the bytes are elsewhere. `omitted`: nothing was kept, for the reason given.
 */
export const EvidencePart = z.discriminatedUnion("state", [
  z.object({ state: z.literal("present"), ...stored }).readonly(),
  z
    .object({
      state: z.literal("redacted"),
      ...stored,
      redactions: z.tuple([PartRedaction], PartRedaction).readonly(),
    })
    .readonly(),
  z.object({ state: z.literal("withheld"), ...stored }).readonly(),
  z
    .object({
      state: z.literal("omitted"),
      ...named,
      counts: z.object({ shown: z.literal(0), total: count }).readonly(),
      reason: text,
    })
    .readonly(),
]);
export type EvidencePart = z.infer<typeof EvidencePart>;

/** A part that has bytes, here or elsewhere. */
export type StoredPart = Exclude<EvidencePart, { readonly state: "omitted" }>;

/** Which run the evidence is of, and which program sealed it. */
export const EvidenceRun = z
  .object({
    runId: RunId,
    attemptId: AttemptId.optional(),
    jobId: text.optional(),
    scenarioKey: text.optional(),
    scenarioAttempt: z.int().min(1).optional(),
    attemptNumber: z.int().min(1).optional(),
    suiteDigest: Digest.optional(),
    startedAt: Timestamp,
    endedAt: Timestamp,
    producer: z.object({ name: text, version: text }).readonly(),
  })
  .readonly();
export type EvidenceRun = z.infer<typeof EvidenceRun>;

/**
 * On which side of the sandbox the sealing program ran: "guest" where the agent ran, too, and could have used the key; "host"
 * outside of its reach. `keyId` is the digest of the key that it signed with at once; a signature by another key came later.
 */
export const EvidenceSealer = z
  .object({ by: z.enum(["guest", "host"]), keyId: Digest.optional() })
  .readonly();
export type EvidenceSealer = z.infer<typeof EvidenceSealer>;

/** How it was established that this run made a change in a root. */
export const EvidenceAttribution = z
  .object({
    root: text,
    method: z.enum(["exact", "baseline", "window", "none"]),
    reason: text.optional(),
    baseline: Digest.optional(),
  })
  .readonly();
export type EvidenceAttribution = z.infer<typeof EvidenceAttribution>;

// A newer producer may know gaps that this reader does not, so the code is not checked against the table.
const SealedGap = z
  .object({
    code: text,
    location: z.string().min(1),
    detail: z.string().optional(),
    count: z.int().min(1),
    remedy: z.string().min(1),
  })
  .readonly();

/** What one source could see. `gapsTotal` also counts gaps that are not listed here. */
export const EvidenceCoverage = z
  .object({
    source: text,
    acquisition: z.enum(["complete", "partial", "unavailable", "error"]),
    gaps: z.array(SealedGap).readonly(),
    gapsTotal: count,
  })
  .refine(({ gaps, gapsTotal }) => gaps.length <= gapsTotal, "gapsTotal must count every gap")
  .readonly();
export type EvidenceCoverage = z.infer<typeof EvidenceCoverage>;

export const EvidencePredicate = z
  .object({
    run: EvidenceRun,
    /** Absent where the sealing program did not say. */
    sealer: EvidenceSealer.optional(),
    scope: z.record(z.string(), z.unknown()).readonly(),
    limits: z.record(z.string(), z.number()).readonly(),
    attribution: z.array(EvidenceAttribution).readonly(),
    coverage: z.array(EvidenceCoverage).readonly(),
    parts: z.array(EvidencePart).superRefine(refuseContradictions).readonly(),
  })
  .readonly();
export type EvidencePredicate = z.infer<typeof EvidencePredicate>;

export const Subject = z
  .object({
    name: z.string(),
    digest: z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/) }).readonly(),
  })
  .readonly();
export type Subject = z.infer<typeof Subject>;

/**
 * An in-toto Statement v1 about one run: its subjects are the image manifest and every part that has bytes.
 * Unknown fields are left out when reading, so that none can bear on a decision.
 */
export const EvidenceStatement = z
  .object({
    _type: z.literal(STATEMENT_TYPE),
    subject: z.array(Subject).readonly(),
    predicateType: z.literal(EVIDENCE_PREDICATE_TYPE),
    predicate: EvidencePredicate,
  })
  .readonly();
export type EvidenceStatement = z.infer<typeof EvidenceStatement>;

/** The parts that have bytes, here or elsewhere, in the order of the statement. */
export function storedParts(parts: readonly EvidencePart[]): readonly StoredPart[] {
  return parts.filter((part) => part.state !== "omitted");
}

/** The subjects that a statement over these parts and this manifest must have. */
export function subjectsOf(manifest: Digest, parts: readonly EvidencePart[]): readonly Subject[] {
  const named = [{ title: MANIFEST_SUBJECT, digest: manifest }, ...storedParts(parts)];
  return named.map(({ title, digest }) => ({ name: title, digest: { sha256: hexOf(digest) } }));
}

/** The 64 hex digits of a digest. */
export function hexOf(digest: Digest): string {
  return digest.slice("sha256:".length);
}

function refuseContradictions(
  parts: readonly EvidencePart[],
  context: z.core.$RefinementCtx<EvidencePart[]>,
): void {
  const titles = new Set<string>();
  const withheld = new Set<Digest>();
  for (const [index, part] of parts.entries()) {
    if (titles.has(part.title)) {
      context.addIssue({
        code: "custom",
        path: [index, "title"],
        message: "the title occurs twice",
      });
    }
    titles.add(part.title);
    if (part.state === "withheld") withheld.add(part.digest);
  }
  for (const [index, part] of storedParts(parts).entries()) {
    if (part.state !== "withheld" && withheld.has(part.digest)) {
      const message = "the same bytes are withheld in another part";
      context.addIssue({ code: "custom", path: [index, "digest"], message });
    }
  }
}
