import { createHash } from "node:crypto";
import { closeSync, openSync, readSync } from "node:fs";
import { UpheldError } from "../core/errors.ts";
import { Digest } from "../core/ids.ts";
import type { Spool, SpoolAddition } from "../deliver/spool.ts";
import {
  admissionFault,
  DEFAULT_ARTIFACT_POLICY,
  type ArtifactLevel,
} from "../evidence/artifact-kinds.ts";
import { readRunRecord } from "../evidence/record/read-run.ts";
import { withoutArtifact } from "../evidence/receipt.ts";
import { ScenarioAttempt } from "../evidence/scenario-attempt.ts";
import { receiptOfReport } from "../report/run-receipt.ts";
import { reportOfRecord } from "../report/record-report.ts";
import { nodeHasher } from "../store/hasher.ts";
import { openBundle } from "../store/open-bundle.ts";
import { isSuite, requireIntact } from "./verified-bundle.ts";

const CHUNK_BYTES = 1024 * 1024;

/** What is kept of a bundle in order to be sent, and why its evidence is not sent, where it is not. */
export interface SpooledBundle {
  readonly withheld: string | null;
}

/**
 * Puts a sealed run into a spool: its receipt, and the bundle as evidence where the level lets it out. Throws
 * "bundle_invalid" where it is not intact, or does not say which scenario it is of.
 */
export async function spoolBundle(
  spool: Spool,
  path: string,
  { to, level }: { readonly to: string; readonly level: ArtifactLevel },
): Promise<SpooledBundle> {
  const evidence = fileDigest(path);
  const receipt = await receiptOfBundle(path, evidence.digest);
  const artifact = { kind: "evidence", ...evidence };
  const withheld = admissionFault(artifact, 0, { ...DEFAULT_ARTIFACT_POLICY, level });
  const addition: SpoolAddition =
    withheld === null
      ? { to, receipt, artifacts: [{ ...artifact, pieces: piecesOf(path) }] }
      : {
          to,
          receipt: withoutArtifact(receipt, { ...artifact, reason: withheld }),
          artifacts: [],
        };
  spool.add(addition);
  return { withheld };
}

async function receiptOfBundle(
  path: string,
  evidence: Digest,
): Promise<ReturnType<typeof receiptOfReport>> {
  await using bundle = await openBundle(path);
  const intact = await requireIntact(path, bundle, {});
  if (isSuite(intact))
    throw new UpheldError("bundle_invalid", `${path} is of a suite run: a receipt is of one run`);
  const { statement } = intact;
  const attempt = ScenarioAttempt.safeParse(statement.predicate.run);
  if (!attempt.success)
    throw new UpheldError(
      "bundle_invalid",
      `${path} does not say which scenario of which job it is of: upheld run --deliver seals that`,
    );
  const record = await readRunRecord(bundle, statement, { hasher: nodeHasher });
  const report = reportOfRecord(record);
  const { observations } = record;
  return receiptOfReport(report, { attempt: attempt.data, evidence, observations });
}

function fileDigest(path: string): { readonly digest: Digest; readonly sizeBytes: number } {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  for (const piece of piecesOf(path)) {
    hash.update(piece);
    sizeBytes += piece.length;
  }
  return { digest: Digest.parse(`sha256:${hash.digest("hex")}`), sizeBytes };
}

/** The bytes of a file, a chunk at a time. */
function* piecesOf(path: string): Generator<Uint8Array> {
  const file = openFile(path);
  try {
    for (;;) {
      const piece = new Uint8Array(CHUNK_BYTES);
      const read = readSync(file, piece);
      if (read === 0) return;
      yield piece.subarray(0, read);
    }
  } finally {
    closeSync(file);
  }
}

function openFile(path: string): number {
  try {
    return openSync(path, "r");
  } catch (cause) {
    throw new UpheldError("file_unreadable", `${path} cannot be read`, { cause });
  }
}
