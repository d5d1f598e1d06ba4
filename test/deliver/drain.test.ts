import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { CollectorFault } from "../../src/testing/collector/fault.ts";
import {
  startCollectorStandIn,
  type CollectorStandIn,
} from "../../src/testing/collector/stand-in.ts";
import { additionOf, clientOf, drained, SpoolWorld } from "../worlds/delivery.ts";
import { attempt } from "../worlds/receipts.ts";

const refuse = (status: number, code?: string): CollectorFault =>
  code === undefined ? { kind: "status", status } : { kind: "status", status, code };
const silence: readonly CollectorFault[] = Array.from({ length: 8 }, () => ({ kind: "close" }));
const broken = Array.from({ length: 8 }, () => refuse(500));

/** What a collector stored, in its order: "artifact" and "receipt". */
const stored = ({ events }: CollectorStandIn): readonly string[] =>
  events.filter(({ decision }) => decision === "stored").map(({ on }) => on);

describe("a spool is emptied", () => {
  test("in its order, each artifact before the receipt that names it", async () => {
    using world = new SpoolWorld();
    await using collector = await startCollectorStandIn();
    using spool = world.open();
    for (const scenarioKey of ["a", "b", "c"])
      spool.add(await additionOf(collector.url, attempt({ scenarioKey }), { text: scenarioKey }));
    spool.add(await additionOf(collector.url, attempt({ scenarioKey: "d" })));
    const result = await drained(spool, collector.url, clientOf(collector));
    expect(result).toMatchObject({ delivered: 4, waiting: 0, stopped: null, refused: 0 });
    expect(stored(collector).join(" ")).toBe(
      "artifact receipt artifact receipt artifact receipt receipt",
    );
    expect(collector.receipts.map(({ scenarioKey }) => scenarioKey)).toEqual(["a", "b", "c", "d"]);
    expect(readdirSync(join(world.folder, "artifacts"))).toEqual([]);
  });

  test("for one collector at a time", async () => {
    using world = new SpoolWorld();
    await using collector = await startCollectorStandIn();
    using spool = world.open();
    spool.add(await additionOf("https://other.example", attempt()));
    spool.add(await additionOf(collector.url, attempt({ scenarioKey: "b" })));
    const result = await drained(spool, collector.url, clientOf(collector));
    expect(result).toMatchObject({ delivered: 1, waiting: 1 });
    expect(spool.waiting.map(({ to }) => to)).toEqual(["https://other.example"]);
  });

  test("twice, with no second effect", async () => {
    using world = new SpoolWorld();
    await using collector = await startCollectorStandIn();
    for (const _round of [1, 2]) {
      using other = new SpoolWorld();
      using spool = other.open();
      spool.add(await additionOf(collector.url, attempt(), { text: "a" }));
      const result = await drained(spool, collector.url, clientOf(collector));
      expect(result).toMatchObject({ delivered: 1 });
    }
    expect(collector.events.map(({ decision }) => decision)).toEqual([
      "stored",
      "stored",
      "duplicate",
      "duplicate",
    ]);
    expect(world.folder).toBeDefined();
  });
});

/** A first request that goes wrong for good, and what comes of three entries: a with evidence, a again, and b. */
const table: readonly {
  readonly name: string;
  readonly faults: readonly CollectorFault[];
  readonly told: readonly string[];
  readonly result: object;
}[] = [
  {
    name: "a refused kind: the receipt goes without it",
    faults: [refuse(422, "kind_unknown")],
    told: [
      "evidence refused kind_unknown",
      "receipt received",
      "receipt received",
      "receipt received",
    ],
    result: { delivered: 3, withoutArtifacts: 1, waiting: 0, stopped: null },
  },
  {
    name: "a refused receipt: the others go on",
    faults: [refuse(422, "kind_unknown"), refuse(422, "receipt_invalid")],
    told: [
      "evidence refused kind_unknown",
      "receipt refused receipt_invalid",
      "receipt received",
      "receipt received",
    ],
    result: { delivered: 2, refused: 1, waiting: 0, stopped: null },
  },
  {
    name: "an artifact of an attempt that is overtaken: its receipt is not sent",
    faults: [refuse(409, "attempt_superseded")],
    told: ["evidence refused attempt_superseded", "receipt received", "receipt received"],
    result: { delivered: 2, superseded: 1, refused: 0, waiting: 0 },
  },
  {
    name: "a wrong token: everything stops",
    faults: [refuse(401, "unauthorized")],
    told: ["evidence fenced"],
    result: { delivered: 0, waiting: 3, stopped: "fenced" },
  },
  {
    name: "a forbidden job: everything stops",
    faults: [refuse(403)],
    told: ["evidence fenced"],
    result: { delivered: 0, waiting: 3, stopped: "fenced" },
  },
  {
    name: "silence: everything waits",
    faults: silence,
    told: ["evidence unanswered"],
    result: { delivered: 0, waiting: 3, stopped: "unanswered" },
  },
  {
    name: "5xx: later attempts at that scenario wait, others go on",
    faults: broken,
    told: ["evidence unanswered", "receipt received"],
    result: { delivered: 1, waiting: 2, stopped: null },
  },
  {
    name: "one page of something else: that scenario waits",
    faults: [refuse(404)],
    told: ["evidence foreign", "receipt received"],
    result: { delivered: 1, waiting: 2, stopped: null },
  },
];

describe("what goes wrong for good", () => {
  test.for(table)("$name", async ({ faults, told, result }) => {
    using world = new SpoolWorld();
    await using collector = await startCollectorStandIn({ faults });
    using spool = world.open();
    spool.add(await additionOf(collector.url, attempt(), { text: "a" }));
    spool.add(await additionOf(collector.url, attempt({ scenarioAttempt: 2 })));
    spool.add(await additionOf(collector.url, attempt({ scenarioKey: "b" })));
    const first = await drained(spool, collector.url, clientOf(collector));
    expect(first.told).toEqual(told);
    expect(first).toMatchObject(result);
    const second = await drained(spool, collector.url, clientOf(collector));
    expect(second.waiting).toBe(0);
    expect(new Set(stored(collector)).has("receipt")).toBe(true);
    expect(collector.events.filter(({ decision }) => decision === "receipt_conflict")).toEqual([]);
  });

  test("three pages of something else: the address is taken to be wrong", async () => {
    using world = new SpoolWorld();
    await using collector = await startCollectorStandIn({
      faults: [404, 405, 404].map((status) => refuse(status)),
    });
    using spool = world.open();
    for (const scenarioKey of ["a", "b", "c", "d"])
      spool.add(await additionOf(collector.url, attempt({ scenarioKey })));
    const result = await drained(spool, collector.url, clientOf(collector));
    expect(result).toMatchObject({ stopped: "foreign", waiting: 4, refused: 0 });
    expect(collector.events.length).toBe(3);
  });

  test("a level that forbids evidence: the receipt says so, and names none", async () => {
    using world = new SpoolWorld();
    await using collector = await startCollectorStandIn({ policy: { level: "metadata-only" } });
    using spool = world.open();
    const addition = await additionOf(collector.url, attempt(), { text: "a" });
    spool.add(addition);
    await drained(spool, collector.url, clientOf(collector));
    const [receipt] = collector.receipts;
    expect(receipt?.evidence).toBeUndefined();
    expect(receipt?.notDelivered).toEqual([
      { kind: "evidence", digest: addition.receipt.evidence, reason: "level_forbids" },
    ]);
    // Its bytes are kept: they were added, and are nowhere else.
    expect(readdirSync(join(world.folder, "artifacts")).length).toBe(1);
  });

  test("a refused artifact stays refused after a crash before its receipt was answered", async () => {
    using world = new SpoolWorld();
    await using collector = await startCollectorStandIn({
      faults: [refuse(422, "kind_unknown"), ...silence],
    });
    {
      using spool = world.open();
      spool.add(await additionOf(collector.url, attempt(), { text: "a" }));
      const result = await drained(spool, collector.url, clientOf(collector));
      expect(result).toMatchObject({ delivered: 0, waiting: 1 });
    }
    using spool = world.open();
    const result = await drained(spool, collector.url, clientOf(collector));
    expect(result.told).toEqual(["receipt received"]);
    expect(collector.receipts[0]?.notDelivered?.[0]?.reason).toBe("kind_unknown");
  });

  test("bytes that are gone are told of", async () => {
    using world = new SpoolWorld();
    await using collector = await startCollectorStandIn();
    using spool = world.open();
    spool.add(await additionOf(collector.url, attempt(), { text: "a" }));
    rmSync(join(world.folder, "artifacts"), { recursive: true });
    const result = await drained(spool, collector.url, clientOf(collector));
    expect(result.told).toEqual(["evidence refused artifact_lost", "receipt received"]);
    expect(collector.receipts[0]?.notDelivered?.[0]?.reason).toBe("artifact_lost");
  });

  test("a spent budget is asked for once: then reserved kinds alone are sent", async () => {
    using world = new SpoolWorld();
    await using collector = await startCollectorStandIn({
      policy: { budgetBytes: 10, hardCapBytes: 1e9 },
    });
    using spool = world.open();
    for (const scenarioKey of ["a", "b"]) {
      const addition = await additionOf(collector.url, attempt({ scenarioKey }), {
        text: scenarioKey,
      });
      const logs = addition.artifacts.map((each) => ({ ...each, kind: "log" }));
      const { evidence: _none, ...rest } = addition.receipt;
      expect(rest.status).toBe("passed");
      const bare = await additionOf(collector.url, attempt({ scenarioKey }));
      spool.add({ ...bare, artifacts: logs });
    }
    spool.add(await additionOf(collector.url, attempt({ scenarioKey: "c" }), { text: "c" }));
    const result = await drained(spool, collector.url, clientOf(collector));
    expect(result.told).toEqual([
      "log refused budget_spent",
      "receipt received",
      "log refused budget_spent",
      "receipt received",
      "evidence received",
      "receipt received",
    ]);
    const artifacts = collector.events.filter(({ on }) => on === "artifact");
    expect(artifacts.map(({ decision }) => decision)).toEqual(["budget_spent", "stored"]);
  });
});

test("an abort leaves what was not received waiting", async () => {
  using world = new SpoolWorld();
  await using collector = await startCollectorStandIn();
  using spool = world.open();
  for (const scenarioKey of ["a", "b"])
    spool.add(await additionOf(collector.url, attempt({ scenarioKey })));
  const { drainSpool } = await import("../../src/deliver/drain.ts");
  const controller = new AbortController();
  const reason = new Error("enough");
  const work = drainSpool(spool, {
    to: collector.url,
    client: clientOf(collector),
    tell: () => controller.abort(reason),
    signal: controller.signal,
  });
  await expect(work).rejects.toBe(reason);
  expect(spool.waiting.map(({ receipt }) => receipt.scenarioKey)).toEqual(["b"]);
});
