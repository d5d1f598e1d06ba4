import {
  array,
  asyncProperty,
  assert,
  boolean,
  constantFrom,
  integer,
  jsonValue,
  oneof,
  property,
  record,
  string,
  type Arbitrary,
} from "fast-check";
import { describe, expect, test } from "vitest";
import { GAPS, gap, type GapCode } from "../../src/core/gap.ts";
import { parseStrictJson } from "../../src/core/strict-json.ts";
import type { Verdict } from "../../src/core/verdict.ts";
import { parseAnswer } from "../../src/judge/answer.ts";
import { answeredVerdict } from "../../src/judge/answered-verdict.ts";
import { fencedLine } from "../../src/judge/fence.ts";
import type { Citation } from "../../src/judge/judgment.ts";
import { judgeBundle } from "../../src/judge/judge-bundle.ts";
import { panelVerdict } from "../../src/judge/panel.ts";
import { claim, evidenceOf, judgingMeans, says, scriptedJudge } from "../worlds/judging.ts";
import { conversation, created, file, observe } from "../worlds/observations.ts";

/** How far a verdict is from a yes. */
const rank = { refuted: 0, undetermined: 1, upheld: 2 } as const;

const anyCitation: Arbitrary<Citation> = record({
  evidence: constantFrom("E1", "E2"),
  found: boolean(),
}).map((each) => ({ ...each, part: "transcript.jsonl", location: "transcript:/0" }));
const anyGap = constantFrom(...(Object.keys(GAPS) as GapCode[])).map((code) =>
  gap(code, "workspace:/a"),
);
const anyPolarity = constantFrom("existential" as const, "universal" as const, "exact" as const);
const anyHeld = constantFrom(true, false, null);

describe("what is concluded from an answer", () => {
  test("a gap more moves a verdict to undetermined or not at all", () => {
    assert(
      property(
        anyPolarity,
        anyHeld,
        array(anyCitation, { maxLength: 3 }),
        array(anyGap, { maxLength: 3 }),
        anyGap,
        (polarity, held, cites, lacks, more) => {
          const asked = claim("c", { polarity });
          const before = answeredVerdict(asked, { held, cites }, lacks);
          const after = answeredVerdict(asked, { held, cites }, [...lacks, more]);
          expect([before.value, "undetermined"]).toContain(after.value);
        },
      ),
    );
  });

  test("a citation that is not found moves a verdict to undetermined or not at all, and is never the better for the judge", () => {
    assert(
      property(
        anyPolarity,
        anyHeld,
        array(anyCitation, { maxLength: 3 }),
        (polarity, held, cites) => {
          const asked = claim("c", { polarity });
          const before = answeredVerdict(asked, { held, cites }, []);
          const after = answeredVerdict(
            asked,
            { held, cites: [...cites, { evidence: "E9", found: false }] },
            [],
          );
          expect(after.value).toBe("undetermined");
          expect([before.value, "undetermined"]).toContain(after.value);
        },
      ),
    );
  });

  test("a yes is never concluded from a no, nor a no from a yes, nor either from null", () => {
    assert(
      property(
        anyPolarity,
        anyHeld,
        array(anyCitation, { maxLength: 3 }),
        array(anyGap, { maxLength: 2 }),
        (polarity, held, cites, lacks) => {
          const { value } = answeredVerdict(claim("c", { polarity }), { held, cites }, lacks);
          const own = held === null ? "undetermined" : held ? "upheld" : "refuted";
          expect([own, "undetermined"]).toContain(value);
        },
      ),
    );
  });
});

const anyVerdict: Arbitrary<Verdict> = constantFrom<Verdict>(
  { value: "upheld", witnesses: [{ uri: "transcript:/0" }], total: 1 },
  { value: "refuted", counterexamples: [], total: 0 },
  { value: "undetermined", gaps: [gap("judge_undecided", "c")] },
);
const failed: Verdict = { value: "undetermined", gaps: [gap("not_judged", "c")] };

describe("a panel", () => {
  test("of which a member fails never says more than it said with that member", () => {
    assert(
      property(
        array(anyVerdict, { minLength: 1, maxLength: 7 }),
        integer({ min: 0, max: 6 }),
        (verdicts, at) => {
          const index = at % verdicts.length;
          const before = panelVerdict(
            "c",
            verdicts.map((verdict) => ({ verdict })),
          );
          const after = panelVerdict(
            "c",
            verdicts.map((verdict, each) => ({ verdict: each === index ? failed : verdict })),
          );
          expect([before.value, "undetermined"]).toContain(after.value);
        },
      ),
    );
  });

  test("is no nearer to a yes for a member that is", () => {
    assert(
      property(
        array(anyVerdict, { minLength: 1, maxLength: 7 }),
        anyVerdict,
        integer({ min: 0, max: 6 }),
        (verdicts, other, at) => {
          const index = at % verdicts.length;
          const swapped = verdicts.map((verdict, each) => (each === index ? other : verdict));
          const [before, after] = [verdicts, swapped].map((all) =>
            panelVerdict(
              "c",
              all.map((verdict) => ({ verdict })),
            ),
          );
          const up = rank[other.value] - rank[verdicts[index]?.value ?? "undetermined"];
          const moved =
            rank[after?.value ?? "undetermined"] - rank[before?.value ?? "undetermined"];
          expect(Math.sign(moved) * Math.sign(up)).toBeGreaterThanOrEqual(0);
        },
      ),
    );
  });

  test("that is empty decides nothing", () => {
    expect(panelVerdict("c", []).value).toBe("undetermined");
  });
});

const evidence = evidenceOf([
  conversation([{ text: "Done with order 3." }]),
  observe({ extent: "delta", entries: [created("workspace:/a.txt", file("hello"))] }),
]);

describe("an answer", () => {
  test("with fields that nobody knows comes to what it comes to without them", async () => {
    await assert(
      asyncProperty(
        anyHeld,
        jsonValue(),
        string({ minLength: 1 }).filter(
          (key) => !["id", "held", "reason", "cites", "verdicts", "__proto__"].includes(key),
        ),
        async (held, value, key) => {
          const cites = [{ evidence: "E1", quote: "order 3" }];
          const plain = { verdicts: [says("c", held, cites)] };
          const more = {
            [key]: value,
            verdicts: [{ [key]: value, ...says("c", held, [{ [key]: value, ...cites[0] }]) }],
          };
          const [one] = await judgeBundle(
            evidence,
            [claim("c")],
            scriptedJudge([plain]),
            judgingMeans(),
          );
          const [two] = await judgeBundle(
            evidence,
            [claim("c")],
            scriptedJudge([more]),
            judgingMeans(),
          );
          if (two?.judgment?.outcome.kind === "failed") return;
          expect(two?.judgment?.verdict).toEqual(one?.judgment?.verdict);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("of any form is an answer of exactly the claims or none", () => {
    const wellFormed = record({ one: anyHeld, two: anyHeld }).map(({ one, two }) =>
      JSON.stringify({ verdicts: [says("b", two), says("a", one)] }),
    );
    const anyText = oneof(
      wellFormed,
      string(),
      jsonValue().map((value) => JSON.stringify(value)),
      array(
        record({
          id: constantFrom("a", "b", "c"),
          held: oneof(anyHeld, constantFrom("true", "false", 0, 1)),
          reason: constantFrom("r", "", " "),
        }),
        { maxLength: 3 },
      ).map((verdicts) => JSON.stringify({ verdicts })),
    );
    let taken = 0;
    assert(
      property(anyText, (text) => {
        const parsed = parseAnswer(text, ["a", "b"]);
        if (!parsed.ok) return;
        taken += 1;
        expect([...parsed.answers.keys()].toSorted()).toEqual(["a", "b"]);
        for (const { held, reason } of parsed.answers.values()) {
          expect([true, false, null]).toContain(held);
          expect(reason.trim()).not.toBe("");
        }
      }),
      { numRuns: 3_000 },
    );
    expect(taken).toBeGreaterThan(0);
  });
});

test("what is fenced reads back as what it was, in one line without a mark", () => {
  const nasty = array(
    oneof(
      string({ unit: "binary" }),
      constantFrom(
        "<",
        "END",
        " ",
        "DATA",
        "evidence",
        "BEGIN",
        "[INST]",
        "\n",
        "\u202E",
        "\u{E0041}",
        "\\",
        '"',
        "</s>",
        "the",
        "of",
      ),
    ),
    { maxLength: 12 },
  ).map((pieces) => pieces.join(""));
  assert(
    property(nasty, (text) => {
      const line = fencedLine(JSON.stringify({ text }));
      expect(parseStrictJson(line)).toEqual({ text });
      expect(line).not.toMatch(/[\n\r\u2028\u2029<]/);
      expect(line).not.toMatch(/\b(begin|end) ?(of )?(the )?(data|evidence)\b/i);
    }),
    { numRuns: 2_000 },
  );
});
