import { spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { Spool } from "../../src/deliver/spool.ts";
import type { CollectorFault } from "../../src/testing/collector/fault.ts";
import {
  startCollectorStandIn,
  type CollectorStandIn,
} from "../../src/testing/collector/stand-in.ts";
import { clientOf, drained, SpoolWorld } from "../worlds/delivery.ts";

const PROGRAM = join(import.meta.dirname, "../worlds/delivering.mjs");
const ROUNDS = process.env["UPHELD_SOAK"] === "1" ? 200 : 12;

const FAULTS: readonly CollectorFault[] = [
  { kind: "lost_answer" },
  { kind: "close_mid_body" },
  { kind: "status", status: 503 },
  { kind: "garbage" },
];

/** Lets it save some entries and a little more, then kills it; the keys that it said were saved. */
async function killed(
  folder: string,
  { url }: CollectorStandIn,
  round: number,
): Promise<readonly string[]> {
  const child = spawn(process.execPath, [PROGRAM, folder, url, `round${round}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const entries = 1 + ((round * 5) % 11);
  let printed = "";
  const hasSaved = new Promise<void>((resolve) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
      if (printed.split("\n").length > entries) resolve();
    });
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  await Promise.race([hasSaved, ended]);
  await sleep(((round * 0.618_034) % 1) * 80);
  child.kill("SIGKILL");
  await ended;
  expect(child.exitCode, "it came to work and went on").toBe(null);
  return printed.split("\n").slice(0, -1);
}

test(
  `killed at ${ROUNDS} moments, nothing that was saved is lost, and nothing has an effect twice`,
  { timeout: 60_000 + ROUNDS * 8_000 },
  async () => {
    using world = new SpoolWorld();
    await using collector = await startCollectorStandIn();
    const saved: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      collector.fail(...FAULTS.slice(round % FAULTS.length));
      saved.push(...(await killed(world.folder, collector, round)));
    }
    const interrupted = collector.receipts.length;
    using spool = new Spool(world.folder);
    const last = await drained(spool, collector.url, clientOf(collector));
    expect(last).toMatchObject({ waiting: 0, refused: 0, stopped: null });

    const received = collector.receipts.map(({ scenarioKey }) => scenarioKey);
    expect(saved.length).toBeGreaterThan(ROUNDS);
    expect(interrupted).toBeGreaterThan(0);
    expect(saved.filter((key) => !received.includes(key))).toEqual([]);
    // In their order; what was saved and not yet said stands between.
    expect(received.filter((key) => saved.includes(key))).toEqual(saved);
    const storedOf = (on: string): readonly string[] =>
      collector.events
        .filter((event) => event.on === on && event.decision === "stored")
        .map(({ digest }) => digest);
    for (const on of ["artifact", "receipt"])
      expect(new Set(storedOf(on)).size, on).toBe(storedOf(on).length);
    expect(storedOf("artifact").length).toBe(storedOf("receipt").length);
    const decisions = new Set(collector.events.map(({ decision }) => decision));
    expect(decisions).toEqual(new Set(["stored", "duplicate", null]));
  },
);
