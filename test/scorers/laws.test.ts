import { array, assert, constantFrom, integer, property, tuple } from "fast-check";
import { describe, expect, test } from "vitest";
import { Condition } from "../../src/core/condition.ts";
import { EntryState, SurfaceEntry } from "../../src/core/entry.ts";
import { gap, type Gap } from "../../src/core/gap.ts";
import { parseObservation, type Observation } from "../../src/core/observation.ts";
import { contextOfObservations, replay } from "../../src/scorers/replay.ts";
import { anyCondition, anyEntries, anyGap, anyMethod } from "../worlds/any-world.ts";
import { created, file, observe, type World } from "../worlds/observations.ts";

const runs = process.env["UPHELD_SOAK"] === "1" ? 300_000 : 1_500;

type Value = "upheld" | "refuted" | "undetermined";

function decide(condition: Condition, observation: Observation): Value {
  return replay(condition, [observation], contextOfObservations([observation])).verdict.value;
}

const worldOf = (
  entries: readonly SurfaceEntry[],
  gaps: readonly Gap[],
  method: string,
): Observation =>
  observe({ extent: "delta", entries, gaps, method: method as NonNullable<World["method"]> });

/** Knowing less may leave a verdict as it is or open it: it never turns it round, and never closes it. */
function expectWeaker(weaker: Value, than: Value): void {
  expect([than, "undetermined"]).toContain(weaker);
}

/** A move is at two locations. */
const placesOf = (entry: SurfaceEntry): readonly string[] =>
  entry.from === undefined ? [entry.uri] : [entry.uri, entry.from];

describe("knowing less never moves a verdict but to undetermined", () => {
  test("an entry replaced by a gap at its location", () => {
    assert(
      property(
        anyCondition,
        anyEntries,
        anyGap,
        anyMethod,
        integer({ min: 0, max: 3 }),
        (condition, entries, { code }, method, index) => {
          const lost = entries[index];
          if (lost === undefined) return;
          const rest = entries.filter((entry) => entry !== lost);
          const gaps = placesOf(lost).map((place) => gap(code, place));
          expectWeaker(
            decide(condition, worldOf(rest, gaps, method)),
            decide(condition, worldOf(entries, [], method)),
          );
        },
      ),
      { numRuns: runs },
    );
  });

  test("a gap more", () => {
    assert(
      property(
        anyCondition,
        anyEntries,
        array(anyGap, { maxLength: 2 }),
        anyGap,
        anyMethod,
        (condition, entries, gaps, more, method) => {
          expectWeaker(
            decide(condition, worldOf(entries, [...gaps, more], method)),
            decide(condition, worldOf(entries, gaps, method)),
          );
        },
      ),
      { numRuns: runs },
    );
  });

  test("content that was kept in part, or not at all, and findings that were dropped", () => {
    const loss = tuple(
      integer({ min: 0, max: 3 }),
      constantFrom("now", "before"),
      constantFrom("cut", "content", "findings", "before"),
      integer({ min: 0, max: 4 }),
    );
    assert(
      property(
        anyCondition,
        anyEntries,
        anyMethod,
        array(loss, { minLength: 1, maxLength: 3 }),
        (condition, entries, method, losses) => {
          const less = losses.reduce<readonly SurfaceEntry[]>(
            (kept, [index, side, what, length]) =>
              kept.map((entry, at) => (at === index ? lose(entry, side, what, length) : entry)),
            entries,
          );
          expectWeaker(
            decide(condition, worldOf(less, [], method)),
            decide(condition, worldOf(entries, [], method)),
          );
        },
      ),
      { numRuns: runs },
    );
  });

  test("the control: a witness more does turn a verdict round", () => {
    const condition = Condition.parse({ kind: "content_written", uri: "workspace:/a" });
    expect(decide(condition, worldOf([], [], "baseline"))).toBe("refuted");
    expect(decide(condition, worldOf([created("workspace:/a", file("key"))], [], "baseline"))).toBe(
      "upheld",
    );
  });

  test("the control: worlds and conditions come out in every way", () => {
    const seen = new Set<string>();
    assert(
      property(anyCondition, anyEntries, anyMethod, (condition, entries, method) => {
        seen.add(`${condition.kind} ${decide(condition, worldOf(entries, [], method))}`);
      }),
      { numRuns: 4_000 },
    );
    const kinds = [
      "content_written",
      "content_removed",
      "changed_only",
      "all",
      "any",
      "not",
      "majority",
    ];
    const values = ["upheld", "refuted", "undetermined"];
    expect([...seen].toSorted()).toEqual(
      kinds.flatMap((kind) => values.map((value) => `${kind} ${value}`)).toSorted(),
    );
  });
});

function lose(entry: SurfaceEntry, side: string, what: string, length: number): SurfaceEntry {
  if (what === "before")
    return entry.before === undefined ? entry : SurfaceEntry.parse({ ...entry, before: undefined });
  const state = side === "now" ? entry.now : entry.before;
  if (state === undefined) return entry;
  return SurfaceEntry.parse({ ...entry, [side]: loseOf(state, what, length) });
}

function loseOf(
  { content, findings, ...state }: EntryState,
  what: string,
  length: number,
): EntryState {
  switch (what) {
    case "findings":
      return EntryState.parse({ ...state, content });
    case "content":
      return EntryState.parse({ ...state, findings });
    default:
      return EntryState.parse({ ...state, findings, content: cut(content, length) });
  }
}

function cut(content: EntryState["content"], length: number): EntryState["content"] {
  if (content === undefined) return undefined;
  const isShort = length >= content.value.length;
  const value =
    content.encoding === "binary"
      ? Buffer.from(content.value, "base64").subarray(0, length).toString("base64")
      : content.value.slice(0, length);
  return { ...content, value: isShort ? content.value : value, truncated: true };
}

describe("replay", () => {
  test("an observation that was written and read again decides the same, with the same words", () => {
    assert(
      property(
        anyCondition,
        anyEntries,
        array(anyGap, { maxLength: 2 }),
        anyMethod,
        (condition, entries, gaps, method) => {
          const live = worldOf(entries, gaps, method);
          const stored = parseObservation(JSON.parse(JSON.stringify(live)));
          const context = contextOfObservations([live]);
          expect(replay(condition, [stored], context)).toEqual(replay(condition, [live], context));
        },
      ),
      { numRuns: 500 },
    );
  });
});
