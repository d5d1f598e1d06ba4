import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { AttemptId, Digest } from "../../core/ids.ts";
import { ARTIFACT_HEADERS } from "../../evidence/delivery-answers.ts";
import { byteSource } from "../../evidence/reader.ts";
import { ScenarioAttempt, type EvidenceOrigin } from "../../evidence/scenario-attempt.ts";
import { tarReader } from "../../evidence/tar-reader.ts";
import { verifyBundle } from "../../evidence/verify.ts";
import { nodeHasher } from "../../store/hasher.ts";
import type { ArrivedArtifact } from "./ledger.ts";

/** What the headers of an upload say. */
export type AnnouncedArtifact = Omit<ArrivedArtifact, "actual" | "origin">;

/** Reads the headers of an upload; null where one is missing or not of its form. */
export function announcedArtifact(request: IncomingMessage, hex: string): AnnouncedArtifact | null {
  const texts = Object.fromEntries(
    Object.entries(ARTIFACT_HEADERS).map(([field, header]) => [
      field,
      decoded(request.headers[header]),
    ]),
  );
  const attempt = ScenarioAttempt.safeParse({
    ...texts,
    attemptId: AttemptId.safeParse(texts["attemptId"]).data,
    attemptNumber: Number(texts["attemptNumber"]),
    scenarioAttempt: Number(texts["scenarioAttempt"]),
  });
  const named = Digest.safeParse(`sha256:${hex}`);
  const sizeBytes = Number(texts["sizeBytes"] ?? Number.NaN);
  const { kind } = texts;
  if (!attempt.success || !named.success || kind === undefined) return null;
  if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0) return null;
  return { attempt: attempt.data, named: named.data, kind, sizeBytes };
}

function decoded(header: string | string[] | undefined): string | undefined {
  try {
    return typeof header === "string" ? decodeURIComponent(header) : undefined;
  } catch {
    return undefined;
  }
}

/** Reads an upload to its end. Only evidence is held in memory, since it is looked into. */
export async function arrivedArtifact(
  request: IncomingMessage,
  announced: AnnouncedArtifact,
): Promise<ArrivedArtifact> {
  const hash = createHash("sha256");
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Uint8Array>) {
    hash.update(piece);
    size += piece.length;
    if (announced.kind === "evidence") pieces.push(piece);
  }
  const actual = Digest.parse(`sha256:${hash.digest("hex")}`);
  const isWhole = size === announced.sizeBytes && actual === announced.named;
  const origin =
    isWhole && announced.kind === "evidence" ? await originOf(Buffer.concat(pieces)) : undefined;
  return { ...announced, sizeBytes: size, actual, origin };
}

/** Which attempt a sealed bundle is of; null where it is not intact. */
async function originOf(bytes: Uint8Array): Promise<EvidenceOrigin | null> {
  const answer = await verifyBundle(tarReader(byteSource(bytes)), { hasher: nodeHasher });
  return answer.ok ? answer.statement.predicate.run : null;
}
