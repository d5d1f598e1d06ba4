import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { DEFAULT_LIMITS, type Limits } from "../../../src/core/limits.ts";
import type { ConfinedRoot } from "../../../src/sources/local-files/confined.ts";
import { Aborted, Meter } from "../../../src/sources/local-files/meter.ts";
import { openProcRoot } from "../../../src/sources/local-files/proc-root.ts";
import type { Result, Task } from "../../../src/sources/local-files/protocol.ts";
import { EntryBuilder } from "../../../src/sources/local-files/entries.ts";
import { openLook } from "../../../src/sources/local-files/shared-look.ts";
import { LocalFileSurfaceSource } from "../../../src/sources/local-files/source.ts";
import { TaskRunner } from "../../../src/sources/local-files/task-runner.ts";
import { isLinux, treeWorld, type TreeWorld } from "../../worlds/tree.ts";
import { requestOf } from "../../worlds/observe-tree.ts";
import { counting, openHandles } from "./counted-root.ts";

const soak = process.env["UPHELD_SOAK"] === "1";

const stop = (): Int32Array => new Int32Array(new SharedArrayBuffer(4));

function observeTask(limits: Limits, baseline?: number): Task {
  return {
    kind: "observe",
    ...(baseline === undefined ? {} : { baseline }),
    readsAgain: true,
    strict: false,
    limits,
    deltaLimits: { ...DEFAULT_LIMITS, ...limits },
    requests: [
      {
        uri: "workspace:/**",
        match: "glob",
        extent: "candidates",
        probes: [],
        labelsOrAttempt: false,
      },
    ],
  };
}

function runnerOf(world: TreeWorld, open?: (directory: string) => ConfinedRoot): TaskRunner {
  return new TaskRunner({ name: "workspace", directory: world.root }, open);
}

/** The directories above a file. */
function parentsOf(path: string): string[] {
  const names = path.split("/").slice(0, -1);
  return names.map((_, at) => names.slice(0, at + 1).join("/"));
}

function answerOf(result: Result) {
  if (result.kind !== "answers") throw new Error(`the runner answered ${result.kind}`);
  const [answer] = openLook(result.look);
  if (answer === undefined) throw new Error("no answer");
  const builder = new EntryBuilder(answer);
  const { listed, readBytes, gaps } = answer;
  return {
    listed,
    readBytes,
    gaps,
    entries: Array.from({ length: builder.count }, (_, at) => builder.entry(at)),
  };
}

const refusal = (code: string) => (): never => {
  throw Object.assign(new Error(code), { code });
};

describe.runIf(isLinux)("what is really asked of the system", () => {
  const world = treeWorld();
  afterAll(() => world[Symbol.asyncDispose]());

  const tree = fc.array(
    fc.record({
      path: fc
        .array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 4 })
        .map((names) => names.join("/")),
      size: fc.nat({ max: 3_000 }),
    }),
    { maxLength: 30 },
  );
  const limits = fc.record({
    maxFiles: fc.integer({ min: 1, max: 20 }),
    maxListedEntries: fc.integer({ min: 1, max: 40 }),
    maxReadBytes: fc.integer({ min: 1, max: 20_000 }),
    maxContentBytes: fc.integer({ min: 1, max: 2_000 }),
    maxRetainedBytes: fc.integer({ min: 1, max: 10_000 }),
  });

  test("never exceeds the limits, whatever the tree", () => {
    fc.assert(
      fc.property(tree, limits, (files, chosen) => {
        world.clear();
        for (const { path, size } of files) world.write(`${path}.f`, Buffer.alloc(size, "x"));
        const all = { ...DEFAULT_LIMITS, ...chosen };
        const { seam, answer } = counting((seen) => ({
          seam: seen,
          answer: answerOf(runnerOf(world).perform(observeTask(all), new Meter(stop()))),
        }));
        expect(answer.listed).toBeLessThanOrEqual(chosen.maxListedEntries);
        // In each directory one name more has to be met, to know that there are more.
        const directories = new Set(files.flatMap(({ path }) => parentsOf(path)));
        expect(seam.listed).toBeLessThanOrEqual(chosen.maxListedEntries + directories.size + 1);
        expect(seam.readBytes).toBeLessThanOrEqual(chosen.maxReadBytes);
        expect(answer.entries.length).toBeLessThanOrEqual(chosen.maxFiles);
        const kept = answer.entries.map(({ now }) => now?.content?.value.length ?? 0);
        expect(Math.max(0, ...kept)).toBeLessThanOrEqual(chosen.maxContentBytes);
        expect(kept.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(
          chosen.maxRetainedBytes,
        );
        // What is told of the cost is what it was.
        expect(answer.listed).toBeLessThanOrEqual(seam.listed);
        expect(answer.readBytes).toBe(seam.readBytes);
        // And nothing is left out in silence.
        const whole = new Set(files.map(({ path }) => path)).size;
        if (answer.gaps.length === 0) expect(answer.entries).toHaveLength(whole);
      }),
      { numRuns: soak ? 3_000 : 60 },
    );
  });

  test("F30 L60 an abort at any call stops at once, and leaves no handle", () => {
    world.clear();
    for (let at = 0; at < 12; at += 1) world.write(`d${at % 3}/e/f${at}.txt`, Buffer.alloc(2_000));
    world.write("large.bin", Buffer.alloc(5 << 20));
    const runner = runnerOf(world);
    const held = runner.perform(
      { kind: "baseline", limits: DEFAULT_LIMITS, readsAgain: true },
      new Meter(stop()),
    );
    if (held.kind !== "baseline") throw new Error("no baseline");
    world.write("d1/new.txt", "new");
    const tasks: readonly Task[] = [
      observeTask(DEFAULT_LIMITS),
      observeTask(DEFAULT_LIMITS, held.facts.baseline),
      { kind: "baseline", limits: DEFAULT_LIMITS, readsAgain: true },
    ];
    for (const task of tasks) {
      const total = counting((seam) => {
        runner.perform(task, new Meter(stop()));
        return seam.calls;
      });
      expect(total).toBeGreaterThan(50);
      const before = openHandles();
      for (let at = 1; at < total; at += soak ? 1 : 3) {
        const flag = stop();
        const { calls, listed, readBytes } = counting(
          (seam) => {
            try {
              runner.perform(task, new Meter(flag));
            } catch (error) {
              expect(error).toBeInstanceOf(Aborted);
            }
            return seam;
          },
          (seam) => {
            if (seam.calls === at) Atomics.store(flag, 0, 1);
          },
        );
        // The call under way ends, handles are closed; no entry, and no chunk but the one under way, is touched any more.
        const after = counting((seam) => seam).calls;
        expect(after).toBe(0);
        expect(calls - at).toBeLessThanOrEqual(80);
        expect(listed).toBeLessThanOrEqual(at);
        expect(readBytes).toBeLessThanOrEqual(at * (1 << 20));
      }
      expect(openHandles()).toBe(before);
    }
  });

  test("F30 after an abort the count stands still", () => {
    world.clear();
    for (let at = 0; at < 40; at += 1) world.write(`f${at}.txt`, Buffer.alloc(100, "x"));
    for (const at of [5, 30, 60, 120, 200]) {
      const flag = stop();
      const meter = new Meter(flag);
      let touched = "";
      counting(
        () => {
          expect(() => runnerOf(world).perform(observeTask(DEFAULT_LIMITS), meter)).toThrow(
            Aborted,
          );
        },
        (seam) => {
          if (seam.calls !== at) return;
          Atomics.store(flag, 0, 1);
          touched = JSON.stringify(meter.touched);
        },
      );
      const { listed, readBytes } = JSON.parse(touched) as typeof meter.touched;
      expect(meter.touched.listed - listed).toBeLessThanOrEqual(1);
      expect(meter.touched.readBytes - readBytes).toBeLessThanOrEqual(100);
    }
  });

  test.each(["ESTALE", "ELOOP", "ENAMETOOLONG", "EPERM", "EIO"])(
    "L54 a file that will not open is told with its reason: %s",
    (code) => {
      world.clear();
      world.write("a.txt");
      const open = (directory: string): ConfinedRoot => ({
        ...openProcRoot(directory),
        openFile: refusal(code),
        openAgain: refusal(code),
      });
      const result = runnerOf(world, open).perform(observeTask(DEFAULT_LIMITS), new Meter(stop()));
      expect(answerOf(result).entries.map(({ now }) => now?.unread)).toEqual([
        { code: "read_failed", detail: code },
      ]);
    },
  );

  test.each([
    ["ESTALE", "listing_failed"],
    ["ENAMETOOLONG", "listing_failed"],
    ["EPERM", "listing_failed"],
    // It is a link by now, which the listing said it was not.
    ["ELOOP", "changed_during_walk"],
  ])("L54 a directory that will not open is told with its reason: %s", (code, gap) => {
    world.clear();
    world.write("d/a.txt");
    const open = (directory: string): ConfinedRoot => ({
      ...openProcRoot(directory),
      openDirectory: refusal(code),
    });
    const result = runnerOf(world, open).perform(observeTask(DEFAULT_LIMITS), new Meter(stop()));
    expect(answerOf(result).gaps).toContainEqual(
      expect.objectContaining({ code: gap, location: "workspace:/d", detail: code }),
    );
  });

  test("L19 a root that was replaced meanwhile", () => {
    world.clear();
    world.write("a.txt");
    const open = (directory: string): ConfinedRoot => {
      const confined = openProcRoot(directory);
      return {
        ...confined,
        list: (held, each) => {
          confined.list(held, each);
          renameSync(world.root, join(world.base, "moved"));
          mkdirSync(world.root);
          writeFileSync(join(world.root, "other.txt"), "other");
        },
      };
    };
    const result = runnerOf(world, open).perform(observeTask(DEFAULT_LIMITS), new Meter(stop()));
    const answer = answerOf(result);
    expect(answer.gaps.map(({ code }) => code)).toContain("root_replaced");
    expect(JSON.stringify(answer)).not.toContain("other.txt");
  });
});

describe.runIf(isLinux)("an abort reaches the worker", () => {
  const world = treeWorld();
  afterAll(() => world[Symbol.asyncDispose]());

  test.each([0, 1, 5, 20, 100])(
    "L60 after %d ms it rejects with the reason within 50 ms",
    async (delayMs) => {
      world.clear();
      for (let at = 0; at < 2_000; at += 1) world.write(`d${at % 20}/f${at}.txt`, "content");
      world.write("large.bin", Buffer.alloc(200 << 20));
      await using source = new LocalFileSurfaceSource(
        { name: "workspace", directory: world.root },
        { limits: { maxReadBytes: 1_000_000_000 } },
      );
      await source.observe([requestOf({ uri: "workspace:/none" })]);
      const reason = new Error("given up");
      const controller = new AbortController();
      const asked = source.observe([requestOf()], { signal: controller.signal });
      const settled = asked.then(
        () => "answered",
        (error: unknown) => error,
      );
      await sleep(delayMs);
      const from = performance.now();
      controller.abort(reason);
      const end = await settled;
      const tookMs = performance.now() - from;
      if (end === "answered") return;
      expect(end).toBe(reason);
      // The grace is 40 ms; the rest is a busy machine's.
      expect(tookMs).toBeLessThan(soak ? 50 : 250);
      // The same worker goes on with the next question.
      const [next] = await source.observe([requestOf({ uri: "workspace:/d1/*" })]);
      expect(next?.acquisition).toBe("complete");
    },
    60_000,
  );
});
