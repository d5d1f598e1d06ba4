import type { Digest } from "../core/ids.ts";
import { UpheldError } from "../core/errors.ts";
import {
  ARTIFACT_KINDS,
  admissionFault,
  isArtifactKind,
  type ArtifactPolicy,
} from "../evidence/artifact-kinds.ts";
import type { AnnouncedArtifact } from "../evidence/announced-artifact.ts";
import { DELIVERY_ERRORS, type DeliveryError } from "../evidence/delivery-answers.ts";
import { compareAttempts, mismatchOf } from "../evidence/scenario-attempt.ts";
import { verifyBundle } from "../evidence/verify.ts";
import type { BlobStore } from "../store/blob-store.ts";
import {
  numberIn,
  onlyRow,
  textIn,
  type DatabaseRow,
  type DatabaseValue,
  type Statements,
} from "../store/database.ts";
import { nodeHasher } from "../store/hasher.ts";
import { arrival, type Arrival } from "./arrival.ts";
import { attemptNames, canBeKept } from "./attempt-names.ts";
import type { ProjectName } from "./auth.ts";
import { Refusal } from "./problem.ts";

/** What was taken in, and whether it was new or was here. */
export interface Received {
  readonly taken: "stored" | "duplicate";
  readonly digest: Digest;
}

/** Times that bytes are put again because they were removed meanwhile. */
const MAX_PUTS = 5;

/** What artifacts are taken into. */
export interface ArtifactShelf {
  readonly statements: Statements;
  readonly blobs: BlobStore;
  readonly policy: ArtifactPolicy;
  /** A folder for large bodies on their way in. */
  readonly incoming: string;
}

/**
 * Takes in an artifact: refuses it before a byte is read where its headers are enough to, then reads, digests and looks into it,
 * keeps its bytes, and only then refers to them. Throws the refusal.
 */
export async function takeArtifact(
  shelf: ArtifactShelf,
  project: ProjectName,
  announced: AnnouncedArtifact,
  body: AsyncIterable<Uint8Array>,
): Promise<Received> {
  if (!canBeKept(announced.attempt)) throw refused("header_invalid");
  const before = await seenBefore(shelf, project, announced);
  if (before.refusal !== null) throw refused(before.refusal);
  await using arrived = await arrival(upTo(body, announced.sizeBytes), shelf.incoming);
  if (arrived.digest !== announced.named || arrived.sizeBytes !== announced.sizeBytes)
    throw refused("digest_mismatch");
  const bundle = announced.kind === "evidence" ? await ownBundle(arrived, announced) : null;
  return await refer(shelf, project, { announced, bundle, arrived, before });
}

/** The bytes that were announced and one piece more at most: then they are others. */
async function* upTo(
  body: AsyncIterable<Uint8Array>,
  sizeBytes: number,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    yield piece;
    if (size > sizeBytes) return;
  }
}

/** The digest of a bundle, which must be intact and of the attempt that its headers say. */
async function ownBundle(arrived: Arrival, { attempt }: AnnouncedArtifact): Promise<Digest> {
  const bundle = await arrived.bundle();
  try {
    const answer = await verifyBundle(bundle, { hasher: nodeHasher });
    if (!answer.ok || mismatchOf(attempt, answer.statement.predicate.run) !== null)
      throw refused("origin_mismatch");
    return answer.digest;
  } finally {
    await bundle[Symbol.asyncDispose]?.();
  }
}

/** An artifact that was looked at and may be kept. */
interface SeenArtifact {
  readonly announced: AnnouncedArtifact;
  /** What a bundle among them is known by; null for other kinds. */
  readonly bundle: Digest | null;
  readonly arrived: Arrival;
  readonly before: SeenBefore;
}

interface SeenBefore {
  readonly refusal: DeliveryError | null;
  readonly isKept: boolean;
  readonly removals: number;
}

const SEEN_BEFORE = `
SELECT latest.attempt_number, latest.scenario_attempt,
       (SELECT kind FROM artifacts WHERE job = $1 AND digest = $3) AS kind,
       (SELECT used_bytes FROM jobs WHERE job = $1) AS used_bytes,
       blob.digest IS NOT NULL AND blob.removed_at IS NULL AS is_kept,
       coalesce(blob.removals, 0) AS removals
  FROM (SELECT 1) AS one
  LEFT JOIN runs AS latest ON latest.scenario = $2 AND latest.is_latest
  LEFT JOIN blobs AS blob ON blob.digest = $3`;

async function seenBefore(
  { statements, policy }: ArtifactShelf,
  project: ProjectName,
  announced: AnnouncedArtifact,
): Promise<SeenBefore> {
  const { job, scenario } = attemptNames(project, announced.attempt);
  const row = onlyRow(await statements.query(SEEN_BEFORE, [job, scenario, announced.named]));
  return {
    refusal: refusalBefore(row, announced, policy),
    isKept: row["is_kept"] === true,
    removals: numberIn(row, "removals"),
  };
}

function refusalBefore(
  row: DatabaseRow,
  { attempt, kind, sizeBytes }: AnnouncedArtifact,
  policy: ArtifactPolicy,
): DeliveryError | null {
  if (row["attempt_number"] !== null) {
    const attemptNumber = numberIn(row, "attempt_number");
    const scenarioAttempt = numberIn(row, "scenario_attempt");
    const latest = { ...attempt, attemptNumber, scenarioAttempt };
    if (compareAttempts(attempt, latest) < 0) return "attempt_superseded";
  }
  if (row["kind"] !== null) return row["kind"] === kind ? null : "artifact_conflict";
  return admissionFault({ kind, sizeBytes }, usedBytesIn(row), policy);
}

function usedBytesIn(row: DatabaseRow): number {
  return row["used_bytes"] === null ? 0 : numberIn(row, "used_bytes");
}

/** Keeps the bytes, then refers to them; again where they were removed between the two. */
async function refer(
  shelf: ArtifactShelf,
  project: ProjectName,
  artifact: SeenArtifact,
): Promise<Received> {
  const { announced, arrived } = artifact;
  let seen = artifact.before;
  for (let puts = 0; puts < MAX_PUTS; puts += 1) {
    if (!seen.isKept) await keep(shelf.blobs, announced.named, arrived);
    const word = await decide(shelf, project, artifact, seen);
    switch (word) {
      case "stored":
      case "duplicate":
        return { taken: word, digest: announced.named };
      case "blob_removed":
        seen = { ...(await seenBefore(shelf, project, announced)), isKept: false };
        break;
      case "over_budget":
        throw refused((await seenBefore(shelf, project, announced)).refusal ?? "budget_spent");
      default:
        throw refused(deliveryError(word));
    }
  }
  throw new Refusal("unavailable", "the bytes were removed again and again", {
    retryAfterSeconds: 5,
  });
}

async function keep(blobs: BlobStore, digest: Digest, arrived: Arrival): Promise<void> {
  const { sizeBytes } = arrived;
  const outcome = await blobs.put({ digest, sizeBytes }, arrived.content);
  if (outcome !== "kept")
    throw new UpheldError("storage_unavailable", `a body changed while it was kept: ${outcome}`);
}

async function decide(
  { statements, policy }: ArtifactShelf,
  project: ProjectName,
  { announced: { attempt, named, kind, sizeBytes }, bundle }: SeenArtifact,
  { isKept, removals }: SeenBefore,
): Promise<string> {
  const names = attemptNames(project, attempt);
  const isReserved = isArtifactKind(kind) && ARTIFACT_KINDS[kind].reserved;
  const values: readonly DatabaseValue[] = [
    project,
    names.job,
    attempt.jobId,
    names.scenario,
    names.attempt,
    attempt.attemptNumber,
    attempt.scenarioAttempt,
    named,
    kind,
    sizeBytes,
    bundle,
    isReserved ? policy.hardCapBytes : Math.min(policy.budgetBytes, policy.hardCapBytes),
    removals,
    !isKept,
  ];
  const rows = await statements.query(
    "SELECT take_artifact($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) AS word",
    values,
  );
  return textIn(onlyRow(rows), "word");
}

/** A word of the database, which is one of ours. */
export function deliveryError(word: string): DeliveryError {
  if (Object.hasOwn(DELIVERY_ERRORS, word)) return word as DeliveryError; // a key of the table
  throw new UpheldError("internal", "the database decided something that is not known");
}

export function refused(code: DeliveryError): Refusal {
  return new Refusal(code, DELIVERY_ERRORS[code].meaning);
}
