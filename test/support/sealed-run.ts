import { gap } from "../../src/core/gap.ts";
import { ConversationId } from "../../src/core/ids.ts";
import { parseObservation, type Observation } from "../../src/core/observation.ts";
import type { Bundle } from "../../src/evidence/bundle.ts";
import { byteSource } from "../../src/evidence/reader.ts";
import { sealBundle } from "../../src/evidence/seal.ts";
import { tarPieces } from "../../src/evidence/tar.ts";
import { tarReader } from "../../src/evidence/tar-reader.ts";
import { verifyBundle } from "../../src/evidence/verify.ts";
import { sealInputOf } from "../../src/evidence/record/evidence-file.ts";
import { nodeHasher } from "../../src/store/hasher.ts";
import { readRunRecord } from "../../src/evidence/record/read-run.ts";
import { RecordedRun, type RunRecord } from "../../src/evidence/record/run-record.ts";
import { created, file, modified, nextId, NOW, observe } from "../worlds/observations.ts";

export const SECRET = new Uint8Array(32).fill(7);
export const PRODUCER = { name: "upheld", version: "0.0.0" };

/** What a low-entropy file held before the run and after it. */
export const PIN_BEFORE = "1234";
export const PIN_NOW = "5678";

const ATTEMPT = "20261130-184815-abcdef.1";

export const run = RecordedRun.parse({
  runId: "20261130-184815-abcdef",
  attemptId: ATTEMPT,
  window: [NOW, NOW],
  labels: { team: "a" },
});

const conversationId = ConversationId.parse("talk");

export const talk: Observation = parseObservation({
  id: nextId(),
  source: { name: "by-hand", version: "1" },
  acquisition: "complete",
  observedAt: NOW,
  scorable: { kind: "conversation", conversationId },
  payload: {
    kind: "conversation",
    schemaVersion: 1,
    conversation: {
      id: conversationId,
      owner: ATTEMPT,
      messages: [
        { id: "m0", conversationId, sequence: 0, role: "user", text: "Change the pin", at: NOW },
        { id: "m1", conversationId, sequence: 1, role: "assistant", text: "done", at: NOW },
      ],
    },
    gaps: [],
  },
});

const calls = { kind: "tool_calls", uri: "calls:/", attemptId: ATTEMPT };

export const called: Observation = parseObservation({
  id: nextId(),
  source: { name: "by-hand", version: "1" },
  acquisition: "complete",
  observedAt: NOW,
  scorable: calls,
  payload: {
    kind: "tools",
    schemaVersion: 1,
    scope: calls,
    recorders: [
      { name: "calls-file", kind: "calls-file", complete: true, gaps: [], shown: 1, total: 1 },
    ],
    calls: [
      {
        uri: "calls:/1",
        sightings: [
          {
            recorder: "calls-file",
            provenance: "reported",
            sequence: 1,
            name: "set_pin",
            outcome: "ok",
          },
        ],
      },
    ],
    gaps: [],
  },
});

export const pinDelta: Observation = observe({
  extent: "delta",
  entries: [
    created("workspace:/a", file("key")),
    modified("workspace:/pin", file(PIN_BEFORE), file(PIN_NOW)),
  ],
});

export function recordOf(more: Partial<RunRecord> = {}): RunRecord {
  const gaps = [gap("listing_failed", "workspace:/private", { detail: "EACCES" })];
  return {
    run,
    roots: [{ name: "workspace", surface: "file" }],
    deltas: [pinDelta],
    observations: [talk, called, observe({ uri: "workspace:/data/**", gaps })],
    scores: [],
    ...more,
  };
}

export function sealRecord(record: RunRecord, secret: Uint8Array = SECRET): Promise<Bundle> {
  return sealBundle(sealInputOf(record, PRODUCER, secret), { hasher: nodeHasher, secret });
}

/** The bundle without the bytes of some parts. */
export async function sealWithout(
  record: RunRecord,
  withheld: (title: string) => boolean,
): Promise<Bundle> {
  const { statement } = await sealRecord(record);
  const input = sealInputOf(record, PRODUCER, SECRET);
  const parts = input.parts.map((part) => {
    const sealed = statement.predicate.parts.find(({ title }) => title === part.title);
    if (sealed === undefined || !("digest" in sealed) || !withheld(part.title)) return part;
    const { title, mediaType, digest, sizeBytes } = sealed;
    return { state: "withheld" as const, title, mediaType, digest, sizeBytes };
  });
  return sealBundle({ ...input, parts }, { hasher: nodeHasher, secret: SECRET });
}

/** The record of an intact bundle. */
export async function readRecord({ files }: Bundle): Promise<RunRecord> {
  const reader = tarReader(byteSource(Buffer.concat([...tarPieces(files)])));
  const answer = await verifyBundle(reader, { hasher: nodeHasher });
  if (!answer.ok) throw new Error(answer.reason);
  return readRunRecord(reader, answer.statement, { hasher: nodeHasher });
}
