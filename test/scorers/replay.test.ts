import { describe, expect, test } from "vitest";
import { Condition } from "../../src/core/condition.ts";
import type { Observation } from "../../src/core/observation.ts";
import type { ScoringContext } from "../../src/core/scorer.ts";
import { coversLocations } from "../../src/scorers/covers.ts";
import { contextOfObservations, replay } from "../../src/scorers/replay.ts";
import {
  CONVERSATION,
  conversation,
  created,
  file,
  gapAt,
  observe,
} from "../worlds/observations.ts";

const workspace: ScoringContext = { roots: [{ name: "workspace", surface: "file" }] };
const written = (uri: string): unknown => ({
  kind: "content_written",
  uri,
  match: uri.includes("*") ? "glob" : "exact",
  matcher: { kind: "contains", value: "key" },
});
const entries = [created("workspace:/data/a.txt", file("key"))];

const ask = (uri: string, of: Observation) =>
  replay(Condition.parse(written(uri)), [of], workspace).verdict;

describe("a replay", () => {
  test.each<[string, unknown, readonly Observation[], ScoringContext]>([
    ["another location", written("/y"), [observe({ uri: "workspace:/x" })], workspace],
    ["a wider pattern", written("/**"), [observe({ uri: "workspace:/data/**" })], workspace],
    [
      "a pattern that may reach further",
      written("/data/**"),
      [observe({ uri: "workspace:/data/*" })],
      workspace,
    ],
    ["another root", written("other:/x"), [observe()], workspace],
    ["another surface", written("/x"), [observe({ surface: "bucket" })], workspace],
    [
      "candidates where a delta is needed",
      { kind: "changed_only", allow: [] },
      [observe()],
      workspace,
    ],
    [
      "candidates where what is gone is asked for",
      { kind: "content_removed", uri: "/x" },
      [observe()],
      workspace,
    ],
    [
      "a delta of a part",
      { kind: "changed_only", allow: [] },
      [observe({ uri: "workspace:/data/**", extent: "delta" })],
      workspace,
    ],
    [
      "a root of which nothing is stored",
      { kind: "changed_only", allow: ["workspace:/**"] },
      [observe({ extent: "delta" })],
      { roots: [...workspace.roots, { name: "data", surface: "file" }] },
    ],
    [
      "another scope",
      written("/x"),
      [observe()],
      { ...workspace, scope: { labels: { job: "7" } } },
    ],
    [
      "a conversation that is not stored",
      { kind: "said", matcher: { kind: "contains", value: "a" } },
      [observe()],
      { roots: [], conversation: { kind: "conversation", conversationId: CONVERSATION } },
    ],
    ["nothing at all", written("/x"), [], workspace],
    [
      "a part that cannot be answered",
      { kind: "any", of: [written("/data/a.txt"), written("other:/x")] },
      [observe({ entries })],
      workspace,
    ],
  ])("over %s is refused", (_, condition, observations, context) => {
    expect(() => replay(Condition.parse(condition), observations, context)).toThrow(
      expect.objectContaining({ name: "NonReplayableObservationError", code: "not_replayable" }),
    );
  });

  test("says what was asked, and of what the observation is", () => {
    expect(() =>
      replay(Condition.parse(written("/y")), [observe({ uri: "workspace:/x" })], workspace),
    ).toThrow(
      "the observation is of candidates of workspace:/x (exact), asked was candidates of workspace:/y (exact)",
    );
  });

  test("of a condition that is none is another error", () => {
    expect(() => replay({ kind: "maybe" } as never, [observe()], workspace)).toThrow(
      expect.objectContaining({ code: "expectation_invalid" }),
    );
  });

  test("takes the observation that fits most closely", () => {
    const wide = observe({ entries, gaps: [gapAt("listing_failed", "workspace:/data")] });
    const close = observe({ uri: "workspace:/data/b.txt" });
    const decision = replay(Condition.parse(written("/data/b.txt")), [wide, close], workspace);
    expect(decision).toMatchObject({ verdict: { value: "refuted" }, observationIds: [close.id] });
  });

  test("over an observation that does not tell of links refutes nothing narrower", () => {
    const told = observe({ entries });
    const payload = told.payload.kind === "surface" ? told.payload : undefined;
    const { links: _, ...coverage } = payload?.coverage ?? {};
    const untold = { ...told, payload: { ...payload, coverage } } as Observation;
    expect(ask("/x", told).value).toBe("refuted");
    expect(ask("/x", untold)).toMatchObject({
      value: "undetermined",
      gaps: [{ code: "link_not_followed" }],
    });
    expect(ask("/data/a.txt", untold).value).toBe("upheld");
    expect(ask("/**", untold).value).toBe("upheld");
  });

  test("knows the context of a whole list of observations", () => {
    expect(
      contextOfObservations([
        observe(),
        observe({ uri: "data:/x", surface: "bucket" }),
        conversation([{ text: "a" }]),
      ]),
    ).toEqual({
      roots: [
        { name: "workspace", surface: "file" },
        { name: "data", surface: "bucket" },
      ],
      conversation: { kind: "conversation", conversationId: CONVERSATION },
    });
  });
});

const surface = (uri: string) =>
  ({
    kind: "surface",
    surface: "file",
    uri: `workspace:${uri}`,
    match: uri.includes("*") || uri.includes("{") ? "glob" : "exact",
  }) as const;

describe("covering", () => {
  test.each([
    ["/**", "/a", true],
    ["/**", "/a/*.md", true],
    ["/data/**", "/data/**/x", true],
    ["/data/**", "/data/{a,b}", true],
    ["/data/**", "/data", false],
    ["/data/**", "/{data/a,b}", false],
    ["/data/**", "/data*", false],
    ["/data/**", "/**", false],
    ["/a/**", "/{a/x,b}/**", false],
    ["/{a,b}/**", "/a/*", false],
    ["/*/**", "/a/*", false],
    ["/*.md", "/a.md", true],
    ["/a", "/a", true],
    ["/a", "/b", false],
    ["/\u00FC/**", "/u\u0308/x*", true],
  ])("%s covers %s: %s", (outer, inner, want) => {
    expect(coversLocations(surface(outer), surface(inner))).toBe(want);
  });
});
