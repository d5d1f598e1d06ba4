import { array, assert, constantFrom, integer, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { polarityOfCalls, ToolsCalled } from "../../src/core/condition.ts";
import { gap } from "../../src/core/gap.ts";
import { observationOf as observationWith } from "../worlds/calls.ts";
import {
  certainlyExact,
  certainlyInOrder,
  possiblyExact,
  possiblyInOrder,
  type CallTable,
  type Match,
  type Span,
} from "../../src/scorers/call-order.ts";
import { contextOfObservations, replay } from "../../src/scorers/replay.ts";
import type { Observation } from "../../src/core/observation.ts";
import {
  anyCallGap,
  anyRecorders,
  anyToolsCalled,
  observeCalls,
  type ShortCall,
  type ShortRecorder,
} from "../worlds/calls.ts";

const runs = process.env["UPHELD_SOAK"] === "1" ? 200_000 : 1_500;

const asked = (input: object): ToolsCalled => ToolsCalled.parse({ kind: "tools_called", ...input });

function decide(condition: ToolsCalled, observation: Observation) {
  return replay(condition, [observation], contextOfObservations([observation]));
}

function valueOf(condition: ToolsCalled, observation: Observation): string {
  return decide(condition, observation).verdict.value;
}

const one = (calls: readonly ShortCall[], more: Partial<ShortRecorder> = {}): Observation =>
  observeCalls([{ name: "file", calls, ...more }]);

const A = { name: "a" };
const B = { name: "b" };

interface Row {
  readonly what: string;
  readonly ask: object;
  readonly seen: Observation;
  readonly want: "upheld" | "refuted" | "undetermined";
  readonly gap?: string;
}

const lost = gap("trace_incomplete", "calls:/file");

const ROWS: readonly Row[] = [
  { what: "it was called", ask: { requirements: [A] }, seen: one([A]), want: "upheld" },
  {
    what: "it was not, and all is known",
    ask: { requirements: [B] },
    seen: one([A]),
    want: "refuted",
  },
  {
    what: "it was called, though not all is known",
    ask: { requirements: [A] },
    seen: one([A], { complete: false }),
    want: "upheld",
  },
  {
    what: "it was not seen, and not all is known",
    ask: { requirements: [B] },
    seen: one([A], { complete: false }),
    want: "undetermined",
    gap: "trace_incomplete",
  },
  {
    what: "calls beyond a limit",
    ask: { requirements: [B] },
    seen: one([A], { total: 7 }),
    want: "undetermined",
    gap: "trace_incomplete",
  },
  {
    what: "a recorder that is complete but for a cut line",
    ask: { requirements: [B] },
    seen: one([A], { gaps: [gap("call_truncated", "calls:/file/line/2")] }),
    want: "undetermined",
    gap: "call_truncated",
  },
  {
    what: "a refused call is not ok",
    ask: { requirements: [{ ...A, outcome: "ok" }] },
    seen: one([{ ...A, outcome: "refused" }]),
    want: "refuted",
  },
  {
    what: "a failed call is not ok",
    ask: { requirements: [{ ...A, outcome: "ok" }] },
    seen: one([{ ...A, outcome: "error" }]),
    want: "refuted",
  },
  {
    what: "a refused call did not crash",
    ask: { requirements: [{ ...A, outcome: "error" }] },
    seen: one([{ ...A, outcome: "refused" }]),
    want: "refuted",
  },
  {
    what: "an attempt is a call",
    ask: { requirements: [A] },
    seen: one([{ ...A, outcome: "refused" }]),
    want: "upheld",
  },
  {
    what: "how an unfinished call would have ended is not known",
    ask: { requirements: [{ ...A, outcome: "ok" }] },
    seen: one([{ ...A, outcome: "unfinished" }]),
    want: "undetermined",
    gap: "span_unfinished",
  },
  {
    what: "unfinished is an outcome of its own",
    ask: { requirements: [{ ...A, outcome: "unfinished" }] },
    seen: one([{ ...A, outcome: "unfinished" }]),
    want: "upheld",
  },
  {
    what: "arguments beside others",
    ask: { requirements: [{ ...A, arguments: { x: 1 } }] },
    seen: one([{ ...A, given: { x: 1, y: 2 } }]),
    want: "upheld",
  },
  {
    what: "other arguments",
    ask: { requirements: [{ ...A, arguments: { x: 1 } }] },
    seen: one([{ ...A, given: { x: "1" } }]),
    want: "refuted",
  },
  {
    what: "nested arguments in another order of keys",
    ask: { requirements: [{ ...A, arguments: { x: { p: 1, q: [2] } } }] },
    seen: one([{ ...A, given: { x: { q: [2], p: 1 } } }]),
    want: "upheld",
  },
  {
    what: "arguments that were not recorded",
    ask: { requirements: [{ ...A, arguments: { x: 1 } }] },
    seen: one([A]),
    want: "undetermined",
    gap: "evidence_kind_missing",
  },
  {
    what: "arguments that were cut",
    ask: { requirements: [{ ...A, arguments: { x: 1 } }] },
    seen: one([{ ...A, given: { x: "y".repeat(20_000) } }]),
    want: "undetermined",
    gap: "call_truncated",
  },
  {
    what: "cut arguments of another tool do not matter",
    ask: { requirements: [{ ...B, arguments: { x: 1 } }] },
    seen: one([{ ...A, given: { x: "y".repeat(20_000) } }]),
    want: "refuted",
  },
  {
    what: "an exact count",
    ask: { requirements: [{ ...A, count: 2 }] },
    seen: one([A, A]),
    want: "upheld",
  },
  {
    what: "one too many",
    ask: { requirements: [{ ...A, atMost: 1 }] },
    seen: one([A, A], { complete: false }),
    want: "refuted",
  },
  {
    what: "none, as wished",
    ask: { requirements: [{ ...A, count: 0 }] },
    seen: one([B]),
    want: "upheld",
  },
  {
    what: "none seen, but perhaps",
    ask: { requirements: [{ ...A, count: 0 }] },
    seen: one([B], { gaps: [lost] }),
    want: "undetermined",
    gap: "trace_incomplete",
  },
  {
    what: "in order",
    ask: { requirements: [A, B], order: "in_order" },
    seen: one([A, { name: "c" }, B]),
    want: "upheld",
  },
  {
    what: "in another order",
    ask: { requirements: [A, B], order: "in_order" },
    seen: one([B, A]),
    want: "refuted",
  },
  {
    what: "exactly these",
    ask: { requirements: [A, B], order: "exact" },
    seen: one([A, B]),
    want: "upheld",
  },
  {
    what: "and one more",
    ask: { requirements: [A, B], order: "exact" },
    seen: one([A, { name: "c" }, B], { complete: false }),
    want: "refuted",
  },
  {
    what: "exactly these, but perhaps more",
    ask: { requirements: [A, B], order: "exact" },
    seen: one([A, B], { complete: false }),
    want: "undetermined",
    gap: "trace_incomplete",
  },
  {
    what: "in an order that is not known",
    ask: { requirements: [A, B], order: "exact" },
    seen: one([
      { ...A, sequence: 1 },
      { ...B, sequence: 1 },
    ]),
    want: "undetermined",
    gap: "trace_incomplete",
  },
  {
    what: "one call that two recorders saw is one call",
    ask: { requirements: [{ ...A, count: 1 }] },
    seen: observeCalls([
      { name: "file", calls: [{ ...A, id: "x" }] },
      { name: "otlp", calls: [{ ...A, id: "x" }], complete: false },
    ]),
    want: "upheld",
  },
  {
    what: "two that may be one are not counted as two",
    ask: { requirements: [{ ...A, atLeast: 2 }] },
    seen: observeCalls([
      { name: "file", calls: [A], complete: false },
      { name: "otlp", calls: [A], complete: false },
    ]),
    want: "undetermined",
    gap: "trace_incomplete",
  },
  {
    what: "records of one call that contradict each other",
    ask: { requirements: [{ ...A, outcome: "ok" }] },
    seen: observeCalls([
      { name: "file", calls: [{ ...A, id: "x" }] },
      { name: "otlp", calls: [{ ...A, id: "x", outcome: "error" }] },
    ]),
    want: "undetermined",
    gap: "calls_contradictory",
  },
  {
    what: "a recorder that should have all and lacks what another saw",
    ask: { requirements: [{ ...A, count: 1 }] },
    seen: observeCalls([
      { name: "file", calls: [] },
      { name: "otlp", calls: [A], complete: false },
    ]),
    want: "undetermined",
    gap: "calls_contradictory",
  },
];

describe("tools_called", () => {
  test.each(ROWS)("$what: $want", ({ ask, seen, want, gap: code }) => {
    const { verdict, rationale } = decide(asked(ask), seen);
    expect(verdict.value, rationale).toBe(want);
    if (verdict.value === "undetermined")
      expect(verdict.gaps.map((each) => each.code)).toContain(code);
    expect(rationale).toMatch(/Provenance: \w+/);
  });

  test("points at the calls, says who saw them, and tells no values of arguments", () => {
    const condition = asked({
      requirements: [{ ...A, arguments: { key: "sk-live-1" }, outcome: "ok" }],
    });
    const { verdict, rationale } = decide(
      condition,
      one([{ ...A, given: { key: "sk-live-1" }, provenance: "recorded" }]),
    );
    expect(verdict).toMatchObject({
      witnesses: [{ uri: "calls:/1", detail: "a ok, recorded by a proxy" }],
    });
    expect(rationale).toContain("recorded by a proxy");
    expect(rationale + JSON.stringify(verdict)).not.toContain("sk-live-1");
  });

  test.each([
    [{ requirements: [A] }, "existential"],
    [{ requirements: [A, B], order: "in_order" }, "existential"],
    [{ requirements: [{ ...A, atMost: 1 }] }, "universal"],
    [{ requirements: [{ ...A, count: 1 }] }, "exact"],
    [{ requirements: [A], order: "exact" }, "exact"],
  ] as const)("%j is %s", (ask, polarity) => {
    expect(polarityOfCalls(asked(ask))).toBe(polarity);
  });

  test.each([
    { requirements: [] },
    { requirements: [{ name: "" }] },
    { requirements: [{ ...A, count: 1, atLeast: 1 }] },
    { requirements: [{ ...A, atLeast: 2, atMost: 1 }] },
    { requirements: [{ ...A, count: -1 }] },
    { requirements: [{ ...A, outcome: "good" }] },
  ])("%j is refused", (ask) => {
    expect(ToolsCalled.safeParse({ kind: "tools_called", ...ask }).success).toBe(false);
  });

  test("100,000 calls are decided, in every order", { timeout: 120_000 }, () => {
    const seen = one(Array.from({ length: 100_000 }, (_, at) => (at % 2 === 0 ? A : B)));
    const requirements = Array.from({ length: 20 }, (_, at) => ({
      name: at % 2 === 0 ? "a" : "b",
      atLeast: 1,
    }));
    const values = ["any", "in_order", "exact"].map((order) =>
      valueOf(asked({ requirements, order }), seen),
    );
    expect(values).toEqual(["upheld", "upheld", "refuted"]);
  });
});

/** True where the order of some calls among each other is not known. */
const hasTies = (recorders: readonly ShortRecorder[]): boolean =>
  recorders.some(({ calls }) => {
    const places = calls.map(({ sequence }) => sequence).filter((each) => each !== undefined);
    return new Set(places).size < places.length;
  });

const expectWeaker = (weaker: string, than: string): void =>
  expect([than, "undetermined"]).toContain(weaker);

describe("knowing less never moves a verdict but to undetermined", () => {
  test("a gap more", () => {
    assert(
      property(
        anyToolsCalled,
        anyRecorders,
        anyCallGap,
        integer({ min: -1, max: 1 }),
        (condition, recorders, more, at) => {
          const before = valueOf(condition, observeCalls(recorders));
          const after =
            at === -1
              ? observeCalls(recorders, [more])
              : observeCalls(
                  recorders.map((each, index) =>
                    index === at ? { ...each, gaps: [...(each.gaps ?? []), more] } : each,
                  ),
                );
          expectWeaker(valueOf(condition, after), before);
        },
      ),
      { numRuns: runs },
    );
  });

  test("a call replaced by a gap at its location", () => {
    assert(
      property(
        anyToolsCalled,
        anyRecorders,
        integer({ min: 0, max: 9 }),
        (condition, recorders, at) => {
          const whole = observeCalls(recorders);
          if (whole.payload.kind !== "tools") return;
          const call = whole.payload.calls[at];
          if (call === undefined) return;
          const { payload } = whole;
          const less = observationWith({
            ...payload,
            calls: payload.calls.filter((each) => each !== call),
            gaps: [...payload.gaps, gap("part_withheld", call.uri)],
          });
          const [now, before] = [valueOf(condition, less), valueOf(condition, whole)];
          // Calls whose order is not known are judged generously: with one of them less, a closer look may refute.
          if (hasTies(recorders) && before === "undetermined") return;
          expectWeaker(now, before);
        },
      ),
      { numRuns: runs },
    );
  });

  test("a recorder that no longer claims to have all", () => {
    assert(
      property(anyToolsCalled, anyRecorders, (condition, recorders) => {
        const before = valueOf(condition, observeCalls(recorders));
        const after = observeCalls(recorders.map((each) => ({ ...each, complete: false })));
        expectWeaker(valueOf(condition, after), before);
      }),
      { numRuns: runs },
    );
  });
});

test("calls that did not end well never satisfy the outcome ok", () => {
  assert(
    property(anyToolsCalled, anyRecorders, (condition, recorders) => {
      const strict = asked({
        ...condition,
        requirements: condition.requirements.map(({ name }) => ({
          name,
          outcome: "ok",
          atLeast: 1,
        })),
      });
      const failed = recorders.map((each) => ({
        ...each,
        calls: each.calls.map(({ outcome = "ok", ...call }) => ({
          ...call,
          outcome: outcome === "ok" ? ("refused" as const) : outcome,
        })),
      }));
      expect(valueOf(strict, observeCalls(failed))).not.toBe("upheld");
    }),
    { numRuns: runs },
  );
});

/** Every way in which a table can turn out: each "maybe" either way, each group in each order, and with missing calls put in. */
function* outcomes(table: CallTable): Generator<boolean[][]> {
  const ordered = permutations(table);
  for (const calls of ordered) {
    const open = calls.flatMap((call, at) =>
      call.flatMap((match, requirement) => (match === "maybe" ? [[at, requirement] as const] : [])),
    );
    for (let choice = 0; choice < 2 ** open.length; choice += 1) {
      const world = calls.map((call) => call.map((match) => match === "yes"));
      for (const [index, [at, requirement]] of open.entries())
        world[at]![requirement] = ((choice >> index) & 1) === 1;
      yield world;
    }
  }
}

function permutations(table: CallTable): (readonly Match[])[][] {
  return table.reduce<(readonly Match[])[][]>(
    (heads, group) => heads.flatMap((head) => orders(group).map((order) => [...head, ...order])),
    [[]],
  );
}

function orders<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, at) =>
    orders(items.filter((_, index) => index !== at)).map((rest) => [item, ...rest]),
  );
}

/** By trying every choice. */
function isInOrder(spans: readonly Span[], calls: readonly boolean[][]): boolean {
  const wanted = spans.flatMap(({ least }, requirement) =>
    Array.from({ length: least }, () => requirement),
  );
  const search = (at: number, next: number): boolean => {
    if (next === wanted.length) return true;
    return calls.some(
      (call, index) => index >= at && call[wanted[next]!] === true && search(index + 1, next + 1),
    );
  };
  return search(0, 0);
}

function isExact(spans: readonly Span[], calls: readonly boolean[][], mayLack: boolean): boolean {
  const search = (at: number, requirement: number): boolean => {
    const span = spans[requirement];
    if (span === undefined) return at === calls.length;
    for (let taken = 0; taken <= Math.min(span.most, calls.length - at); taken += 1) {
      if (taken > 0 && calls[at + taken - 1]![requirement] !== true) return false;
      if ((mayLack || taken >= span.least) && search(at + taken, requirement + 1)) return true;
    }
    return false;
  };
  return search(0, 0);
}

const matches = constantFrom<Match>("yes", "no", "maybe", "yes", "no");
const spans = array(
  record({ least: integer({ min: 0, max: 2 }), more: integer({ min: 0, max: 3 }) }).map(
    ({ least, more }) => ({
      least,
      most: more === 3 ? Number.POSITIVE_INFINITY : least + more,
    }),
  ),
  { minLength: 1, maxLength: 3 },
);
const table = array(
  array(array(matches, { minLength: 3, maxLength: 3 }), { minLength: 1, maxLength: 2 }),
  { maxLength: 4 },
);

describe("the order of calls, against an oracle that tries everything", () => {
  test("what is certain holds in every world, and what is impossible in none", () => {
    assert(
      property(spans, table, (asks, groups) => {
        const own = groups.map((group) => group.map((call) => call.slice(0, asks.length)));
        const worlds = [...outcomes(own)];
        if (certainlyInOrder(asks, own))
          expect(worlds.every((world) => isInOrder(asks, world))).toBe(true);
        if (!possiblyInOrder(asks, own))
          expect(worlds.some((world) => isInOrder(asks, world))).toBe(false);
        if (certainlyExact(asks, own))
          expect(worlds.every((world) => isExact(asks, world, false))).toBe(true);
        for (const mayLack of [true, false])
          if (!possiblyExact(asks, own, mayLack))
            expect(worlds.some((world) => isExact(asks, world, mayLack))).toBe(false);
      }),
      { numRuns: runs / 3 },
    );
  });

  test("where every call and its place is known, nothing stays open", () => {
    const known = array(array(constantFrom<Match>("yes", "no"), { minLength: 3, maxLength: 3 }), {
      maxLength: 7,
    });
    assert(
      property(spans, known, (asks, calls) => {
        const own = calls.map((call) => [call.slice(0, asks.length)]);
        const world = own.map(([call]) => call!.map((match) => match === "yes"));
        const [inOrder, exact] = [isInOrder(asks, world), isExact(asks, world, false)];
        expect([certainlyInOrder(asks, own), possiblyInOrder(asks, own)]).toEqual([
          inOrder,
          inOrder,
        ]);
        expect([certainlyExact(asks, own), possiblyExact(asks, own, false)]).toEqual([
          exact,
          exact,
        ]);
      }),
      { numRuns: runs },
    );
  });
});
