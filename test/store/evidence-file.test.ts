import { expect, test } from "vitest";
import { gap } from "../../src/core/gap.ts";
import { Digest } from "../../src/core/ids.ts";
import { byteSource } from "../../src/evidence/reader.ts";
import { sealBundle } from "../../src/evidence/seal.ts";
import { tarPieces } from "../../src/evidence/tar.ts";
import { tarReader } from "../../src/evidence/tar-reader.ts";
import { verifyBundle } from "../../src/evidence/verify.ts";
import { readRunRecord, sealInputOf } from "../../src/store/evidence-file.ts";
import { nodeHasher } from "../../src/store/hasher.ts";
import { RecordedRun, type RunRecord } from "../../src/store/run-record.ts";
import { created, file, NOW, observe } from "../worlds/observations.ts";

const PRODUCER = { name: "upheld", version: "0.0.0" };

function recordOf(): RunRecord {
  const gaps = [gap("listing_failed", "workspace:/private", { detail: "EACCES" })];
  return {
    run: RecordedRun.parse({
      runId: "20261130-184815-abcdef",
      attemptId: "20261130-184815-abcdef.1",
      window: [NOW, NOW],
      labels: { team: "a" },
    }),
    roots: [{ name: "workspace", surface: "file" }],
    deltas: [observe({ extent: "delta", entries: [created("workspace:/a", file("key"))], gaps })],
    observations: [observe({ uri: "workspace:/data/**" })],
    scores: [],
  };
}

async function sealed(record: RunRecord): Promise<Uint8Array> {
  const bundle = await sealBundle(sealInputOf(record, PRODUCER), { hasher: nodeHasher });
  return Buffer.concat([...tarPieces(bundle.files)]);
}

test("a run comes back from its bundle as it was", async () => {
  const record = recordOf();
  const bytes = await sealed(record);
  const reader = tarReader(byteSource(bytes));
  const answer = await verifyBundle(reader, { hasher: nodeHasher });
  if (!answer.ok) throw new Error(answer.reason);
  expect(await readRunRecord(reader, answer.statement)).toEqual(record);
});

test("the same run is sealed to the same bytes", async () => {
  const record = recordOf();
  expect(await sealed(record)).toEqual(await sealed(record));
});

test("the statement tells of coverage, attribution and parts without a host path", () => {
  const input = sealInputOf(recordOf(), PRODUCER);
  expect(input.coverage?.[0]).toMatchObject({ acquisition: "partial", gapsTotal: 1 });
  expect(input.attribution).toEqual([
    expect.objectContaining({ root: "workspace", method: "baseline" }),
  ]);
  expect(input.parts.map(({ title }) => title)).toEqual([
    "run.json",
    "observations/workspace.json",
    "scores.json",
  ]);
});

test("a bundle that lacks a part says which", async () => {
  const record = recordOf();
  const input = sealInputOf(record, PRODUCER);
  const parts = input.parts.map((part) =>
    part.title === "scores.json"
      ? {
          state: "withheld" as const,
          title: part.title,
          mediaType: part.mediaType,
          digest: Digest.parse(`sha256:${"0".repeat(64)}`),
          sizeBytes: 1,
        }
      : part,
  );
  const bundle = await sealBundle({ ...input, parts }, { hasher: nodeHasher });
  const reader = tarReader(byteSource(Buffer.concat([...tarPieces(bundle.files)])));
  await expect(readRunRecord(reader, bundle.statement)).rejects.toMatchObject({
    code: "bundle_invalid",
    message: "the bundle holds no part scores.json",
  });
});
