import { array, assert, constantFrom, property, record, uniqueArray } from "fast-check";
import { describe, expect, test } from "vitest";
import { Condition, RowsChanged } from "../../src/core/condition.ts";
import { SurfaceEntry } from "../../src/core/entry.ts";
import { maskOf, masksIn } from "../../src/core/mask.ts";
import { parseObservation, type Observation } from "../../src/core/observation.ts";
import { redactObservation } from "../../src/evidence/redact-observation.ts";
import { redactPlace } from "../../src/evidence/redact-place.ts";
import type { Redactor } from "../../src/evidence/redactor.ts";
import { formatWords } from "../../src/run/format-words.ts";
import { contextOfObservations, replay } from "../../src/scorers/replay.ts";
import { rowEntry, rowState } from "../../src/sources/sql/row-entry.ts";
import { anyCondition, anyEntries, anyMethod } from "../worlds/any-world.ts";
import { anyRecorders, anyToolsCalled, observeCalls } from "../worlds/calls.ts";
import { file, observe } from "../worlds/observations.ts";

const runs = process.env["UPHELD_SOAK"] === "1" ? 100_000 : 500;

const WORDS = formatWords();
const isOfFormat = (text: string): boolean =>
  WORDS.has(text) ||
  /^(?:sha256:[0-9a-f]{64}|[0-9a-f-]{36}|\d{4}-\d\d-\d\dT.*Z|calls:\/.*|attempt-1)$/.test(text);

/** Masks one text wherever it stands, however short it is, but for what the format itself is made of. */
function masking(secret: string): Redactor {
  const mask = (text: string): string =>
    isOfFormat(text) ? text : text.replaceAll(secret, maskOf("law", "0123456789ab"));
  return {
    mask,
    maskHead: mask,
    maskWhole: () => maskOf("law", "0123456789ab"),
    study: () => Promise.resolve(),
    made: new Map(),
  };
}

function redacted(observation: Observation, secret: string): Observation {
  const redactor = masking(secret);
  const place = (uri: string): string => redactPlace(uri, redactor);
  // As a reader of the bundle does.
  return parseObservation(redactObservation(observation, { redactor, place, needles: new Set() }));
}

type Value = "upheld" | "refuted" | "undetermined";

function decide(condition: Condition, observation: Observation): Value {
  return replay(condition, [observation], contextOfObservations([observation])).verdict.value;
}

const seen = new Set<string>();

function expectWeaker(condition: Condition, observation: Observation, secret: string): void {
  const live = decide(condition, observation);
  const replayed = decide(condition, redacted(observation, secret));
  seen.add(`${condition.kind} ${live} ${replayed}`);
  expect([live, "undetermined"]).toContain(replayed);
}

test("what holds no secret stays the very same", () => {
  assert(
    property(anyEntries, anyMethod, (entries, method) => {
      const world = { extent: "delta", entries, method } as Parameters<typeof observe>[0];
      const observation = observe(world);
      const redactor = masking("\u2603 nowhere");
      const place = (uri: string): string => redactPlace(uri, redactor);
      const how = { redactor, place, needles: new Set<never>() };
      const told = redactObservation(observation, how);
      expect(told).toEqual(observation);
      const both = [told, observation].map(({ payload }) =>
        payload.kind === "surface" ? payload.entries : [],
      );
      for (const [at, entry] of (both[0] ?? []).entries()) expect(entry).toBe(both[1]?.[at]);
      expect(both[0]).toHaveLength(
        observation.payload.kind === "surface" ? (both[1]?.length ?? 0) : 0,
      );
    }),
    { numRuns: Math.min(runs, 2_000) },
  );
});

describe("a replay without the secrets is never stronger than the live verdict", () => {
  test("of contents and names of files", () => {
    assert(
      property(
        anyCondition,
        anyEntries,
        anyMethod,
        constantFrom("key", "k", "y", "none", "ключ", "a", "b.txt", "sub", "out", "\r", "{"),
        (condition, entries, method, secret) => {
          const world = { extent: "delta", entries, method } as Parameters<typeof observe>[0];
          expectWeaker(condition, observe(world), secret);
        },
      ),
      { numRuns: runs },
    );
  });

  test("of tool calls", () => {
    assert(
      property(
        anyToolsCalled,
        anyRecorders,
        constantFrom("a", "x", "1", "y", "2"),
        (condition, recorders, secret) => {
          expectWeaker(condition, observeCalls(recorders), secret);
        },
      ),
      { numRuns: runs },
    );
  });

  test("of rows", () => {
    const cell = constantFrom("key", "none", "1", null);
    const anyRows = uniqueArray(
      record({
        id: constantFrom("1", "2", "key", "a/b"),
        change: constantFrom("created", "modified", "deleted"),
        was: cell,
        now: cell,
      }),
      { maxLength: 3, selector: ({ id }) => id },
    );
    const wanted = constantFrom({ note: "key" }, { note: "none" }, { id: "key" }, { note: null });
    const question = record({
      where: constantFrom(undefined, { id: "1" }, { id: "key" }),
      after: array(wanted, { maxLength: 1 }),
      counts: constantFrom({}, { count: 0 }, { count: 1 }, { atMost: 1 }, { atLeast: 2 }),
    });
    assert(
      property(anyRows, question, constantFrom("key", "none", "b"), (rows, asked, secret) => {
        const shape = {
          uri: "shop:/public/notes",
          key: ["id"],
          columns: [
            { name: "id", type: "text" },
            { name: "note", type: "text" },
          ],
        };
        const entries = rows.map(({ id, change, was, now }) => {
          const before = change === "created" ? {} : { before: rowState(shape, [id, was]) };
          const after = change === "deleted" ? {} : { now: rowState(shape, [id, now]) };
          const told = { change, ...before, ...after } as Parameters<typeof rowEntry>[2];
          return SurfaceEntry.parse(rowEntry(shape, [id, null], told));
        });
        const world = { uri: "shop:/**", surface: "sql", extent: "delta", entries } as const;
        const condition = RowsChanged.parse({
          kind: "rows_changed",
          uri: shape.uri,
          ...(asked.where === undefined ? {} : { where: asked.where }),
          ...(asked.after[0] === undefined ? {} : { after: asked.after[0] }),
          ...asked.counts,
        });
        expectWeaker(condition, observe(world), secret);
      }),
      { numRuns: runs },
    );
  });

  test("the control: verdicts of both kinds were kept, and others given up", () => {
    for (const kind of ["tools_called", "rows_changed"])
      for (const how of [
        "upheld upheld",
        "refuted refuted",
        "upheld undetermined",
        "refuted undetermined",
      ])
        expect(seen).toContain(`${kind} ${how}`);
  });
});

test.each([
  ["out/a", "key", "none", "upheld", "upheld"],
  ["out/a", "gone", "none", "refuted", "refuted"],
  ["out/a", "key", "key", "upheld", "undetermined"],
  ["out/a", "gone", "key", "refuted", "undetermined"],
  ["out/*", "key", "out", "upheld", "undetermined"],
])(
  "that a key was written: %s holds %s, without %s: %s, later %s",
  (path, value, secret, live, later) => {
    const now = file("a key");
    const observation = observe({
      extent: "delta",
      entries: [SurfaceEntry.parse({ uri: "workspace:/out/a", change: "created", now })],
    });
    const uri = `workspace:/${path}`;
    const matcher = { kind: "contains", value };
    const condition = Condition.parse({ kind: "content_written", match: "glob", uri, matcher });
    expect(decide(condition, observation)).toBe(live);
    expect(decide(condition, redacted(observation, secret))).toBe(later);
  },
);

test("a mask is no content: it cannot be found, nor a name be matched by it", () => {
  const observation = observe({
    extent: "delta",
    entries: [
      SurfaceEntry.parse({
        uri: "workspace:/out/secret-name.txt",
        change: "created",
        now: {
          type: "file",
          sizeBytes: 20,
          content: { encoding: "utf-8", value: "is secret, or is not", truncated: true },
        },
      }),
    ],
  });
  const told = redacted(observation, "secret");
  expect(masksIn(JSON.stringify(told))).toHaveLength(2);
  const ask = (uri: string, matcher?: object): Value =>
    decide(
      Condition.parse({ kind: "content_written", uri, match: "glob", ...(matcher && { matcher }) }),
      told,
    );
  expect(ask("workspace:/**", { kind: "contains", value: "redacted" })).toBe("undetermined");
  expect(ask("workspace:/**", { kind: "contains", value: "or is not" })).toBe("upheld");
  expect(ask("workspace:/out/*redacted*")).toBe("undetermined");
  expect(ask("workspace:/out/secret*")).toBe("undetermined");
  // What was removed could have held a slash.
  expect(ask("workspace:/out/*.txt")).toBe("undetermined");
  expect(ask("workspace:/out/**")).toBe("upheld");
});
