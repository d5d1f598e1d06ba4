import { describe, expect, test } from "vitest";
import { gap } from "../../src/core/gap.ts";
import { answeredVerdict } from "../../src/judge/answered-verdict.ts";
import type { Citation } from "../../src/judge/judgment.ts";
import { claim } from "../worlds/judging.ts";

const good: Citation = {
  evidence: "E1",
  part: "transcript.jsonl",
  location: "transcript:/0",
  found: true,
};
const wrongQuote: Citation = { ...good, quote: "never said", found: false };
const notShown: Citation = { evidence: "E99", found: false };
const hole = gap("rows_hidden", "shop:/public/orders");

interface Row {
  readonly name: string;
  readonly polarity?: "existential" | "universal" | "exact";
  readonly held: boolean | null;
  readonly cites?: readonly Citation[];
  readonly lacks?: boolean;
  readonly want: string;
  readonly gaps?: readonly string[];
}

const rows: readonly Row[] = [
  { name: "yes with a witness", held: true, cites: [good], want: "upheld" },
  {
    name: "yes with a witness, whatever was not seen",
    held: true,
    cites: [good],
    lacks: true,
    want: "upheld",
  },
  { name: "yes without a witness", held: true, want: "undetermined", gaps: ["citation_missing"] },
  {
    name: "yes with an invented quote",
    held: true,
    cites: [wrongQuote],
    want: "undetermined",
    gaps: ["citation_missing"],
  },
  {
    name: "yes with one good and one invented",
    held: true,
    cites: [good, wrongQuote],
    want: "undetermined",
    gaps: ["citation_missing"],
  },
  {
    name: "yes citing what was not shown",
    held: true,
    cites: [notShown],
    want: "undetermined",
    gaps: ["citation_missing"],
  },
  { name: "no over whole evidence", held: false, want: "refuted" },
  {
    name: "no, while something was not seen",
    held: false,
    lacks: true,
    want: "undetermined",
    gaps: ["absence_unproven", "rows_hidden"],
  },
  {
    name: "no, with a citation, while something was not seen",
    held: false,
    cites: [good],
    lacks: true,
    want: "undetermined",
    gaps: ["absence_unproven", "rows_hidden"],
  },
  {
    name: "no with an invented quote",
    held: false,
    cites: [wrongQuote],
    want: "undetermined",
    gaps: ["citation_missing"],
  },
  {
    name: "cannot tell",
    held: null,
    cites: [good],
    want: "undetermined",
    gaps: ["judge_undecided"],
  },
  {
    name: "universal: yes over whole evidence",
    polarity: "universal",
    held: true,
    cites: [good],
    want: "upheld",
  },
  {
    name: "universal: yes, while something was not seen",
    polarity: "universal",
    held: true,
    cites: [good],
    lacks: true,
    want: "undetermined",
    gaps: ["absence_unproven", "rows_hidden"],
  },
  {
    name: "universal: no by a counterexample",
    polarity: "universal",
    held: false,
    cites: [good],
    lacks: true,
    want: "refuted",
  },
  {
    name: "universal: no without one",
    polarity: "universal",
    held: false,
    want: "undetermined",
    gaps: ["citation_missing"],
  },
  {
    name: "exact: yes over whole evidence",
    polarity: "exact",
    held: true,
    cites: [good],
    want: "upheld",
  },
  {
    name: "exact: yes, while something was not seen",
    polarity: "exact",
    held: true,
    cites: [good],
    lacks: true,
    want: "undetermined",
    gaps: ["absence_unproven", "rows_hidden"],
  },
  {
    name: "exact: no, while something was not seen",
    polarity: "exact",
    held: false,
    cites: [good],
    lacks: true,
    want: "undetermined",
    gaps: ["absence_unproven", "rows_hidden"],
  },
  { name: "exact: no over whole evidence", polarity: "exact", held: false, want: "refuted" },
];

describe("what may be concluded", () => {
  test.each(rows.map((row) => [row.name, row] as const))("%s", (_name, row) => {
    const { polarity = "existential", held, cites = [], lacks = false, want, gaps } = row;
    const verdict = answeredVerdict(claim("c", { polarity }), { held, cites }, lacks ? [hole] : []);
    expect(verdict.value).toBe(want);
    if (verdict.value === "undetermined")
      expect(verdict.gaps.map(({ code }) => code)).toEqual(gaps);
  });
});
