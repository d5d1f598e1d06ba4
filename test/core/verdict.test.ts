import { array, assert, constantFrom, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { foldGaps, gap, MAX_LOCATED_GAPS } from "../../src/core/gap.ts";
import {
  all,
  any,
  majority,
  MAX_SHOWN_REFS,
  not,
  refuted,
  undetermined,
  upheld,
  Verdict,
  type VerdictValue,
} from "../../src/core/verdict.ts";

const UPHELD = upheld([{ uri: "workspace:/x" }]);
const REFUTED = refuted([{ uri: "workspace:/y" }]);
const OPEN = undetermined([gap("listing_failed", "workspace:/z")]);
const verdictOf = { upheld: UPHELD, refuted: REFUTED, undetermined: OPEN } as const;
const values = array(constantFrom<VerdictValue>("upheld", "refuted", "undetermined"), {
  minLength: 1,
  maxLength: 6,
});

/** Three-valued by trying every way in which the unknowns could come out: decided where all agree. */
function oracle(
  parts: readonly VerdictValue[],
  holds: (known: readonly boolean[]) => boolean,
): VerdictValue {
  const outcomes = new Set<boolean>();
  const open = parts.filter((part) => part === "undetermined").length;
  for (let bits = 0; bits < 2 ** open; bits += 1) {
    let next = 0;
    outcomes.add(
      holds(
        parts.map((part) =>
          part === "undetermined" ? ((bits >> next++) & 1) === 1 : part === "upheld",
        ),
      ),
    );
  }
  if (outcomes.size === 2) return "undetermined";
  return outcomes.has(true) ? "upheld" : "refuted";
}

describe("composition", () => {
  const joins = [
    { name: "all", join: all, holds: (known: readonly boolean[]) => known.every(Boolean) },
    { name: "any", join: any, holds: (known: readonly boolean[]) => known.some(Boolean) },
    {
      name: "majority",
      join: majority,
      holds: (known: readonly boolean[]) => known.filter(Boolean).length * 2 > known.length,
    },
    {
      name: "not",
      join: ([only]: readonly Verdict[]) => not(only ?? OPEN),
      holds: ([only]: readonly boolean[]) => only === false,
    },
  ];

  test.each(joins)("$name is Kleene's", ({ name, join, holds }) => {
    assert(
      property(values, (drawn) => {
        const parts = name === "not" ? drawn.slice(0, 1) : drawn;
        const joined = join(parts.map((part) => verdictOf[part]));
        expect(joined.value).toBe(oracle(parts, holds));
        expect(Verdict.safeParse(joined).success).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each(joins.filter(({ name }) => name !== "not"))(
    "$name of nothing is nothing to decide",
    ({ join }) => {
      expect(join([])).toEqual(undetermined([gap("nothing_to_decide", "composite")]));
    },
  );

  test("of not is its own inverse", () => {
    for (const verdict of Object.values(verdictOf)) expect(not(not(verdict))).toEqual(verdict);
  });

  test("all and any are each other's dual", () => {
    assert(
      property(values, (parts) => {
        const verdicts = parts.map((part) => verdictOf[part]);
        expect(not(all(verdicts)).value).toBe(any(verdicts.map(not)).value);
      }),
    );
  });

  test("keeps every gap of what is open", () => {
    const other = undetermined([gap("read_failed", "workspace:/a")]);
    expect(all([UPHELD, OPEN, other])).toEqual(
      undetermined([gap("listing_failed", "workspace:/z"), gap("read_failed", "workspace:/a")]),
    );
  });
});

describe("a verdict", () => {
  test("cannot be undetermined without a gap", () => {
    expect(Verdict.safeParse({ value: "undetermined", gaps: [] }).success).toBe(false);
    expect(Verdict.safeParse(OPEN).success).toBe(true);
  });

  test("shows so many witnesses and counts all", () => {
    const verdict = upheld(
      Array.from({ length: MAX_SHOWN_REFS + 5 }, (_, index) => ({ uri: `workspace:/${index}` })),
    );
    expect(verdict).toMatchObject({ total: MAX_SHOWN_REFS + 5 });
    expect(verdict.value === "upheld" && verdict.witnesses.length).toBe(MAX_SHOWN_REFS);
  });
});

describe("folded gaps", () => {
  test("stand once each, and beyond the limit are counted", () => {
    const many = Array.from({ length: MAX_LOCATED_GAPS + 3 }, (_, index) =>
      gap("read_failed", `workspace:/${index}`),
    );
    const folded = foldGaps([...many, ...many.slice(0, 5), gap("not_text", "workspace:/a")]);
    expect(folded).toHaveLength(MAX_LOCATED_GAPS + 2);
    expect(folded.find((each) => each.detail === "and further places")?.count).toBe(3);
    expect(folded.at(-1)?.code).toBe("not_text");
  });
});
