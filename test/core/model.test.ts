import { describe, expect, test } from "vitest";
import { Condition, conditionKinds, isComposite, leavesOf } from "../../src/core/condition.ts";
import { SurfaceEntry } from "../../src/core/entry.ts";
import { ERROR_CODES, isUpheldError, UpheldError } from "../../src/core/errors.ts";
import {
  expectationFingerprint,
  Expectation,
  parseExpectationFile,
} from "../../src/core/expectation.ts";
import { Gap, GAPS, GapCode } from "../../src/core/gap.ts";
import { Identifier } from "../../src/core/identifier.ts";
import { AttemptId, Digest, ObservationId, RunId, TraceId } from "../../src/core/ids.ts";
import { LIMITS, limitsOf } from "../../src/core/limits.ts";
import { parseObservation, type Observation } from "../../src/core/observation.ts";
import { defineKinds } from "../../src/core/registry.ts";
import { Scorable, scorableKinds } from "../../src/core/scorable.ts";
import { ScoringScope, scopeKeys } from "../../src/core/scope.ts";
import {
  conversation,
  created,
  deleted,
  file,
  gapAt,
  moved,
  observe,
} from "../worlds/observations.ts";

const at = (path: string): string => `workspace:/${path}`;

const entry = created(at("x"), file("key"));
const good = observe({ entries: [entry] });

/** An observation as it would be stored, with other values at some of its places; undefined takes the place away. */
function changed(edits: Readonly<Record<string, unknown>>, of: Observation = good): unknown {
  const raw: unknown = structuredClone(of);
  for (const [path, value] of Object.entries(edits)) {
    const steps = path.split(".");
    const last = steps.pop() ?? "";
    const holder = steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], raw);
    (holder as Record<string, unknown>)[last] = value;
  }
  return raw;
}

describe("an observation", () => {
  test("that is whole is read", () => {
    expect(parseObservation(changed({}))).toEqual(good);
    expect(parseObservation(conversation([{ text: "a" }])).payload.kind).toBe("conversation");
  });

  test("leaves out unknown fields", () => {
    expect(parseObservation(changed({ "payload.later": 1 }))).toEqual(good);
  });

  test.each<[string, unknown]>([
    ["complete with a gap", changed({ "payload.coverage.gaps": [gapAt("not_text", "a")] })],
    ["partial without one", changed({ acquisition: "partial" })],
    [
      "unavailable with entries",
      changed({
        acquisition: "unavailable",
        "payload.coverage.gaps": [gapAt("root_unavailable", "a")],
      }),
    ],
    ["an error without a gap", changed({ acquisition: "error", "payload.entries": [] })],
    ["a location twice", changed({ "payload.entries": [entry, entry] })],
    ["a location outside of its pattern", changed({ "payload.entries.0.uri": "data:/x" })],
    ["a payload of another scorable", changed({ "scorable.uri": "workspace:/data/**" })],
    ["a payload without its extent", changed({ "payload.extent": undefined })],
    ["an unknown kind of payload", changed({ "payload.kind": "rows2" })],
    [
      "an unknown gap code",
      changed({
        acquisition: "partial",
        "payload.coverage.gaps": [{ ...gapAt("not_text", "a"), code: "new" }],
      }),
    ],
    ["a time without nanoseconds", changed({ observedAt: "2026-11-30T18:48:15Z" })],
    [
      "a conversation of another id",
      changed({ "scorable.conversationId": "c2" }, conversation([{ text: "a" }])),
    ],
    [
      "a conversation beyond where it should end",
      changed({ "scorable.throughSequence": 0 }, conversation([{ text: "a" }, { text: "b" }])),
    ],
    [
      "a message with a wrong number",
      changed({ "payload.conversation.messages.0.sequence": 1 }, conversation([{ text: "a" }])),
    ],
  ])("with %s is refused", (_, raw) => {
    expect(() => parseObservation(raw)).toThrow(
      expect.objectContaining({ code: "observation_changed" }),
    );
  });

  test("of an exact location holds that location alone", () => {
    expect(() => observe({ uri: at("x"), entries: [created(at("y"), file("a"))] })).toThrow(
      "not one that",
    );
    expect(
      observe({ uri: at("x"), entries: [moved(at("x"), at("y"), file("a"))] }).payload,
    ).toMatchObject({ entries: [{ uri: at("y") }] });
  });
});

describe("an entry", () => {
  const digest = file("a").sha256;
  const state = { type: "file", sizeBytes: 1, sha256: digest };
  test.each<[string, unknown]>([
    ["deleted and there", { uri: "a", change: "deleted", now: state }],
    ["created and not there", { uri: "a", change: "created" }],
    ["moved from nowhere", { uri: "a", change: "moved", now: state }],
    ["from somewhere and not moved", { uri: "a", change: "created", now: state, from: "b" }],
    ["unknown without a reason", { uri: "a", change: "unknown", now: state, reasons: [] }],
    [
      "reasons for what is known",
      { uri: "a", change: "created", now: state, reasons: ["clock_uncertain"] },
    ],
    [
      "whole content without a digest",
      {
        uri: "a",
        change: "created",
        now: {
          type: "file",
          sizeBytes: 1,
          content: { encoding: "utf-8", value: "a", truncated: false },
        },
      },
    ],
    ["an unknown change", { uri: "a", change: "renamed", now: state }],
    [
      "a digest in upper case",
      { uri: "a", change: "created", now: { ...state, sha256: `sha256:${"A".repeat(64)}` } },
    ],
  ])("%s is refused", (_, raw) => {
    expect(SurfaceEntry.safeParse(raw).success).toBe(false);
  });

  test("that is whole is read", () => {
    expect(SurfaceEntry.safeParse({ uri: "a", change: "created", now: state }).success).toBe(true);
    expect(deleted("a").now).toBeUndefined();
  });
});

describe("kinds", () => {
  const definition = { kind: "file", schema: Scorable };

  test("that stand twice are an error at definition", () => {
    expect(() => defineKinds("thing", [definition, definition])).toThrow(
      expect.objectContaining({ code: "kind_registered_twice" }),
    );
    expect(() => defineKinds("thing", [definition]).define(definition)).toThrow(
      expect.objectContaining({ code: "kind_registered_twice" }),
    );
  });

  test("that are unknown are an error that names the known", () => {
    expect(() => defineKinds("thing", [definition]).get("row")).toThrow(
      '"row" is no thing kind (known: file)',
    );
  });

  test("of conditions each have a polarity, and of scorables a volatility", () => {
    expect(conditionKinds.kinds().map((kind) => [kind, conditionKinds.get(kind).polarity])).toEqual(
      [
        ["content_written", "existential"],
        ["content_removed", "existential"],
        ["rows_changed", "exact"],
        ["changed_only", "universal"],
        ["tools_called", "exact"],
        ["said", "existential"],
        ["objective_met", "existential"],
      ],
    );
    expect(scorableKinds.kinds().map((kind) => [kind, scorableKinds.get(kind).volatility])).toEqual(
      [
        ["message", "stable"],
        ["conversation", "append-only"],
        ["content", "stable"],
        ["trace", "append-only"],
        ["tool_calls", "append-only"],
        ["surface", "mutable"],
      ],
    );
  });

  test("of conditions in the union are those of the table, and the composites", () => {
    const tags = ["all", "any", "not", "majority", ...conditionKinds.kinds()];
    for (const kind of tags)
      expect(
        Condition.safeParse({ kind }).error?.issues.some(
          (issue) => issue.code === "invalid_union",
        ) ?? false,
        kind,
      ).toBe(false);
    expect(Condition.safeParse({ kind: "rows_vanished" }).success).toBe(false);
  });
});

const leaf = (uri: string) => ({ kind: "content_written", uri });

describe("a condition", () => {
  test("is brought to one spelling, defaults filled in", () => {
    expect(Condition.parse({ kind: "content_written", uri: "data//./x" })).toEqual({
      kind: "content_written",
      uri: "workspace:/data/x",
      match: "exact",
    });
  });

  test.each<[string, unknown]>([
    ["an unknown field", { kind: "content_written", uri: "/a", expect: "refuted" }],
    ["a locator that leaves the root", { kind: "content_removed", uri: "/../a" }],
    ["a composite of nothing", { kind: "all", of: [] }],
    ["an unknown part", { kind: "not", of: { kind: "maybe" } }],
    ["an unknown word in allow", { kind: "changed_only", allow: ["@everything/.."] }],
  ])("with %s is refused", (_, raw) => {
    expect(Condition.safeParse(raw).success).toBe(false);
  });

  test("gives its leaves in order", () => {
    const nested = Condition.parse({
      kind: "all",
      of: [leaf("/a"), { kind: "not", of: { kind: "any", of: [leaf("/b"), leaf("/c")] } }],
    });
    expect(isComposite(nested)).toBe(true);
    expect(leavesOf(nested).map((each) => ("uri" in each ? each.uri : ""))).toEqual([
      at("a"),
      at("b"),
      at("c"),
    ]);
  });
});

describe("an expectation", () => {
  const condition = { kind: "content_written", uri: "/a" };

  test("has the fingerprint of its meaning, not of its spelling", () => {
    const one = Expectation.parse({ conditions: [condition] });
    const two = Expectation.parse({
      schemaVersion: 1,
      conditions: [{ uri: "workspace:/./a", match: "exact", kind: "content_written" }],
    });
    expect(expectationFingerprint(one)).toBe(expectationFingerprint(two));
    expect(
      expectationFingerprint(Expectation.parse({ conditions: [{ ...condition, uri: "/b" }] })),
    ).not.toBe(expectationFingerprint(one));
  });

  test("file names each sub-goal once, and wishes for upheld unless told", () => {
    const goal = { name: "a", condition };
    expect(parseExpectationFile({ subGoals: [goal] }).subGoals[0]).toMatchObject({
      expect: "upheld",
    });
    expect(() => parseExpectationFile({ subGoals: [goal, goal] })).toThrow(
      "two sub-goals have one name",
    );
    expect(() => parseExpectationFile({ subGoals: [] })).toThrow(
      expect.objectContaining({ code: "expectation_invalid" }),
    );
    expect(() =>
      parseExpectationFile({ subGoals: [{ ...goal, condition: { ...condition, urn: 1 } }] }),
    ).toThrow("urn");
  });
});

describe("ids and limits", () => {
  test.each([
    [Digest, `sha256:${"a".repeat(64)}`, "a".repeat(64)],
    [RunId, "2026-run_1", "../run"],
    [AttemptId, "a1", ""],
    [ObservationId, "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-00000000000G"],
    [TraceId, "1".repeat(32), "0".repeat(32)],
  ])("an id is made by parsing alone", (schema, good, bad) => {
    expect(schema.safeParse(good).success).toBe(true);
    expect(schema.safeParse(bad).success).toBe(false);
  });

  test("a limit is a whole number from 1", () => {
    expect(limitsOf({ maxFiles: 1 }).maxFiles).toBe(1);
    expect(limitsOf({ clockSkewMs: 0 }).clockSkewMs).toBe(0);
    for (const bad of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => limitsOf({ maxFiles: bad })).toThrow(
        expect.objectContaining({ code: "argument_invalid" }),
      );
    expect(() => limitsOf({ maxTables: 1 } as never)).toThrow("maxTables is no limit");
  });

  test("a limit tells of itself by a gap that exists, or a count", () => {
    for (const { beyond } of Object.values(LIMITS))
      expect(beyond.startsWith("count: ") || beyond in GAPS).toBe(true);
  });

  test("a scope names the keys that are set", () => {
    expect(scopeKeys(ScoringScope.parse({ labels: { a: "b" }, attemptId: "a1" }))).toEqual([
      "labels",
      "attemptId",
    ]);
    expect(scopeKeys(undefined)).toEqual([]);
  });

  test("an identifier nests, and takes no other values", () => {
    const leaf = { name: "a", version: "1", parameters: { maxFiles: 1 } };
    expect(Identifier.parse({ ...leaf, children: [leaf] }).children[0]?.name).toBe("a");
    expect(Identifier.safeParse({ ...leaf, parameters: { root: { path: "/x" } } }).success).toBe(
      false,
    );
  });
});

describe("errors and gaps", () => {
  test("an error of another copy of the package is known by its code", () => {
    expect(isUpheldError(new UpheldError("internal", "x"))).toBe(true);
    expect(isUpheldError(Object.assign(new Error("x"), { code: "not_replayable" }))).toBe(true);
    for (const other of [
      Object.assign(new Error("x"), { code: "ENOENT" }),
      new Error("x"),
      "x",
      Object.assign(new Error("x"), { code: "toString" }),
    ])
      expect(isUpheldError(other)).toBe(false);
  });

  test("every code has its words", () => {
    for (const words of Object.values(ERROR_CODES)) expect(words).toMatch(/\.$/);
    for (const { meaning, remedy } of Object.values(GAPS))
      expect(`${meaning}${remedy}`).toMatch(/^[A-Z].*\.[A-Z].*\.$/s);
    expect(GapCode.options).toHaveLength(Object.keys(GAPS).length);
    expect(Gap.safeParse({ ...gapAt("not_text", "a"), location: "" }).success).toBe(false);
  });
});
