import { describe, expect, test } from "vitest";
import { budgetOf } from "../../src/judge/budget.ts";
import { judgeBundle } from "../../src/judge/judge-bundle.ts";
import { Judgment } from "../../src/judge/judgment.ts";
import { JUDGE_LIMITS } from "../../src/judge/limits.ts";
import { judgeByPanel } from "../../src/judge/panel.ts";
import { personJudgment } from "../../src/judge/person.ts";
import { replayJudge } from "../../src/judge/replay.ts";
import { fateOf, judgingCost, judgingCounts } from "../../src/judge/summary.ts";
import { claim, evidenceOf, judgingMeans, says, scriptedJudge } from "../worlds/judging.ts";
import { conversation, created, file, observe } from "../worlds/observations.ts";

const evidence = evidenceOf([
  conversation([{ role: "user", text: "Cancel order 3." }, { text: "I cancelled order 3." }]),
  observe({ extent: "delta", entries: [created("workspace:/a.txt", file("hello"))] }),
]);
const cited = [{ evidence: "E2", quote: "cancelled order 3" }];
const failure = { kind: "failure", code: "server_error", detail: "HTTP 500", retry: true };

describe("a judge that fails", () => {
  test.each<readonly [string, readonly unknown[], string, string]>([
    [
      "at first, and then answers",
      [failure, { verdicts: [says("c", true, cited)] }],
      "upheld",
      "upheld",
    ],
    ["twice", [failure, failure], "undetermined", "failed"],
    [
      "with a malformed answer first",
      ["{", { verdicts: [says("c", false)] }],
      "refuted",
      "refuted",
    ],
    [
      "with a malformed answer twice",
      [{ verdicts: [says("c", "false")] }],
      "undetermined",
      "failed",
    ],
    [
      "with an answer to other claims",
      [{ verdicts: [says("d", true, cited)] }],
      "undetermined",
      "failed",
    ],
  ])("%s", async (_name, answers, want, fate) => {
    const judge = scriptedJudge(answers);
    const means = judgingMeans();
    const [judged] = await judgeBundle(evidence, [claim("c")], judge, means);
    expect(judged?.judgment?.verdict.value).toBe(want);
    expect(fateOf(judged?.judgment)).toBe(fate);
    expect(judge.asked).toHaveLength(2);
    expect(judge.asked[0]).not.toBe(judge.asked[1]);
    expect(judged?.judgment?.asking?.attempts).toBe(2);
    expect(means.recorded).toHaveLength(1);
    for (const each of means.recorded) expect(Judgment.parse(each)).toEqual(each);
  });

  test("finally is not asked again, and one that wants to wait too long neither", async () => {
    for (const given of [
      { ...failure, retry: false },
      { ...failure, retryAfterMs: 3_600_000 },
    ]) {
      const judge = scriptedJudge([given]);
      const [judged] = await judgeBundle(evidence, [claim("c")], judge, judgingMeans());
      expect(fateOf(judged?.judgment)).toBe("failed");
      expect(judge.asked).toHaveLength(1);
    }
  });

  test("is waited for as long as it asks", async () => {
    const waits: number[] = [];
    const judge = scriptedJudge([
      { ...failure, retryAfterMs: 7_000 },
      { verdicts: [says("c", null)] },
    ]);
    const wait = async (milliseconds: number): Promise<void> => {
      waits.push(milliseconds);
      return Promise.resolve();
    };
    await judgeBundle(evidence, [claim("c")], judge, judgingMeans({ wait }));
    expect(waits).toEqual([7_000]);
  });

  test("takes no other question with it", async () => {
    const limits = { ...JUDGE_LIMITS, maxClaims: 1 };
    const judge = scriptedJudge([
      (user: string) =>
        user.includes("bad is so") ? "no JSON" : { verdicts: [says("good", true, cited)] },
    ]);
    const judged = await judgeBundle(
      evidence,
      [claim("bad"), claim("good")],
      judge,
      judgingMeans({ limits }),
    );
    expect(judged.map(({ judgment }) => fateOf(judgment))).toEqual(["failed", "upheld"]);
    expect(judgingCounts(judged)).toEqual({
      claims: 2,
      upheld: 1,
      refuted: 0,
      undecided: 0,
      insufficient: 0,
      failed: 1,
      unaffordable: 0,
    });
  });
});

test("an answer too long to be read is no answer", async () => {
  const long = { verdicts: [says("c", true, cited, "x".repeat(JUDGE_LIMITS.maxAnswerBytes))] };
  const [judged] = await judgeBundle(evidence, [claim("c")], scriptedJudge([long]), judgingMeans());
  expect(fateOf(judged?.judgment)).toBe("failed");
  expect(judged?.judgment?.asking).toMatchObject({ rawBytes: expect.any(Number) });
  expect(judged?.judgment?.asking?.raw?.length).toBeLessThanOrEqual(65_536);
});

test("claims go into questions of ten, and are told in their order", async () => {
  const claims = Array.from({ length: 23 }, (_, at) => claim(`c${at}`));
  const judge = scriptedJudge([
    (user: string) => ({
      verdicts: [...user.matchAll(/^\{"claim":"[^"]*","id":"(c\d+)"\}$/gm)]
        .map(([, id = ""]) => says(id, null))
        .toReversed(),
    }),
  ]);
  const judged = await judgeBundle(evidence, claims, judge, judgingMeans());
  expect(judge.asked).toHaveLength(3);
  expect(judged.map(({ claim: { name } }) => name)).toEqual(claims.map(({ name }) => name));
  expect(judged.every(({ judgment }) => fateOf(judgment) === "undecided")).toBe(true);
  expect(judgingCost(judged.flatMap(({ judgment }) => judgment ?? []))).toMatchObject({
    questions: 3,
    attempts: 3,
  });
});

describe("what a judge has answered is not asked again", () => {
  test.each<readonly [string, unknown, number]>([
    ["yes", says("c", true, cited), 1],
    ["no", says("c", false), 1],
    ["cannot tell", says("c", null), 1],
    ["a yes that cites nothing is asked again", says("c", true), 2],
    ["a malformed one is asked again", says("c", "true"), 4],
  ])("%s", async (_name, verdict, calls) => {
    const judge = scriptedJudge([{ verdicts: [verdict] }]);
    const first = judgingMeans();
    await judgeBundle(evidence, [claim("c")], judge, first);
    const second = judgingMeans({ earlier: first.recorded });
    const [again] = await judgeBundle(evidence, [claim("c")], judge, second);
    expect(judge.asked).toHaveLength(calls);
    expect(again?.isNew).toBe(second.recorded.length === 1);
    expect(again?.judgment?.verdict).toEqual(first.recorded[0]?.verdict);
  });

  test.each<readonly [string, Parameters<typeof claim>[1], string | undefined, string | undefined]>(
    [
      ["but another text is", { text: "Something else." }, undefined, undefined],
      ["but another polarity is", { polarity: "universal" }, undefined, undefined],
      ["but other needs are", { needs: ["transcript"] }, undefined, undefined],
      ["but another judge is", {}, "another", undefined],
      ["but over another bundle it is", {}, undefined, "another bundle"],
    ],
  )("%s", async (_name, changed, judgeName, bundle) => {
    const answer = [{ verdicts: [says("c", true, cited)] }];
    const first = judgingMeans();
    await judgeBundle(evidence, [claim("c")], scriptedJudge(answer), first);
    const judge = scriptedJudge(answer, judgeName);
    const other =
      bundle === undefined ? evidence : evidenceOf(evidence.observations, { name: bundle });
    await judgeBundle(
      other,
      [claim("c", changed)],
      judge,
      judgingMeans({ earlier: first.recorded }),
    );
    expect(judge.asked).toHaveLength(1);
  });

  test("and the first answer stands, whatever came later", async () => {
    const first = judgingMeans();
    await judgeBundle(
      evidence,
      [claim("c")],
      scriptedJudge([{ verdicts: [says("c", false)] }]),
      first,
    );
    const later = judgingMeans();
    await judgeBundle(
      evidence,
      [claim("c")],
      scriptedJudge([{ verdicts: [says("c", true, cited)] }]),
      later,
    );
    const judge = scriptedJudge([]);
    const earlier = [...first.recorded, ...later.recorded];
    const [judged] = await judgeBundle(evidence, [claim("c")], judge, judgingMeans({ earlier }));
    expect(judged?.judgment?.verdict.value).toBe("refuted");
  });
});

const undecided = (user: string): unknown => {
  const id = /"id":"(\w)"/.exec(user)?.[1] ?? "";
  return {
    kind: "answer",
    text: JSON.stringify({ verdicts: [says(id, null)] }),
    usage: { inputTokens: 900, outputTokens: 100 },
  };
};

describe("a budget", () => {
  const claims = [claim("a"), claim("b")];
  const limits = { ...JUDGE_LIMITS, maxClaims: 1 };
  test.each<readonly [string, Parameters<typeof budgetOf>[0], number]>([
    ["of tokens, enough for all", { tokens: 10_000 }, 2],
    ["of tokens, enough for one", { tokens: 3_000 }, 1],
    ["of tokens, enough for none", { tokens: 500 }, 0],
    ["of dollars, enough for one", { usd: 0.02, price: { input: 1, output: 12 } }, 1],
  ])("%s", async (_name, limit, calls) => {
    const judge = scriptedJudge([undecided]);
    const means = judgingMeans({ limits, budget: budgetOf(limit) });
    const judged = await judgeBundle(evidence, claims, judge, means);
    expect(judge.asked).toHaveLength(calls);
    expect(judgingCounts(judged)).toMatchObject({ undecided: calls, unaffordable: 2 - calls });
    expect(means.recorded).toHaveLength(calls);
  });

  test("is counted by what the judge says it used", async () => {
    const judge = scriptedJudge([undecided]);
    const budget = budgetOf({ tokens: 3_200 });
    await judgeBundle(evidence, [claim("a")], judge, judgingMeans({ budget }));
    await judgeBundle(evidence, [claim("b")], judge, judgingMeans({ budget }));
    await judgeBundle(evidence, [claim("c")], judge, judgingMeans({ budget }));
    expect(judge.asked).toHaveLength(2);
  });
});

test("a price makes a cost, of all attempts", async () => {
  const usage = { inputTokens: 1_000, outputTokens: 100, model: "m-1" };
  const text = JSON.stringify({ verdicts: [says("c", null)] });
  const judge = scriptedJudge([
    { kind: "answer", text: "{", usage },
    { kind: "answer", text, usage },
  ]);
  const [judged] = await judgeBundle(
    evidence,
    [claim("c")],
    judge,
    judgingMeans({ price: { input: 3, output: 15 } }),
  );
  expect(judged?.judgment?.asking).toMatchObject({
    attempts: 2,
    model: "m-1",
    inputTokens: 2_000,
    outputTokens: 200,
    costUsd: 0.009,
    raw: text,
  });
});

test("ending it rejects with the reason, and records nothing more", async () => {
  const controller = new AbortController();
  const reason = new Error("enough");
  const means = judgingMeans({ signal: controller.signal });
  const judge = scriptedJudge([
    () => {
      controller.abort(reason);
      return failure;
    },
  ]);
  await expect(judgeBundle(evidence, [claim("c")], judge, means)).rejects.toThrow("enough");
  expect(means.recorded).toEqual([]);
});

describe("a panel", () => {
  const yes = { verdicts: [says("c", true, cited)] };
  const no = { verdicts: [says("c", false)] };
  const open = { verdicts: [says("c", null)] };

  test.each<
    readonly [
      string,
      readonly unknown[],
      string,
      string,
      { agreed: number; decided: number } | null,
    ]
  >([
    ["all yes", [yes, yes, yes], "upheld", "upheld", { agreed: 3, decided: 3 }],
    ["two of three yes", [yes, no, yes], "upheld", "upheld", { agreed: 2, decided: 3 }],
    ["two of three no", [no, no, yes], "refuted", "refuted", { agreed: 2, decided: 3 }],
    ["two yes, one open", [yes, yes, open], "upheld", "upheld", { agreed: 2, decided: 2 }],
    [
      "one yes, two open",
      [yes, open, open],
      "undetermined",
      "undecided",
      { agreed: 1, decided: 1 },
    ],
    ["a tie of two", [yes, no], "undetermined", "undecided", { agreed: 1, decided: 2 }],
    ["a tie of four", [yes, no, no, yes], "undetermined", "undecided", { agreed: 2, decided: 4 }],
    ["one yes, two failed", [yes, "x", "x"], "undetermined", "failed", { agreed: 1, decided: 1 }],
    ["two yes, one failed", [yes, yes, "x"], "upheld", "upheld", { agreed: 2, decided: 2 }],
    ["all failed", ["x", "x"], "undetermined", "failed", null],
    ["all open", [open, open, open], "undetermined", "undecided", null],
  ])("%s", async (_name, answers, want, fate, agreement) => {
    const judges = answers.map((answer, at) => scriptedJudge([answer], `judge-${at}`));
    const means = judgingMeans();
    const [judged] = await judgeByPanel(evidence, [claim("c")], judges, means);
    expect(judged?.judgment?.verdict.value).toBe(want);
    expect(fateOf(judged?.judgment)).toBe(fate);
    expect(judged?.judgment?.outcome).toMatchObject({ kind: "panel", agreement });
    expect(means.recorded).toHaveLength(answers.length + 1);
    for (const each of means.recorded) expect(Judgment.parse(each)).toEqual(each);
  });

  test("is not asked again, and not recorded again", async () => {
    const judges = [yes, yes].map((answer, at) => scriptedJudge([answer], `judge-${at}`));
    const first = judgingMeans();
    await judgeByPanel(evidence, [claim("c")], judges, first);
    const second = judgingMeans({ earlier: first.recorded });
    const [again] = await judgeByPanel(evidence, [claim("c")], judges.toReversed(), second);
    expect(again?.isNew).toBe(false);
    expect(second.recorded).toEqual([]);
    expect(judges.map(({ asked }) => asked.length)).toEqual([1, 1]);
  });

  test("of which a member lacks evidence lacks it", async () => {
    const judges = [scriptedJudge([], "a"), scriptedJudge([], "b")];
    const [judged] = await judgeByPanel(
      evidence,
      [claim("c", { needs: ["rows"] })],
      judges,
      judgingMeans(),
    );
    expect(fateOf(judged?.judgment)).toBe("insufficient");
  });
});

describe("recorded answers", () => {
  test("are decided anew, and come to the same", async () => {
    const first = judgingMeans();
    const judge = scriptedJudge(
      [
        (user: string) =>
          user.includes("d is so") ? "broken" : { verdicts: [says("c", true, cited)] },
      ],
      "first",
    );
    const limits = { ...JUDGE_LIMITS, maxClaims: 1 };
    const before = await judgeBundle(evidence, [claim("c"), claim("d")], judge, {
      ...first,
      limits,
    });
    const again = await judgeBundle(
      evidence,
      [claim("c"), claim("d")],
      replayJudge(first.recorded),
      judgingMeans({ limits }),
    );
    expect(again.map(({ judgment }) => judgment?.verdict)).toEqual(
      before.map(({ judgment }) => judgment?.verdict),
    );
    expect(again[0]?.judgment?.judge).toMatchObject({ kind: "replay", name: "first" });
  });

  test("to another question are none", async () => {
    const first = judgingMeans();
    await judgeBundle(
      evidence,
      [claim("c")],
      scriptedJudge([{ verdicts: [says("c", true, cited)] }]),
      first,
    );
    const [judged] = await judgeBundle(
      evidence,
      [claim("c", { text: "Other." })],
      replayJudge(first.recorded),
      judgingMeans(),
    );
    expect(judged?.judgment?.outcome).toMatchObject({ kind: "failed", code: "not_recorded" });
  });
});

const decide = (held: boolean | null, location?: string, quote?: string) =>
  personJudgment(
    evidence,
    claim("c"),
    {
      person: "ana",
      held,
      reason: "I looked.",
      ...(location === undefined ? {} : { cites: [{ location, quote }] }),
    },
    judgingMeans(),
  );

describe("a person", () => {
  test.each<readonly [string, Judgment, string]>([
    ["who says yes and points at it", decide(true, "transcript:/1", "cancelled"), "upheld"],
    ["who says yes and points at nothing", decide(true), "undetermined"],
    ["who quotes what is not there", decide(true, "transcript:/1", "refunded"), "undetermined"],
    ["who points at what is not there", decide(true, "transcript:/9"), "undetermined"],
    ["who says no", decide(false), "refuted"],
    ["who cannot tell", decide(null), "undetermined"],
  ])("%s", (_name, judgment, want) => {
    expect(Judgment.parse(judgment)).toEqual(judgment);
    expect(judgment.verdict.value).toBe(want);
    expect(judgment.judge).toMatchObject({ kind: "person", name: "ana" });
  });
});

test("a judgment without an answer has no verdict, whoever writes it", async () => {
  const means = judgingMeans();
  await judgeBundle(evidence, [claim("c")], scriptedJudge(["x"]), means);
  const forged = { ...means.recorded[0], verdict: { value: "upheld", witnesses: [], total: 0 } };
  expect(Judgment.safeParse(forged).success).toBe(false);
});
