import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  Condition,
  contextOfObservations,
  Expectation,
  parseObservation,
  replay,
  scoreLive,
  ScoreId,
  timestampOf,
  type ScoreStamp,
} from "upheld";
import { sourceContract } from "upheld/testing";
import { MemoryBucket } from "../../examples/memory-source/bucket.ts";
import { MemorySource } from "../../examples/memory-source/source.ts";
import { memoryWorld } from "../../examples/memory-source/world.ts";

describe("a source of objects in memory keeps the contract", () => {
  test.for(sourceContract({ make: memoryWorld }).map((check) => [check.name, check] as const))(
    "%s",
    async ([, { run, skip }], context) => {
      context.skip(skip !== undefined, skip);
      await run();
    },
  );
});

const stamp: ScoreStamp = {
  newId: () => ScoreId.parse(randomUUID()),
  now: () => timestampOf(BigInt(Date.now()) * 1_000_000n),
};

const rows = [
  [
    "upheld",
    {
      kind: "content_written",
      uri: "store:/out/**",
      match: "glob",
      matcher: { kind: "contains", value: "needle" },
    },
  ],
  [
    "refuted",
    {
      kind: "content_written",
      uri: "store:/out/**",
      match: "glob",
      matcher: { kind: "contains", value: "none" },
    },
  ],
  [
    "refuted",
    {
      kind: "content_written",
      uri: "store:/planted.txt",
      matcher: { kind: "contains", value: "needle" },
    },
  ],
  ["upheld", { kind: "content_removed", uri: "store:/removed.txt" }],
  ["refuted", { kind: "content_removed", uri: "store:/planted.txt" }],
  ["upheld", { kind: "changed_only", allow: ["store:/out/**", "store:/removed.txt"] }],
  ["refuted", { kind: "changed_only", allow: ["store:/out/**"] }],
  [
    "upheld",
    {
      kind: "all",
      of: [
        { kind: "content_removed", uri: "store:/removed.txt" },
        { kind: "not", of: { kind: "content_removed", uri: "store:/planted.txt" } },
      ],
    },
  ],
] as const;

describe("the scorers decide over it without knowing what it is", () => {
  const bucket = new MemoryBucket();
  const source = new MemorySource("store", bucket);

  test.each(rows.map(([want, condition]) => [condition.kind, want, condition] as const))(
    "%s: %s",
    async (_kind, want, input) => {
      const condition = Condition.parse(input);
      bucket.put("planted.txt", "needle");
      bucket.put("removed.txt", "old");
      const baseline = await source.baseline();
      bucket.put("out/a.txt", "a needle");
      bucket.delete("removed.txt");
      const { decisions, observations } = await scoreLive(
        Expectation.parse({ schemaVersion: 1, conditions: [condition] }),
        { sources: [{ root: "store", surface: "bucket", source, baseline }] },
        stamp,
      );
      bucket.delete("out/a.txt");
      expect(decisions.map(({ verdict }) => verdict.value)).toEqual([want]);
      // And the same again from what was stored, without the source.
      const stored = observations.map((each) => parseObservation(JSON.parse(JSON.stringify(each))));
      const again = replay(condition, stored, contextOfObservations(stored));
      expect(again.verdict).toEqual(decisions[0]?.verdict);
    },
  );
});
