import { appendFileSync, copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { judgeServer } from "../worlds/judge-server.ts";
import { says } from "../worlds/judging.ts";
import { ended, Workplace, type Printed } from "./upheld.ts";

const PROGRAM = join(import.meta.dirname, "../worlds/judge-program.mjs");
const CLAIMS = {
  subGoals: [
    { name: "polite", judged: "The agent was polite.", needs: ["transcript"] },
    { name: "honest", judged: "The agent says what it did.", needs: ["transcript", "files"] },
    { name: "refunded", judged: "A refund was booked.", needs: ["rows"] },
    {
      name: "written",
      condition: { kind: "content_written", uri: "workspace:/a.txt", match: "exact" },
    },
  ],
};

let place: Workplace;
let sealed = "";

beforeAll(async () => {
  place = new Workplace();
  const claims = place.write("claims.json", JSON.stringify(CLAIMS));
  sealed = join(place.path, "sealed.upheld");
  const agent = ["sh", "-c", "echo hello > a.txt; echo 'Gladly: I wrote a.txt.'"];
  const done = await place.upheld(["run", "--expect", claims, "--save", sealed, "--", ...agent]);
  if (!existsSync(sealed)) throw new Error(`nothing was sealed: ${done.stderr}`);
});

afterAll(() => place[Symbol.dispose]());

let copies = 0;

/** A copy of the bundle that nobody has judged. */
function freshBundle(): string {
  copies += 1;
  const path = join(place.path, `run-${copies}.upheld`);
  copyFileSync(sealed, path);
  return path;
}

const program = (...words: readonly string[]): string =>
  [process.execPath, PROGRAM, ...words].map((word) => JSON.stringify(word)).join(" ");
const fileOf = (bundle: string): string => `${bundle}.judgments.jsonl`;
const linesOf = (bundle: string): readonly string[] =>
  existsSync(fileOf(bundle)) ? readFileSync(fileOf(bundle), "utf8").trim().split("\n") : [];

async function json(args: readonly string[]) {
  const printed = await place.upheld(["judge", ...args, "--json"]);
  expect(printed.stdout, printed.stderr).not.toBe("");
  return { ...printed, report: JSON.parse(printed.stdout) };
}

describe("the exit code", () => {
  const transcriptOnly = { subGoals: CLAIMS.subGoals.slice(0, 1) };

  test.each<readonly [string, string, number, Record<string, number>]>([
    ["0: as expected", "yes", 0, { upheld: 1 }],
    ["1: not as expected", "no", 1, { refuted: 1 }],
    ["2: the judge cannot tell", "open", 2, { undecided: 1 }],
    ["5: the judge answers in another form", "broken", 5, { failed: 1 }],
    ["5: the judge's program fails", "fail", 5, { failed: 1 }],
  ])("%s", async (_name, answer, code, counts) => {
    const expected = place.write(`only-${answer}.json`, JSON.stringify(transcriptOnly));
    const bundle = freshBundle();
    const { code: seen, report } = await json([
      bundle,
      "--expect",
      expected,
      "--command",
      program(answer),
    ]);
    expect(report.counts).toMatchObject({
      claims: 1,
      upheld: 0,
      refuted: 0,
      undecided: 0,
      failed: 0,
      ...counts,
    });
    expect(seen).toBe(code);
  });

  test("2 with evidence missing, and the claim that code decided stays as it was", async () => {
    const { code, report } = await json([freshBundle(), "--command", program("yes")]);
    expect(code).toBe(2);
    expect(report.counts).toMatchObject({ claims: 3, upheld: 2, insufficient: 1 });
    const [{ subGoals }] = report.bundles;
    expect(
      subGoals.map((each: { name: string; decidedBy: string; held: boolean | null }) => [
        each.name,
        each.decidedBy,
        each.held,
      ]),
    ).toEqual([
      ["polite", "judge", true],
      ["honest", "judge", true],
      ["refunded", "judge", null],
      ["written", "code", true],
    ]);
  });

  test("1 goes before 5: a no is a no, whatever else failed", async () => {
    const good = freshBundle();
    await json([good, "--command", program("no")]);
    const broken = freshBundle();
    // The one has its answers already, the other is asked now.
    await using server = await judgeServer([{ status: 400 }]);
    const model = ["--model", "openai:m", "--url", server.url];
    expect((await json([broken, ...model])).code).toBe(5);
    const { code } = await json([good, "--command", program("no")]);
    expect(code).toBe(1);
  });

  test("3 where a bundle is not intact; the others are judged all the same", async () => {
    const [good, bad] = [freshBundle(), freshBundle()];
    const bytes = readFileSync(bad);
    bytes[2_000] = (bytes[2_000] ?? 0) ^ 1;
    writeFileSync(bad, bytes);
    const { code, report } = await json([bad, good, "--command", program("yes")]);
    expect(code).toBe(3);
    expect(report.bundles).toMatchObject([{ ok: false }, { ok: true }]);
    expect(linesOf(bad)).toEqual([]);
    expect(linesOf(good)).toHaveLength(3);
  });
});

test("the bundle stays what it is, and what was answered is not asked again", async () => {
  const bundle = freshBundle();
  const before = readFileSync(bundle);
  const log = join(place.path, "log-resume");
  const ask = (answer: string): Promise<Printed> =>
    place.upheld(["judge", bundle, "--command", program(answer)], { JUDGE_LOG: log });
  const first = await ask("yes");
  expect(first.stdout).toContain("3 new");
  const second = await ask("yes");
  expect(second.stdout).toContain("0 new, 3 from before");
  expect(readFileSync(log, "utf8")).toBe("1 polite,honest\n");
  expect(readFileSync(bundle).equals(before)).toBe(true);
  // A torn line is none; it is counted, and the rest holds.
  appendFileSync(fileOf(bundle), '{"schemaVersion":1,"id":');
  const third = await ask("yes");
  expect(third.stdout).toContain("1 line could not be read");
  expect(third.stdout).toContain("3 from before");
});

test("what failed is asked again, and only that", async () => {
  const bundle = freshBundle();
  const log = join(place.path, "log-failed");
  // The shell puts the variable in.
  const command = ["--command", program("$JUDGE_ANSWER")];
  const failed = await place.upheld(["judge", bundle, ...command], {
    JUDGE_LOG: log,
    JUDGE_ANSWER: "fail",
  });
  expect(failed.code).toBe(5);
  expect(failed.stdout).toContain("the judge failed at 2 claims");
  const done = await place.upheld(["judge", bundle, ...command], {
    JUDGE_LOG: log,
    JUDGE_ANSWER: "yes",
  });
  expect(done.stdout).toContain("2 new, 1 from before");
  expect(readFileSync(log, "utf8")).toBe("1 polite,honest\n2 polite,honest\n1 polite,honest\n");
});

test(
  "Ctrl-C ends the judge's program, and leaves what was recorded",
  { timeout: 60_000 },
  async () => {
    const bundle = freshBundle();
    const log = join(place.path, "log-interrupt");
    const child = place.start(["judge", bundle, "--command", program("yes", "50000")], {
      JUDGE_LOG: log,
    });
    const done = ended(child);
    while (!existsSync(log)) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill("SIGINT");
    const printed = await done;
    expect(printed.code).toBe(130);
    expect(printed.stderr).toContain("ended by SIGINT");
    // The claim whose evidence is missing needed no judge.
    expect(linesOf(bundle).map((line) => JSON.parse(line).claim.name)).toEqual(["refunded"]);
    const again = await json([bundle, "--command", program("yes")]);
    expect(again.report.counts).toMatchObject({ upheld: 2, insufficient: 1 });
  },
);

test("a panel of two programs and a model", async () => {
  await using server = await judgeServer((asked) => ({
    reply: {
      verdicts: [...asked.user.matchAll(/"id":"(\w+)"\}$/gm)].map(([, id = ""]) =>
        says(id, true, [{ evidence: "Gladly" }]),
      ),
    },
  }));
  const bundle = freshBundle();
  const judges = [
    "--command",
    program("yes"),
    "--command",
    program("open"),
    "--model",
    "anthropic:m",
    "--url",
    server.url,
  ];
  const { report, code } = await json([bundle, ...judges]);
  expect(code).toBe(2);
  expect(report.judge).toMatchObject({ kind: "panel", name: "panel of 3" });
  expect(report.counts).toMatchObject({ claims: 3, upheld: 2, insufficient: 1 });
  expect(linesOf(bundle)).toHaveLength(12);
});

test("recorded answers judge again, without the judge", async () => {
  const bundle = freshBundle();
  await json([bundle, "--command", program("yes")]);
  const { report } = await json([bundle, "--replay", fileOf(bundle)]);
  expect(report.judge.kind).toBe("replay");
  expect(report.counts).toMatchObject({ upheld: 2, insufficient: 1 });
});

test("a budget that is spent leaves claims unasked, and says so", async () => {
  const bundle = freshBundle();
  const printed = await place.upheld([
    "judge",
    bundle,
    "--command",
    program("yes"),
    "--budget-tokens",
    "10",
  ]);
  expect(printed.code).toBe(2);
  expect(printed.stdout).toContain("the budget was spent before 2 claims");
  expect(linesOf(bundle)).toHaveLength(1);
});

test("people's labels and a judge's verdicts, compared", async () => {
  const [one, two] = [freshBundle(), join(place.path, "second.upheld")];
  const agent = ["sh", "-c", "echo 'Gladly: I did nothing.'"];
  const claims = join(place.path, "claims.json");
  await place.upheld(["run", "--expect", claims, "--save", two, "--", ...agent]);
  await json([one, two, "--command", program("yes")]);
  const label = (bundle: string, held: string): Promise<Printed> =>
    place.upheld([
      "judge",
      bundle,
      "--person",
      "ana",
      "--decide",
      `polite=${held}`,
      "--cite",
      "transcript:/0",
    ]);
  expect((await label(one, "true")).stdout).toContain("upheld        polite");
  expect((await label(two, "false")).stdout).toContain("refuted       polite");
  const text = await place.upheld(["agreement", one, two]);
  expect(text.code).toBe(0);
  expect(text.stdout).toContain("agreement 50 % of 2 bundles (95 %: 9 % to 91 %)");
  const { agreements } = JSON.parse((await place.upheld(["agreement", one, two, "--json"])).stdout);
  expect(agreements).toMatchObject([
    { criterion: "polite", both: { heldHeld: 1, refutedHeld: 1 }, kappa: 0 },
  ]);
});

test("a judge that is shown more is asked again", async () => {
  const bundle = freshBundle();
  const less = await json([bundle, "--command", program("no"), "--evidence-bytes", "100"]);
  const [{ subGoals }] = less.report.bundles;
  expect(subGoals[0].verdict.gaps.map(({ code }: { code: string }) => code)).toEqual([
    "absence_unproven",
    "absence_unproven",
  ]);
  expect(less.code).toBe(2);
  const more = await json([bundle, "--command", program("no")]);
  expect(more.report.bundles[0].subGoals[0].verdict.value).toBe("refuted");
  expect(more.code).toBe(1);
});

test("judgments of another bundle bear on nothing", async () => {
  const bundle = freshBundle();
  const other = join(place.path, "other.upheld");
  const claims = join(place.path, "claims.json");
  await place.upheld(["run", "--expect", claims, "--save", other, "--", "true"]);
  await json([other, "--command", program("yes")]);
  copyFileSync(fileOf(other), fileOf(bundle));
  const { report } = await json([bundle, "--command", program("no")]);
  expect(report.bundles[0].judgmentsOfOtherBundles).toBe(3);
  expect(report.counts).toMatchObject({ upheld: 0 });
});

describe("a wrong use is refused before anybody is asked", () => {
  const missing = { ANTHROPIC_API_KEY: "", OPENAI_API_KEY: "" };
  test.each<readonly [string, readonly string[], RegExp]>([
    ["no judge", [], /who judges\?/],
    ["a model of no API", ["--model", "gpt"], /openai:gpt or anthropic:gpt/],
    ["no key", ["--model", "anthropic:m"], /ANTHROPIC_API_KEY holds no key/],
    [
      "a key that is not there",
      ["--model", "openai:m", "--key-env", "NO_SUCH_KEY"],
      /NO_SUCH_KEY holds no key/,
    ],
    [
      "http elsewhere",
      ["--model", "openai:m", "--url", "http://models.example.com/v1"],
      /must be https/,
    ],
    [
      "a budget in dollars without a price",
      ["--command", "true", "--budget-usd", "1"],
      /needs --price/,
    ],
    ["a price of one number", ["--command", "true", "--price", "3"], /two numbers/],
    ["no number", ["--command", "true", "--concurrency", "many"], /whole number/],
    ["a person who decides nothing", ["--person", "ana"], /needs --decide/],
    ["a decision of nobody", ["--decide", "polite=true"], /who decided/],
    [
      "a decision that is none",
      ["--person", "ana", "--decide", "polite=yes"],
      /expected CLAIM=true/,
    ],
    ["a claim that is not there", ["--person", "ana", "--decide", "kind=true"], /no claim kind/],
    [
      "a claim that code decides",
      ["--person", "ana", "--decide", "written=false"],
      /no claim written/,
    ],
  ])("%s", async (_name, args, says) => {
    const bundle = freshBundle();
    const printed = await place.upheld(["judge", bundle, ...args], missing);
    expect(printed.stderr).toMatch(says);
    expect(printed.code).toBe(64);
    expect(linesOf(bundle)).toEqual([]);
  });

  test("a key goes to no other address than its maker's unless it is named", async () => {
    await using server = await judgeServer([{ status: 400 }]);
    const model = ["judge", freshBundle(), "--model", "openai:m", "--url", server.url];
    const env = { OPENAI_API_KEY: "sk-secret", JUDGE_KEY: "sk-named" };
    await place.upheld(model, env);
    await place.upheld([...model, "--key-env", "JUDGE_KEY"], env);
    expect(server.asked.map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      "Bearer sk-named",
    ]);
  });
});
