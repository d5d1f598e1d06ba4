import { describe, expect, test } from "vitest";
import { agreementsOf } from "../../src/judge/agreement.ts";
import { judgeBundle } from "../../src/judge/judge-bundle.ts";
import type { Judgment } from "../../src/judge/judgment.ts";
import { personJudgment } from "../../src/judge/person.ts";
import { claim, evidenceOf, judgingMeans, says, scriptedJudge } from "../worlds/judging.ts";
import { conversation } from "../worlds/observations.ts";

const said = [conversation([{ text: "Hello." }])];
const cited = [{ evidence: "E1", quote: "Hello." }];

type Word = "yes" | "no" | "open" | "broken" | "silent";

/** Judgments over as many bundles as there are pairs: what people said, each, and what the judge came to. */
async function labelled(
  pairs: readonly (readonly [people: readonly (boolean | null)[], judge: Word])[],
): Promise<readonly Judgment[]> {
  const all: Judgment[] = [];
  for (const [index, [people, word]] of pairs.entries()) {
    const evidence = evidenceOf(said, { name: `bundle ${index}` });
    for (const [who, held] of people.entries())
      all.push(
        personJudgment(
          evidence,
          claim("c"),
          { person: `person ${who}`, held, reason: "r" },
          judgingMeans(),
        ),
      );
    if (word === "silent") continue;
    const answers = {
      yes: { verdicts: [says("c", true, cited)] },
      no: { verdicts: [says("c", false)] },
      open: { verdicts: [says("c", null)] },
      broken: "x",
    };
    const means = judgingMeans();
    await judgeBundle(evidence, [claim("c")], scriptedJudge([answers[word]]), means);
    all.push(...means.recorded);
  }
  return all;
}

const times = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);

async function agreementOf(pairs: Parameters<typeof labelled>[0]) {
  const [agreement, ...more] = agreementsOf(await labelled(pairs));
  expect(more).toEqual([]);
  if (agreement === undefined) throw new Error("no agreement");
  return agreement;
}

describe("agreement with people", () => {
  test("the table of a textbook: 20, 5, 10, 15 of 50 is a kappa of 0.4", async () => {
    const agreement = await agreementOf([
      ...times(20, [[true], "yes"] as const),
      ...times(5, [[true], "no"] as const),
      ...times(10, [[false], "yes"] as const),
      ...times(15, [[false], "no"] as const),
    ]);
    expect(agreement.both).toEqual({
      heldHeld: 20,
      heldRefuted: 5,
      refutedHeld: 10,
      refutedRefuted: 15,
    });
    expect(agreement.agreed).toBeCloseTo(0.7, 12);
    expect(agreement.kappa).toBeCloseTo(0.4, 12);
    expect(agreement.baseRate).toBeCloseTo(0.5, 12);
    // Wilson: 35 of 50.
    expect(agreement.agreedInterval?.lower).toBeCloseTo(0.5625, 3);
    expect(agreement.agreedInterval?.upper).toBeCloseTo(0.809, 3);
  });

  test("a judge that always says yes agrees often where yes is frequent, and its kappa is 0", async () => {
    const agreement = await agreementOf([...times(9, [[true], "yes"] as const), [[false], "yes"]]);
    expect(agreement).toMatchObject({ agreed: 0.9, baseRate: 0.9, kappa: 0 });
  });

  test("where both always say the same, kappa is not known", async () => {
    const agreement = await agreementOf(times(4, [[true], "yes"] as const));
    expect(agreement).toMatchObject({ agreed: 1, kappa: null, kappaInterval: null });
  });

  test("a few cases that all agree are no certainty", async () => {
    const agreement = await agreementOf([
      [[true], "yes"],
      [[false], "no"],
      [[true], "yes"],
    ]);
    expect(agreement.kappa).toBe(1);
    expect(agreement.kappaInterval?.lower).toBeLessThan(0);
    expect(agreement.kappaInterval?.upper).toBe(1);
    expect(agreement.agreedInterval?.lower).toBeLessThan(0.5);
  });

  test("what is open stands apart, and widens the bounds", async () => {
    const agreement = await agreementOf([
      [[true], "yes"],
      [[true], "open"],
      [[false], "broken"],
      [[false], "silent"],
      [[null], "yes"],
      [[true, false], "yes"],
    ]);
    expect(agreement.apart).toEqual({
      judgeUndecided: 1,
      judgeFailed: 1,
      notJudged: 1,
      peopleUndecided: 1,
      peopleDisagree: 1,
    });
    expect(agreement.both.heldHeld).toBe(1);
    expect(agreement.agreed).toBe(1);
    expect(agreement.bounds).toEqual({ lower: 0.25, upper: 1 });
  });

  test("a person's later word counts, and two who agree count once", async () => {
    const first = await labelled([[[false], "yes"]]);
    const second = await labelled([[[true, true], "yes"]]);
    const [agreement] = agreementsOf([...first, ...second]);
    expect(agreement?.both).toMatchObject({ heldHeld: 1, refutedHeld: 0 });
  });

  test("a failure stands back behind an answer, whichever came first", async () => {
    const answered = await labelled([[[true], "yes"]]);
    const broken = await labelled([[[true], "broken"]]);
    for (const all of [
      [...answered, ...broken],
      [...broken, ...answered],
    ]) {
      const [agreement] = agreementsOf(all);
      expect(agreement?.both.heldHeld).toBe(1);
      expect(agreement?.apart.judgeFailed).toBe(0);
    }
  });

  test("without a label there is none", async () => {
    expect(agreementsOf(await labelled([[[], "yes"]]))).toEqual([]);
    expect(agreementsOf(await labelled([[[true], "silent"]]))).toEqual([]);
  });
});
