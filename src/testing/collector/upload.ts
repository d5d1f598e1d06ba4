import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Digest } from "../../core/ids.ts";
import type { AnnouncedArtifact } from "../../evidence/announced-artifact.ts";
import { byteSource } from "../../evidence/reader.ts";
import type { EvidenceOrigin } from "../../evidence/scenario-attempt.ts";
import { tarReader } from "../../evidence/tar-reader.ts";
import { verifyBundle } from "../../evidence/verify.ts";
import { nodeHasher } from "../../store/hasher.ts";
import type { ArrivedArtifact } from "./ledger.ts";

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
