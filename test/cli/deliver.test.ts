import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Spool } from "../../src/deliver/spool.ts";
import type { CollectorFault } from "../../src/testing/collector/fault.ts";
import {
  startCollectorStandIn,
  type CollectorStandIn,
} from "../../src/testing/collector/stand-in.ts";
import { Workplace, written, type Printed } from "./upheld.ts";

const TOKEN = "token-of-a-collector";
const ENV = { COLLECTOR_TOKEN: TOKEN };
const refuse = (status: number, code: string): CollectorFault => ({ kind: "status", status, code });

/** A run that writes the key, asked whether it did, and delivered. */
function run(
  place: Workplace,
  url: string,
  more: readonly string[] = [],
  agent: readonly string[] = ["sh", "-c", "echo key > out.txt"],
): Promise<Printed> {
  const claims = place.write("claims.json", written("key"));
  const bundle = join(place.path, "run.upheld");
  const delivery = ["--deliver", url, "--token", "env:COLLECTOR_TOKEN"];
  return place.upheld(
    ["run", "--expect", claims, "--save", bundle, ...delivery, ...more, "--", ...agent],
    ENV,
  );
}

const spools = (place: Workplace): readonly string[] => {
  const folder = join(place.state, "deliveries");
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
};

const deliver = (place: Workplace, args: readonly string[] = []): Promise<Printed> =>
  place.upheld(["deliver", ...args, "--token", "env:COLLECTOR_TOKEN"], ENV);

const start = (faults: readonly CollectorFault[] = []): Promise<CollectorStandIn> =>
  startCollectorStandIn({ token: TOKEN, faults });

describe("upheld run --deliver", () => {
  test("delivers the evidence and then the receipt, and leaves nothing behind", async () => {
    using place = new Workplace();
    await using collector = await start();
    const named = ["--job", "nightly", "--scenario", "write", "--scenario-attempt", "2"];
    const printed = await run(place, collector.url, named);
    expect(printed).toMatchObject({ code: 0 });
    expect(printed.stderr).toContain("evidence of write attempt 2 received");
    expect(collector.events.map(({ on, decision }) => `${on} ${decision}`)).toEqual([
      "artifact stored",
      "receipt stored",
    ]);
    expect(collector.receipts).toMatchObject([
      {
        jobId: "nightly",
        scenarioKey: "write",
        scenarioAttempt: 2,
        attemptNumber: 1,
        status: "passed",
        subGoals: [{ name: "written", held: true, judged: false, reason: null }],
      },
    ]);
    expect(spools(place)).toEqual([]);
  });

  const outcomes: readonly [string, readonly string[], number, object][] = [
    [
      "a claim that does not hold",
      ["true"],
      1,
      {
        status: "failed",
        subGoals: [{ held: false, reason: expect.stringContaining("workspace") }],
      },
    ],
    [
      "an agent that is ended by a signal",
      ["sh", "-c", "kill -9 $$"],
      4,
      { status: "errored", failure: { domain: "agent", code: "agent_signaled" } },
    ],
  ];
  test.for(outcomes)("tells of %s, and keeps the exit code", async ([, agent, code, receipt]) => {
    using place = new Workplace();
    await using collector = await start();
    const printed = await run(place, collector.url, [], agent);
    expect(printed.code).toBe(code);
    expect(collector.receipts).toMatchObject([receipt]);
    expect(collector.receipts[0]?.evidence).toMatch(/^sha256:/);
  });

  test("prints one JSON object, and nothing else, with --json", async () => {
    using place = new Workplace();
    await using collector = await start();
    const printed = await run(place, collector.url, ["--json"]);
    expect(JSON.parse(printed.stdout)).toMatchObject({ subGoals: [{ held: true }] });
  });

  test("sends no evidence at metadata-only, and says so here and there", async () => {
    using place = new Workplace();
    await using collector = await start();
    const printed = await run(place, collector.url, ["--level", "metadata-only"]);
    expect(printed).toMatchObject({ code: 0 });
    expect(printed.stderr).toContain("evidence is not sent: level_forbids");
    expect(collector.events.map(({ on }) => on)).toEqual(["receipt"]);
    const [receipt] = collector.receipts;
    expect(receipt?.evidence).toBeUndefined();
    expect(receipt?.notDelivered).toMatchObject([{ kind: "evidence", reason: "level_forbids" }]);
  });

  test("sends the receipt where the evidence is refused, and keeps what was refused", async () => {
    using place = new Workplace();
    await using collector = await start([refuse(422, "kind_unknown")]);
    const printed = await run(place, collector.url);
    expect(printed.code).toBe(0);
    expect(printed.stderr).toContain("refused (kind_unknown): the receipt goes without it");
    const [folder = ""] = spools(place);
    expect(printed.stderr).toContain(`what was refused is kept in ${folder}`);
    expect(readdirSync(join(folder, "artifacts")).length).toBe(1);
  });

  test("keeps everything where the token is not accepted, and hands the token to nobody", async () => {
    using place = new Workplace();
    await using collector = await startCollectorStandIn({ token: "another" });
    const agent = ["sh", "-c", 'echo "key [$COLLECTOR_TOKEN]" > out.txt; env > env.txt'];
    const printed = await run(place, collector.url, [], agent);
    expect(printed.code).toBe(5);
    expect(printed.stderr).toContain("does not accept the token");
    expect(readFileSync(join(place.root, "out.txt"), "utf8")).toBe("key []\n");
    const [folder = ""] = spools(place);
    const kept = ["queue.jsonl", "progress.jsonl"].map((name) =>
      readFileSync(join(folder, name), "utf8"),
    );
    for (const text of [
      ...kept,
      printed.stdout,
      printed.stderr,
      readFileSync(join(place.root, "env.txt"), "utf8"),
    ])
      expect(text).not.toContain(TOKEN);
  });

  test("keeps the token out of the evidence, also where the agent came by it", async () => {
    using place = new Workplace();
    await using collector = await start();
    const agent = ["sh", "-c", `echo "key ${TOKEN}" > out.txt`];
    const printed = await run(place, collector.url, [], agent);
    expect(printed).toMatchObject({ code: 0 });
    expect(printed.stdout).toContain("1 secret removed");
    const bundle = readFileSync(join(place.path, "run.upheld"));
    for (const bytes of [
      bundle,
      printed.stdout,
      printed.stderr,
      JSON.stringify(collector.receipts),
    ])
      expect(bytes.includes(TOKEN)).toBe(false);
  });

  const mistakes: readonly [string, readonly string[], RegExp][] = [
    [
      "no --save",
      ["--deliver", "https://c.example", "--token", "env:COLLECTOR_TOKEN", "--expect", "x"],
      /needs --save/,
    ],
    [
      "no --expect",
      ["--deliver", "https://c.example", "--token", "env:COLLECTOR_TOKEN", "--save", "x"],
      /needs --expect/,
    ],
    ["no --deliver", ["--token", "env:COLLECTOR_TOKEN"], /--token needs --deliver/],
    ["a job of nothing", ["--job", "a"], /--job needs --deliver/],
    [
      "http beyond this machine",
      [
        "--deliver",
        "http://c.example",
        "--token",
        "env:COLLECTOR_TOKEN",
        "--save",
        "x",
        "--expect",
        "x",
      ],
      /https is expected/,
    ],
    [
      "a token on the command line",
      ["--deliver", "https://c.example", "--token", "hunter2", "--save", "x", "--expect", "x"],
      /--token env:VAR is expected/,
    ],
    [
      "a variable that is not set",
      ["--deliver", "https://c.example", "--token", "env:NOT_SET", "--save", "x", "--expect", "x"],
      /NOT_SET is not set/,
    ],
    [
      "a level that is none",
      [
        "--deliver",
        "https://c.example",
        "--token",
        "env:COLLECTOR_TOKEN",
        "--save",
        "x",
        "--expect",
        "x",
        "--level",
        "all",
      ],
      /--level "all"/,
    ],
    [
      "attempt 0",
      [
        "--deliver",
        "https://c.example",
        "--token",
        "env:COLLECTOR_TOKEN",
        "--save",
        "x",
        "--expect",
        "x",
        "--attempt",
        "0",
      ],
      /--attempt 0/,
    ],
  ];
  test.for(mistakes)("starts no agent with %s", async ([, args, message]) => {
    using place = new Workplace();
    const printed = await place.upheld(["run", ...args, "--", "touch", "ran"], ENV);
    expect(printed.code).toBe(64);
    expect(printed.stderr).toMatch(message);
    expect(printed.stderr).not.toContain("hunter2");
    expect(existsSync(join(place.root, "ran"))).toBe(false);
  });
});

/** A run whose collector was away. */
async function waiting(place: Workplace, collector: CollectorStandIn): Promise<void> {
  collector.fail(refuse(401, "unauthorized"));
  expect((await run(place, collector.url)).code).toBe(5);
  expect(spools(place).length).toBe(1);
}

describe("upheld deliver", () => {
  test.for([
    ["everything", () => []],
    ["a folder of runs", (place: Workplace) => [join(place.state, "deliveries")]],
    ["one run", (place: Workplace) => spools(place)],
  ] as const)("sends later what waits: %s", async ([, argumentsOf]) => {
    using place = new Workplace();
    await using collector = await start();
    await waiting(place, collector);
    const printed = await deliver(place, argumentsOf(place));
    expect(printed).toMatchObject({ code: 0, stdout: "  deliver    1 receipt delivered\n" });
    expect(collector.receipts.length).toBe(1);
    expect(spools(place)).toEqual([]);
    const again = await deliver(place);
    expect(again).toMatchObject({ code: 0, stdout: "  deliver    nothing waits to be sent\n" });
  });

  test("sends to one collector at a time, and asks which", async () => {
    using place = new Workplace();
    await using one = await start();
    await using other = await start();
    await waiting(place, one);
    other.fail(refuse(401, "unauthorized"));
    await run(place, other.url);
    const printed = await deliver(place);
    expect(printed.code).toBe(64);
    expect(printed.stderr).toContain(one.url);
    expect((await deliver(place, ["--to", one.url])).code).toBe(0);
    expect([one.receipts.length, other.receipts.length]).toEqual([1, 0]);
    expect((await deliver(place)).code).toBe(0);
    expect(other.receipts.length).toBe(1);
  });

  test("leaves a spool alone that another process works on", async () => {
    using place = new Workplace();
    await using collector = await start();
    await waiting(place, collector);
    const [folder = ""] = spools(place);
    {
      using _held = new Spool(folder);
      const printed = await deliver(place);
      expect(printed.code).toBe(5);
      expect(printed.stderr).toContain("in the hands of another process");
    }
    expect((await deliver(place)).code).toBe(0);
  });

  test("says what was refused, and keeps it", async () => {
    using place = new Workplace();
    await using collector = await start();
    await waiting(place, collector);
    collector.fail(refuse(422, "kind_unknown"), refuse(409, "receipt_conflict"));
    const printed = await deliver(place);
    expect(printed).toMatchObject({
      code: 5,
      stdout: "  deliver    0 receipts delivered, 1 refused\n",
    });
    expect(printed.stderr).toContain("receipt of run attempt 1 refused (receipt_conflict)");
    expect(spools(place).length).toBe(1);
  });

  test("refuses a folder that is none", async () => {
    using place = new Workplace();
    const printed = await deliver(place, ["nowhere"]);
    expect(printed.code).toBe(64);
    expect(printed.stderr).toContain("no folder of deliveries");
  });
});
