import { gap } from "../../src/core/gap.ts";
import { digestOf } from "../../src/core/fingerprint.ts";
import { Digest, RunId } from "../../src/core/ids.ts";
import { Timestamp } from "../../src/core/timestamp.ts";
import type { Bundle, BundleFile } from "../../src/evidence/bundle.ts";
import { plainHasher as hasher } from "../../src/evidence/hasher.ts";
import { blobName, compareNames, layoutOf, manifestBytes } from "../../src/evidence/layout.ts";
import { RUN_REFERENCE } from "../../src/evidence/reference.ts";
import { byteSource } from "../../src/evidence/reader.ts";
import { sealBundle } from "../../src/evidence/seal.ts";
import type { SealInput } from "../../src/evidence/seal.ts";
import { storedParts, subjectsOf } from "../../src/evidence/statement.ts";
import { tarPieces } from "../../src/evidence/tar.ts";
import { tarReader } from "../../src/evidence/tar-reader.ts";
import { verifyBundle } from "../../src/evidence/verify.ts";
import type { Verification } from "../../src/evidence/verify.ts";

const run = {
  runId: RunId.parse("run-1"),
  startedAt: Timestamp.parse("2026-11-30T10:00:00.000000000Z"),
  endedAt: Timestamp.parse("2026-11-30T10:00:07.250000001Z"),
  producer: { name: "upheld", version: "0.1.0" },
};

/** The smallest input worth sealing: one part. */
export const smallInput: SealInput = {
  run,
  parts: [
    {
      state: "present",
      title: "note.txt",
      mediaType: "text/plain",
      content: { bytes: new TextEncoder().encode("done\n") },
    },
  ],
};

/** One part of each state, and every optional field of the statement. */
export const fullInput: SealInput = {
  run: { ...run, jobId: "job-7", scenarioKey: "refund/late", scenarioAttempt: 2 },
  scope: { labels: { team: "billing" } },
  limits: { maxFiles: 1000, maxReadBytes: 16_000_000 },
  attribution: [
    { root: "workspace", method: "baseline", baseline: Digest.parse(`sha256:${"ab".repeat(32)}`) },
    { root: "logs", method: "window", reason: "no baseline was taken" },
  ],
  coverage: [
    {
      source: "local-files",
      acquisition: "partial",
      gaps: [gap("listing_failed", "workspace:/private", { detail: "EACCES" })],
      gapsTotal: 3,
    },
  ],
  parts: [
    {
      state: "present",
      title: "transcript.jsonl",
      mediaType: "application/x-ndjson",
      content: {
        lines: [
          { role: "user", text: "Write out/a.txt" },
          { role: "agent", text: "Done ✓" },
        ],
      },
      counts: { shown: 2, total: 2 },
    },
    {
      state: "redacted",
      title: "observations/workspace.json",
      mediaType: "application/json",
      content: { json: { entries: [{ uri: "workspace:/out/a.txt", sizeBytes: 5 }] } },
      counts: { shown: 1, total: 9 },
      redactions: [{ rule: "aws-key", count: 2 }],
    },
    {
      state: "withheld",
      title: "content/a.txt",
      mediaType: "text/plain",
      digest: Digest.parse(`sha256:${"cd".repeat(32)}`),
      sizeBytes: 5,
    },
    {
      state: "omitted",
      title: "rows/events.jsonl",
      mediaType: "application/x-ndjson",
      total: 6000,
      reason: "the byte budget was spent",
    },
    {
      state: "present",
      title: "copy-of-transcript.jsonl",
      mediaType: "application/x-ndjson",
      content: {
        bytes: new TextEncoder().encode(
          '{"role":"user","text":"Write out/a.txt"}\n{"role":"agent","text":"Done ✓"}\n',
        ),
      },
    },
  ],
};

export function seal(input: SealInput): Promise<Bundle> {
  return sealBundle(input, { hasher });
}

/** A tar file of these files, in the order given. */
export function tarOf(files: readonly BundleFile[]): Uint8Array {
  return Uint8Array.from(Buffer.concat([...tarPieces(files)]));
}

/** The files in the order in which a bundle has them. */
export function inOrder(files: readonly BundleFile[]): readonly BundleFile[] {
  return files.toSorted((left, right) => compareNames(left.name, right.name));
}

export function verifyTar(tar: Uint8Array, expectedDigest?: Digest): Promise<Verification> {
  const reader = tarReader(byteSource(tar));
  return verifyBundle(reader, {
    hasher,
    ...(expectedDigest === undefined ? {} : { expectedDigest }),
  });
}

/** The reason and the place, in a form that a table can hold. */
export function answerOf(verification: Verification): string {
  return verification.ok ? "intact" : `${verification.reason} at ${verification.at}`;
}

/** JSON that a test may bend as it likes. */
export type Json = any; // oxlint-disable-line typescript/no-explicit-any

/**
 * The files that a liar would write: the statement is changed as asked, and everything that follows from it is made to
 * fit. The subjects fit only when the change deletes them. `text` changes the statement's text at the very end.
 */
export async function forged(
  bundle: Bundle,
  change: (statement: Json) => void,
  text: (json: string) => string = (json) => json,
): Promise<readonly BundleFile[]> {
  const statement = structuredClone(bundle.statement) as Json;
  change(statement);
  statement.subject ??= subjectsOf(
    digestOf(manifestBytes(statement.predicate.parts)),
    statement.predicate.parts,
  );
  const bytes = new TextEncoder().encode(text(JSON.stringify(statement)));
  const blob = { digest: digestOf(bytes), bytes };
  const { parts } = statement.predicate;
  const own = { reference: RUN_REFERENCE, statement: blob, parts, signatures: [] };
  const { derived } = await layoutOf([own], new Set(), hasher);
  const partNames = new Set<string>(
    storedParts(bundle.statement.predicate.parts).map(({ digest }) => blobName(digest)),
  );
  const blobs = bundle.files.filter(({ name }) => partNames.has(name));
  const files = new Map([...blobs, ...derived].map((file) => [file.name, file]));
  return inOrder([...files.values()]);
}
