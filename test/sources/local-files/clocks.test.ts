import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { statSync, utimesSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { timestampOf } from "../../../src/core/timestamp.ts";
import { fileSystemNow, isLocalDisk } from "../../../src/sources/local-files/filesystem.ts";
import { LocalFileSurfaceSource } from "../../../src/sources/local-files/source.ts";
import { ask, type AskOptions } from "../../worlds/observe-tree.ts";
import { hasPython, isLinux, NEEDLE, PYTHON, TREE_PROGRAMS, treeWorld } from "../../worlds/tree.ts";

// Times that lie: faults 23 to 25. A baseline needs no clock; a window says where it cannot tell.

const NO_PYTHON = "python3 is not there";
const HOUR_NS = 3_600_000_000_000n;

const windowed = (from: bigint, to: bigint) => ({
  scope: { window: [timestampOf(from), timestampOf(to)] as const },
});

describe.runIf(isLinux)("clocks", () => {
  const world = treeWorld();
  const source = new LocalFileSurfaceSource(
    { name: "workspace", directory: world.root },
    { limits: { clockSkewMs: 0 } },
  );
  afterEach(() => {
    world.clear();
  });
  afterAll(async () => {
    await source[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  const now = (): bigint => fileSystemNow(world.root) ?? BigInt(Date.now()) * 1_000_000n;
  const plain: AskOptions = { source, withBaseline: false };

  test("F23 a file from the future is counted by the baseline, and not known under a window", async () => {
    const act = (): void => {
      world.write("a.txt", NEEDLE);
      const ahead = new Date(Date.now() + 3_600_000);
      utimesSync(world.at("a.txt"), ahead, ahead);
    };
    const from = now();
    expect((await ask(world.root, {}, { source, act })).verdict.value).toBe("upheld");
    const { verdict, gaps } = await ask(world.root, windowed(from, now()), plain);
    expect(verdict.value).toBe("undetermined");
    expect(gaps).toContain("clock_uncertain");
  });

  test.each([-HOUR_NS, HOUR_NS])(
    "F23 a clock that jumped by %d ns in the run changes no verdict of a baseline",
    async (jump) => {
      // What a jumped clock leaves: every time of the run's files an hour off.
      const { verdict } = await ask(
        world.root,
        {},
        {
          source,
          act: () => {
            world.write("a.txt", NEEDLE);
            const at = new Date(Date.now() + Number(jump / 1_000_000n));
            utimesSync(world.at("a.txt"), at, at);
          },
        },
      );
      expect(verdict.value).toBe("upheld");
    },
  );

  test("F25 a planted file that is made to look new is not counted", async () => {
    world.write("planted.txt", NEEDLE);
    await sleep(50);
    const from = now();
    const { verdict } = await ask(
      world.root,
      {},
      {
        source,
        act: () => {
          execFileSync("touch", [world.at("planted.txt")]);
        },
      },
    );
    expect(verdict.value).toBe("refuted");
    // Its times say that the run may have written it: not known, and never a witness.
    const seen = await ask(world.root, windowed(from, now()), plain);
    expect(seen.verdict.value).toBe("undetermined");
    expect(seen.gaps).toContain("baseline_missing");
  });

  test("F25 a file of the run that is made to look old is counted, and not ruled out by a window", async () => {
    const from = now();
    const { verdict } = await ask(
      world.root,
      {},
      {
        source,
        act: () => {
          world.write("a.txt", NEEDLE);
          execFileSync("touch", ["-d", "2001-01-01", world.at("a.txt")]);
        },
      },
    );
    expect(verdict.value).toBe("upheld");
    expect((await ask(world.root, windowed(from, now()), plain)).verdict.value).not.toBe("refuted");
  });

  test("a file that was there long before the window is ruled out", async () => {
    world.write("d/old.txt", NEEDLE);
    await sleep(100);
    const from = now();
    await sleep(20);
    const { verdict, observation } = await ask(
      world.root,
      { ...windowed(from, now()), uri: "workspace:/d/**" },
      plain,
    );
    expect(verdict.value).toBe("refuted");
    expect(observation.payload.excludedOutsideScope).toBe(1);
  });

  test("a file that is born in the window is a witness", async () => {
    await sleep(50);
    const from = now();
    await sleep(20);
    world.write("a.txt", NEEDLE);
    await sleep(20);
    const { verdict } = await ask(world.root, windowed(from, now()), plain);
    expect(verdict.value).toBe("upheld");
  });

  test("F24 a store to a page that is dirty already moves no time, and the digest shows it", async (context) => {
    context.skip(!hasPython, NO_PYTHON);
    world.write("mapped.bin", Buffer.alloc(4_096, "x"));
    const writer = await world.start(PYTHON, [TREE_PROGRAMS, "mapped", world.at("mapped.bin")]);
    const before = statSync(world.at("mapped.bin"), { bigint: true });
    const { verdict } = await ask(
      world.root,
      {},
      {
        source,
        act: async () => {
          writer.stdin?.write(`${NEEDLE}\n`);
          if (writer.stdout !== null) await once(writer.stdout, "data");
        },
      },
    );
    const after = statSync(world.at("mapped.bin"), { bigint: true });
    expect([after.mtimeNs, after.ctimeNs]).toEqual([before.mtimeNs, before.ctimeNs]);
    expect(verdict.value).toBe("upheld");
  });

  test("F24 without digests it is flushed out at the baseline on a disk, else not known", async (context) => {
    context.skip(!hasPython, NO_PYTHON);
    await using stat = new LocalFileSurfaceSource(
      { name: "workspace", directory: world.root },
      { baselineLimits: { maxDigestBytes: 1 } },
    );
    world.write("mapped.bin", Buffer.alloc(4_096, "x"));
    const writer = await world.start(PYTHON, [TREE_PROGRAMS, "mapped", world.at("mapped.bin")]);
    await sleep(50);
    const { verdict, observation } = await ask(
      world.root,
      {},
      {
        source: stat,
        act: async () => {
          writer.stdin?.write(`${NEEDLE}\n`);
          if (writer.stdout !== null) await once(writer.stdout, "data");
        },
      },
    );
    // The flush write-protects the page, so that the next store moves the times: seen to differ, not proven by content.
    expect(verdict.value).toBe("undetermined");
    expect(observation.payload.entries.map(({ uri }) => uri)).toEqual(["workspace:/mapped.bin"]);
    expect(isLocalDisk("/proc")).toBe(false);
  });
});
