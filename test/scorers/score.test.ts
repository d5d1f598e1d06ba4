import { assert, asyncProperty } from "fast-check";
import { describe, expect, test } from "vitest";
import { Expectation } from "../../src/core/expectation.ts";
import { ScoreId } from "../../src/core/ids.ts";
import { parseObservation, type Observation } from "../../src/core/observation.ts";
import { Score } from "../../src/core/score.ts";
import { Timestamp } from "../../src/core/timestamp.ts";
import { fileWriteScorer } from "../../src/scorers/file-write-scorer.ts";
import type { LiveEvidence } from "../../src/scorers/observe.ts";
import { contentWritten } from "../../src/scorers/content-written.ts";
import { builtInScorers, defineScorers } from "../../src/scorers/registry.ts";
import { replay } from "../../src/scorers/replay.ts";
import { scoreLive, type ScoreStamp } from "../../src/scorers/score.ts";
import { conditionOf, expectationOf, heldOf, wishOf } from "../../src/scorers/sub-goal.ts";
import { anyCondition, anyEntries } from "../worlds/any-world.ts";
import { conversationSource, memorySource, type MemorySource } from "../worlds/memory-source.ts";
import {
  CONVERSATION,
  created,
  deleted,
  file,
  gapAt,
  nextId,
  NOW,
} from "../worlds/observations.ts";

const stamp: ScoreStamp = { newId: () => ScoreId.parse(nextId()), now: () => Timestamp.parse(NOW) };
const expectationOfConditions = (...conditions: unknown[]): Expectation =>
  Expectation.parse({ conditions });
const at = (path: string): string => `workspace:/${path}`;
const written = (uri: string, value = "key"): object => ({
  kind: "content_written",
  uri,
  match: uri.includes("*") ? "glob" : "exact",
  matcher: { kind: "contains", value },
});
const bind = (source: MemorySource, ...roots: string[]): LiveEvidence => ({
  sources: (roots.length === 0 ? ["workspace"] : roots).map((root) => ({
    root,
    surface: "file",
    source,
  })),
});

describe("scoring live", () => {
  test("gives a score for each condition, in order, that its schema accepts", async () => {
    const source = memorySource([created(at("x"), file("key"))]);
    const { scores, observations } = await scoreLive(
      expectationOfConditions(written("/x"), written("/y"), { kind: "objective_met" }),
      bind(source),
      stamp,
    );
    expect(scores.map((score) => score.verdict.value)).toEqual([
      "upheld",
      "refuted",
      "undetermined",
    ]);
    for (const score of scores) expect(Score.parse(score)).toEqual(score);
    expect(scores[0]).toMatchObject({
      scorable: { kind: "surface", uri: at("x") },
      scorer: { name: "content_written", children: [{ name: "memory" }] },
      observationIds: [observations[0]?.id],
    });
  });

  test("asks each source once, equal scorables once, with the probes of all that ask", async () => {
    const source = memorySource([]);
    const all = {
      kind: "all",
      of: [
        written("/**"),
        { kind: "not", of: written("/**", "other") },
        written("/**"),
        { kind: "content_removed", uri: "/**", match: "glob" },
      ],
    };
    await scoreLive(
      expectationOfConditions(all, { kind: "changed_only", allow: [] }),
      bind(source),
      stamp,
    );
    expect(source.calls).toHaveLength(1);
    expect(
      source.calls[0]?.requests.map((request) => [
        request.scorable.uri,
        request.extent,
        request.probes?.length,
      ]),
    ).toEqual([
      ["workspace:/**", "candidates", 2],
      ["workspace:/**", "delta", 0],
    ]);
  });

  test("asks two roots of one source in one call, and changed_only asks for every root", async () => {
    const source = memorySource([deleted("data:/x", file("a"))]);
    const { scores } = await scoreLive(
      expectationOfConditions({ kind: "changed_only", allow: ["workspace:/**"] }),
      bind(source, "workspace", "data"),
      stamp,
    );
    expect(source.calls.map((call) => call.requests.length)).toEqual([2]);
    expect(scores[0]?.verdict).toMatchObject({
      value: "refuted",
      counterexamples: [{ uri: "data:/x" }],
    });
  });

  test("puts the scope into what it asks for, and observes besides what it is told to", async () => {
    const source = memorySource([]);
    const scope = { labels: { job: "7" } };
    const extra = {
      scorable: { kind: "surface", uri: "workspace:/**", surface: "file", match: "glob", scope },
      extent: "delta",
    } as const;
    const { observations } = await scoreLive(
      expectationOfConditions(written("/x")),
      { ...bind(source), scope },
      stamp,
      { alsoObserve: [extra] },
    );
    expect(observations.map((each) => each.scorable)).toEqual([
      { kind: "surface", uri: at("x"), surface: "file", match: "exact", scope },
      extra.scorable,
    ]);
    expect(source.calls).toHaveLength(1);
  });

  test("hands over the signal and the world before", async () => {
    const source = memorySource([]);
    const baseline = {
      digest: file("x").sha256,
      method: "baseline",
      takenAt: NOW,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    } as never;
    const { signal } = new AbortController();
    await scoreLive(
      expectationOfConditions(written("/x")),
      { sources: [{ root: "workspace", surface: "file", source, baseline }] },
      stamp,
      { signal },
    );
    expect(source.calls[0]?.options).toEqual({ signal, baseline });
  });

  test("reads the conversation where one is bound", async () => {
    const conversation = {
      scorable: { kind: "conversation", conversationId: CONVERSATION } as const,
      source: conversationSource([{ text: "a key" }]),
    };
    const said = { kind: "said", matcher: { kind: "contains", value: "key" } };
    const { scores } = await scoreLive(
      expectationOfConditions(said),
      { sources: [], conversation },
      stamp,
    );
    expect(scores[0]?.verdict.value).toBe("upheld");
    const without = await scoreLive(expectationOfConditions(said), { sources: [] }, stamp);
    expect(without.scores[0]?.verdict).toMatchObject({
      value: "undetermined",
      gaps: [{ code: "evidence_kind_missing" }],
    });
  });

  test("rejects with the signal's reason, before and during", async () => {
    const source = memorySource([]);
    const reason = new Error("enough");
    await expect(
      scoreLive(expectationOfConditions(written("/x")), bind(source), stamp, {
        signal: AbortSignal.abort(reason),
      }),
    ).rejects.toBe(reason);
    expect(source.calls).toHaveLength(0);
    const controller = new AbortController();
    const slow: MemorySource = {
      ...source,
      observe: () =>
        new Promise((_, reject) =>
          controller.signal.addEventListener("abort", () => reject(new Error("late"))),
        ),
    };
    const scored = scoreLive(expectationOfConditions(written("/x")), bind(slow), stamp, {
      signal: controller.signal,
    });
    controller.abort(reason);
    await expect(scored).rejects.toBe(reason);
  });
});

describe("before anything is read", () => {
  test.each<[string, unknown, string]>([
    ["a root without a source", written("other:/x"), "source_missing"],
    [
      "an allowed root without a source",
      { kind: "changed_only", allow: ["wrkspace:/**"] },
      "source_missing",
    ],
    ["a pattern that cannot be read", { kind: "changed_only", allow: ["/[a"] }, "glob_invalid"],
  ])("%s is an error", async (_, condition, code) => {
    const source = memorySource([]);
    await expect(
      scoreLive(expectationOfConditions(written("/x"), condition), bind(source), stamp),
    ).rejects.toMatchObject({ code });
    expect(source.calls).toHaveLength(0);
  });

  test("a condition that no scorer declares is an error, wherever it is nested", async () => {
    const source = memorySource([]);
    const scorers = defineScorers([contentWritten]);
    const nested = {
      kind: "any",
      of: [written("/x"), { kind: "not", of: { kind: "objective_met" } }],
    };
    await expect(
      scoreLive(expectationOfConditions(nested), bind(source), stamp, { scorers }),
    ).rejects.toMatchObject({ code: "condition_unrouted" });
    expect(source.calls).toHaveLength(0);
  });

  test("an expectation that is none is an error", async () => {
    await expect(
      scoreLive({ conditions: [] } as never, bind(memorySource([])), stamp),
    ).rejects.toMatchObject({ code: "expectation_invalid" });
  });

  test("two scorers of one kind are an error at definition", () => {
    expect(() => defineScorers([contentWritten, contentWritten])).toThrow(
      expect.objectContaining({ code: "kind_registered_twice" }),
    );
    expect(builtInScorers.kinds).toEqual([
      "content_written",
      "content_removed",
      "rows_changed",
      "changed_only",
      "tools_called",
      "said",
      "objective_met",
    ]);
  });
});

describe("a source that breaks its word", () => {
  const broken: [string, (observation: Observation) => unknown][] = [
    [
      "another scorable",
      (each) => ({
        ...each,
        scorable: { ...each.scorable, uri: at("y") },
        payload: { ...each.payload, scope: { ...each.scorable, uri: at("y") } },
      }),
    ],
    ["another extent", (each) => ({ ...each, payload: { ...each.payload, extent: "delta" } })],
    ["no observation", () => undefined],
    ["an observation that breaks an invariant", (each) => ({ ...each, acquisition: "partial" })],
  ];
  test.each(broken)("by %s is an error that names it", async (_, change) => {
    await expect(
      scoreLive(expectationOfConditions(written("/x")), bind(memorySource([], [], change)), stamp),
    ).rejects.toMatchObject({
      code: "source_contract_broken",
      message: expect.stringContaining("memory"),
    });
  });

  test("by fewer observations than requests is an error", async () => {
    const source: MemorySource = { ...memorySource([]), observe: () => Promise.resolve([]) };
    await expect(
      scoreLive(expectationOfConditions(written("/x")), bind(source), stamp),
    ).rejects.toMatchObject({ code: "source_contract_broken" });
  });

  test("the control: one that keeps it is none", async () => {
    await expect(
      scoreLive(expectationOfConditions(written("/x")), bind(memorySource([])), stamp),
    ).resolves.toMatchObject({ scores: [{ verdict: { value: "refuted" } }] });
  });
});

test("a replay over what was stored decides what was decided live, in the same words", async () => {
  await assert(
    asyncProperty(anyCondition, anyEntries, async (condition, entries) => {
      const evidence = bind(memorySource(entries));
      const { decisions, observations } = await scoreLive(
        Expectation.parse({ conditions: [condition] }),
        evidence,
        stamp,
      );
      const stored = observations.map((each) => parseObservation(JSON.parse(JSON.stringify(each))));
      expect(
        replay(condition, stored, { roots: [{ name: "workspace", surface: "file" }] }),
      ).toEqual(decisions[0]);
    }),
    { numRuns: 1_000 },
  );
});

test("a question asked of a wider observation is never decided otherwise than live", async () => {
  const seen = { same: 0, open: 0 };
  await assert(
    asyncProperty(anyCondition, anyEntries, async (condition, entries) => {
      const source = memorySource(entries);
      const live = await scoreLive(
        Expectation.parse({ conditions: [condition] }),
        bind(source),
        stamp,
      );
      const wide = await source.observe([
        {
          scorable: { kind: "surface", uri: "workspace:/**", surface: "file", match: "glob" },
          extent: "delta",
        },
      ]);
      const replayed = replay(condition, wide, { roots: [{ name: "workspace", surface: "file" }] })
        .verdict.value;
      expect([live.scores[0]?.verdict.value, "undetermined"]).toContain(replayed);
      seen[replayed === live.scores[0]?.verdict.value ? "same" : "open"] += 1;
    }),
    { numRuns: 1_500 },
  );
  expect(seen.same).toBeGreaterThan(seen.open * 5);
});

describe("a scorer of file writes", () => {
  test("takes any source, gives the score and the observation, and decides again over it", async () => {
    const scorer = fileWriteScorer(
      memorySource(
        [created("bucket:/x", file("a key"))],
        [gapAt("listing_failed", "bucket:/private")],
      ),
      stamp,
      "bucket",
    );
    const { score, observation } = await scorer.score(
      expectationOfConditions(written("bucket:/**")),
    );
    expect(score.verdict).toMatchObject({
      value: "upheld",
      witnesses: [{ uri: "bucket:/x", change: "created", observation: observation.id }],
    });
    expect(
      scorer.scoreObservation(observation, expectationOfConditions(written("bucket:/**"))).verdict,
    ).toEqual(score.verdict);
    expect(
      scorer.scoreObservation(observation, expectationOfConditions(written("bucket:/**", "other")))
        .verdict.value,
    ).toBe("undetermined");
    expect(() =>
      scorer.scoreObservation(observation, expectationOfConditions(written("other:/x"))),
    ).toThrow(
      expect.objectContaining({ code: "not_replayable", name: "NonReplayableObservationError" }),
    );
  });

  test("takes one condition of its kind alone", async () => {
    const source = memorySource([]);
    const scorer = fileWriteScorer(source, stamp);
    for (const conditions of [[{ kind: "objective_met" }], [written("/x"), written("/y")]])
      await expect(scorer.score(expectationOfConditions(...conditions))).rejects.toMatchObject({
        code: "condition_unrouted",
      });
    expect(source.calls).toHaveLength(0);
  });
});

describe("a sub-goal", () => {
  test("is held where its verdict is the one wished for, and null where that is not known", () => {
    const refuted = { value: "refuted", counterexamples: [], total: 0 } as const;
    const open = { value: "undetermined", gaps: [gapAt("not_judged", "objective")] } as const;
    expect([
      heldOf(refuted, "refuted"),
      heldOf(refuted, "upheld"),
      heldOf(open, "refuted"),
      heldOf(open, "upheld"),
    ]).toEqual([true, false, null, null]);
  });

  test("that is judged is the objective of a judge", () => {
    const coded = {
      name: "a",
      expect: "refuted",
      condition: conditionOf({
        name: "x",
        judged: "It is kind",
        needs: [],
        polarity: "existential" as const,
      }),
    } as const;
    expect(coded.condition).toEqual({ kind: "objective_met", objective: "It is kind" });
    expect([
      wishOf(coded),
      wishOf({ name: "x", judged: "y", needs: [], polarity: "existential" as const }),
    ]).toEqual(["refuted", "upheld"]);
    expect(expectationOf({ schemaVersion: 1, objective: "o", subGoals: [coded] })).toEqual({
      schemaVersion: 1,
      objective: "o",
      conditions: [coded.condition],
    });
  });
});
