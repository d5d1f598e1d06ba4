import { array, assert, asyncProperty } from "fast-check";
import { describe, expect, test } from "vitest";
import { Condition } from "../../../src/core/condition.ts";
import { digestOf } from "../../../src/core/fingerprint.ts";
import { parseObservation } from "../../../src/core/observation.ts";
import type { Bundle } from "../../../src/evidence/bundle.ts";
import { contextOfObservations, replay } from "../../../src/scorers/replay.ts";
import { sealInputOf } from "../../../src/evidence/record/evidence-file.ts";
import { readRunRecord } from "../../../src/evidence/record/read-run.ts";
import { nodeHasher } from "../../../src/store/hasher.ts";
import type { RunRecord } from "../../../src/evidence/record/run-record.ts";
import {
  called,
  PIN_BEFORE,
  PIN_NOW,
  pinDelta,
  PRODUCER,
  readRecord,
  recordOf,
  sealRecord,
  sealWithout,
  SECRET,
  talk,
} from "../../support/sealed-run.ts";
import { anyCondition, anyEntries, anyGap } from "../../worlds/any-world.ts";
import { nextId, observe } from "../../worlds/observations.ts";

const soak = process.env["UPHELD_SOAK"] === "1";

const isContents = (title: string): boolean => title.startsWith("contents/");

/** Every byte of a bundle, as text. */
const textOf = ({ files }: Bundle): string =>
  Buffer.concat(files.map(({ bytes }) => bytes)).toString("latin1");

const digests = ({ statement }: Bundle): readonly string[] =>
  statement.predicate.parts.flatMap((part) => ("digest" in part ? [part.digest] : []));

function readWithout(title: string): Promise<RunRecord> {
  return sealWithout(recordOf(), (each) => each === title).then(readRecord);
}

function decide(condition: unknown, record: RunRecord) {
  const all = [...record.deltas, ...record.observations];
  const context = { ...contextOfObservations(all), roots: record.roots };
  return replay(Condition.parse(condition), all, context).verdict;
}

test("a run comes back from its bundle as it was", async () => {
  const record = recordOf();
  expect(await readRecord(await sealRecord(record))).toEqual(record);
});

test("the same run and secret give the same bytes, and another secret gives no part alike", async () => {
  const record = recordOf();
  const [one, same, other] = [
    await sealRecord(record),
    await sealRecord(record),
    await sealRecord(record, new Uint8Array(32).fill(8)),
  ];
  expect(same).toEqual(one);
  expect(digests(other).filter((digest) => digests(one).includes(digest))).toEqual([]);
});

test("the statement tells of coverage, attribution and parts without a host path", () => {
  const input = sealInputOf(recordOf(), PRODUCER, SECRET);
  expect(input.coverage?.[3]).toMatchObject({ acquisition: "partial", gapsTotal: 1 });
  expect(input.attribution).toEqual([
    expect.objectContaining({ root: "workspace", method: "baseline" }),
  ]);
  expect(input.parts.map(({ title }) => title)).toEqual([
    "run.json",
    "transcript.jsonl",
    "tool-calls.jsonl",
    "observations/conversation.json",
    "observations/tool-calls.json",
    "observations/workspace.json",
    "contents/workspace.json",
    "scores.json",
  ]);
});

test("every part starts with or holds a salt", async () => {
  const { files, statement } = await sealRecord(recordOf());
  for (const part of statement.predicate.parts) {
    const name = "digest" in part ? `blobs/sha256/${part.digest.slice(7)}` : "";
    const text = Buffer.from(files.find((file) => file.name === name)?.bytes ?? []).toString();
    expect(text, part.title).toMatch(/"salt":"[0-9a-f]{32}"/);
  }
});

test("a secret that could be guessed is refused", async () => {
  await expect(sealRecord(recordOf(), new Uint8Array(8))).rejects.toMatchObject({
    code: "argument_invalid",
  });
});

describe("a bundle whose contents are withheld", () => {
  const pins = [PIN_BEFORE, PIN_NOW];

  test("tells a pin neither in clear, nor by any digest that could be guessed", async () => {
    const whole = textOf(await sealRecord(recordOf()));
    const less = textOf(await sealWithout(recordOf(), isContents));
    for (const pin of pins) {
      const hex = digestOf(new TextEncoder().encode(pin)).slice(7);
      // The control: the whole bundle does tell.
      for (const trace of [`"${pin}"`, hex]) {
        expect(whole).toContain(trace);
        expect(less).not.toContain(trace);
      }
    }
  });

  test("tells rows without a key and the world before by digests that only the secret gives", async () => {
    const world = `sha256:${"ab".repeat(32)}`;
    const uri = `shop:/notes?row=${"cd".repeat(16)}`;
    const state = {
      type: "row",
      sizeBytes: 1,
      row: { columns: [{ name: "pin", type: "text", value: "1" }], key: [] },
      content: { encoding: "utf-8", value: "1", truncated: true },
    };
    const scope = { kind: "surface", uri: "shop:/**", surface: "sql", match: "glob" };
    const rows = parseObservation({
      ...observe(),
      id: nextId(),
      scorable: scope,
      payload: {
        ...pinDelta.payload,
        scope,
        attribution: { method: "baseline", baseline: world },
        entries: [{ uri, partOf: "shop:/notes", change: "created", now: state }],
      },
    });
    const text = textOf(await sealRecord(recordOf({ deltas: [rows] })));
    expect(text).not.toContain("ab".repeat(16));
    expect(text).not.toContain("cd".repeat(16));
    expect(text).toMatch(/shop:\/notes\?row=[0-9a-f]{32}/);
    const read = await readRecord(await sealRecord(recordOf({ deltas: [rows] })));
    const { payload } = read.deltas[0] ?? talk;
    expect(payload.kind === "surface" && payload.entries[0]?.now).toEqual(state);
  });

  const table = [
    {
      claim: "what was written is not known",
      condition: {
        kind: "content_written",
        uri: "workspace:/pin",
        matcher: { kind: "contains", value: PIN_NOW },
      },
      whole: "upheld",
      less: "undetermined",
    },
    {
      claim: "that it holds a digest is not known",
      condition: {
        kind: "content_written",
        uri: "workspace:/pin",
        matcher: { kind: "digest", sha256: digestOf(new TextEncoder().encode("other")) },
      },
      whole: "refuted",
      less: "undetermined",
    },
    {
      claim: "that something was written is",
      condition: { kind: "content_written", uri: "workspace:/a" },
      whole: "upheld",
      less: "upheld",
    },
    {
      claim: "which locations were changed is",
      condition: { kind: "changed_only", allow: ["workspace:/pin", "workspace:/a"] },
      whole: "upheld",
      less: "upheld",
    },
  ];

  test.each(table)("$claim", async ({ condition, whole, less }) => {
    expect(decide(condition, await readRecord(await sealRecord(recordOf()))).value).toBe(whole);
    const verdict = decide(condition, await readRecord(await sealWithout(recordOf(), isContents)));
    expect(verdict.value).toBe(less);
    if (verdict.value === "undetermined")
      expect(verdict.gaps.map(({ code }) => code)).toContain("part_withheld");
  });

  test("never decides more than the whole one, which decides what was decided live", async () => {
    await assert(
      asyncProperty(
        anyCondition,
        anyEntries,
        array(anyGap, { maxLength: 1 }),
        async (condition, entries, gaps) => {
          const deltas = [observe({ extent: "delta", entries, gaps })];
          const record = recordOf({ deltas, observations: [] });
          const live = decide(condition, record);
          expect(decide(condition, await readRecord(await sealRecord(record)))).toEqual(live);
          const less = decide(condition, await readRecord(await sealWithout(record, isContents)));
          expect([live.value, "undetermined"]).toContain(less.value);
        },
      ),
      { numRuns: soak ? 5_000 : 60 },
    );
  });
});

describe("a bundle that lacks another part", () => {
  test("the transcript: what was said is not known", async () => {
    const record = await readWithout("transcript.jsonl");
    const found = record.observations.find(({ id }) => id === talk.id);
    expect(found?.acquisition).toBe("partial");
    const matcher = { kind: "contains", value: "done" };
    expect(decide({ kind: "said", matcher }, recordOf()).value).toBe("upheld");
    expect(decide({ kind: "said", matcher }, record)).toMatchObject({
      value: "undetermined",
      gaps: [{ code: "part_withheld", detail: "transcript.jsonl", count: 2 }],
    });
  });

  test("the tool calls: which there were is not known", async () => {
    const record = await readWithout("tool-calls.jsonl");
    expect(record.observations.find(({ id }) => id === called.id)?.acquisition).toBe("partial");
    const condition = { kind: "tools_called", requirements: [{ name: "send_mail", count: 0 }] };
    expect(decide(condition, recordOf()).value).toBe("upheld");
    expect(decide(condition, record)).toMatchObject({ value: "undetermined" });
  });

  test("the scores: the evidence can be decided again", async () => {
    expect((await readWithout("scores.json")).scores).toEqual([]);
  });

  test("the run itself: nothing can be read, and it says so", async () => {
    await expect(readWithout("run.json")).rejects.toMatchObject({
      code: "bundle_invalid",
      message: "run.json is withheld: without it nothing can be read",
    });
  });
});

test("a part that was changed between verifying and reading is not read", async () => {
  const bundle = await sealRecord(recordOf());
  const files = bundle.files.map(({ name, bytes }) => ({ name, sizeBytes: bytes.length }));
  const reader = {
    list: () => Promise.resolve({ ok: true as const, files }),
    read: ({ name }: { readonly name: string }) => {
      const bytes = bundle.files.find((file) => file.name === name)?.bytes ?? new Uint8Array();
      return Promise.resolve(Uint8Array.from(bytes, (byte, at) => (at === 9 ? byte ^ 1 : byte)));
    },
  };
  await expect(
    readRunRecord(reader, bundle.statement, { hasher: nodeHasher }),
  ).rejects.toMatchObject({
    code: "bundle_invalid",
    message: "run.json was changed after it was verified",
  });
});
