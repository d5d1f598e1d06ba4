import { createHash } from "node:crypto";
import { appendFileSync, symlinkSync } from "node:fs";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import * as fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { Matcher } from "../../../src/core/matcher.ts";
import type { ConfinedRoot } from "../../../src/sources/local-files/confined.ts";
import { readFiles } from "../../../src/sources/local-files/list-reader.ts";
import { columnsOf, FLAG, type Manifest } from "../../../src/sources/local-files/manifest.ts";
import { Aborted, Budget, Meter, SharedBudget } from "../../../src/sources/local-files/meter.ts";
import { proberOf } from "../../../src/sources/local-files/probe.ts";
import { openProcRoot } from "../../../src/sources/local-files/proc-root.ts";
import { ReadingList } from "../../../src/sources/local-files/reading-list.ts";
import { readAll } from "../../../src/sources/local-files/reading-team.ts";
import {
  HELP,
  SecondThread,
  type HelpOrder,
  type SharedTask,
  type SharedWork,
} from "../../../src/sources/local-files/second-thread.ts";
import { SmallestFirst } from "../../../src/sources/local-files/smallest-first.ts";
import { filesOf } from "../../../src/sources/local-files/traverse.ts";
import { walk } from "../../../src/sources/local-files/walk.ts";
import { isLinux, treeWorld, type TreeWorld } from "../../worlds/tree.ts";
import { openHandles } from "./counted-root.ts";

const PROBES = [Matcher.parse({ kind: "contains", value: "xx" })];

/** So many bytes are worth a second thread, however many there are. */
const MUCH = Number.MAX_SAFE_INTEGER;

const listing = (): Budget => new Budget(100_000);
const stop = (): Int32Array => new Int32Array(new SharedArrayBuffer(4));

interface Reading {
  readonly list: ReadingList;
  readonly tree: Manifest;
  readonly meter: Meter;
}

interface Wanted {
  readonly keepBytes: number;
  readonly isProbed: boolean;
  readonly allowed?: number;
}

/** Second threads over the built program, which have taken their first files before this thread takes any. */
class Seconds {
  readonly #directory: string;
  readonly #ends: Promise<unknown>[] = [];
  readonly tasks: SharedTask[] = [];
  readonly works: SharedWork[] = [];

  constructor(directory: string) {
    this.#directory = directory;
  }

  beside(confined: ConfinedRoot, meter: Meter): SecondThread {
    const second = SecondThread.of((order) => this.#start(order), confined, meter);
    if (second === undefined) throw new Error("the meter cannot be shared");
    const share = second.share.bind(second);
    second.share = (work, tree) => {
      const task = share(work, tree);
      this.works.push(work);
      this.tasks.push(task);
      const cursor = new Int32Array(work.list.cursor);
      while (task.state[0] === HELP.asked) Atomics.wait(task.state, 0, HELP.asked, 5);
      while (Atomics.load(task.state, 0) === HELP.working && Atomics.load(cursor, 0) === 0)
        Atomics.wait(cursor, 0, 0, 1);
      return task;
    };
    return second;
  }

  #start(order: HelpOrder): void {
    const script = new URL("../../../dist/sources/local-files/second-reader.js", import.meta.url);
    const worker = new Worker(script, {
      workerData: { ...order, directory: this.#directory },
      transferList: [order.port],
    });
    this.#ends.push(once(worker, "exit"));
  }

  get threads(): number {
    return this.#ends.length;
  }

  async ended(): Promise<void> {
    await Promise.all(this.#ends);
  }
}

function plan(world: TreeWorld, wanted: readonly Wanted[], spareBytes: number) {
  const confined = openProcRoot(world.root);
  const meter = new Meter(stop());
  const { tree } = walk(confined, { meter, listing: listing() });
  const list = new ReadingList(PROBES);
  let at = 0;
  let planned = 0;
  for (const node of filesOf(tree)) {
    const wish = wanted[at % wanted.length] ?? { keepBytes: 0, isProbed: false };
    const size = tree.sizes.get(node);
    const isCut = wish.allowed !== undefined && wish.allowed < size;
    const { allowed: _, ...rest } = wish;
    list.add(node, isCut ? wish : rest);
    planned += isCut ? (wish.allowed ?? 0) : size;
    at += 1;
  }
  list.begin(spareBytes, 100);
  return { confined, meter, tree, list, planned };
}

function outcome({ list, tree, meter }: Reading): unknown {
  return {
    files: Array.from({ length: list.count }, (_, index) => ({
      isWhole: list.isWhole(index),
      digest: list.isWhole(index) ? tree.digests.get(list.node(index))?.toString("hex") : "",
      miss: list.miss(index),
      found: list.found(index, 0),
      size: tree.sizes.get(list.node(index)),
    })),
    kept: list.kept.toString("hex"),
    touched: meter.touched,
    spare: list.spare.left,
  };
}

describe.runIf(isLinux)("two threads read as one does", () => {
  const world = treeWorld();
  afterAll(() => world[Symbol.asyncDispose]());

  test("the same digests, findings, kept heads, misses and counts, whatever the tree", async () => {
    const sizes = fc.array(fc.nat({ max: 3_000 }), { minLength: 130, maxLength: 400 });
    const wishes = fc.array(
      fc.record(
        {
          keepBytes: fc.nat({ max: 500 }),
          isProbed: fc.boolean(),
          allowed: fc.integer({ min: 1, max: 800 }),
        },
        { requiredKeys: ["keepBytes", "isProbed"] },
      ),
      { minLength: 1, maxLength: 5 },
    );
    await fc.assert(
      fc.asyncProperty(sizes, wishes, fc.nat({ max: 2_000_000 }), async (all, wanted, spare) => {
        world.clear();
        for (const [at, size] of all.entries())
          world.write(`d${at % 7}/e${at % 3}/f${at}`, Buffer.alloc(size, at % 4 === 0 ? "x" : "y"));
        const alone = plan(world, wanted, spare);
        readFiles(alone.list, { ...alone, prober: proberOf(PROBES) });
        const both = plan(world, wanted, spare);
        const seconds = new Seconds(world.root);
        using second = seconds.beside(both.confined, both.meter);
        readAll(both.list, { ...both, prober: proberOf(PROBES) }, MUCH, second);
        expect(seconds.tasks.map(({ state }) => state[0])).toEqual([HELP.ended]);
        expect(outcome(both)).toEqual(outcome(alone));
        alone.confined[Symbol.dispose]();
        both.confined[Symbol.dispose]();
        second[Symbol.dispose]();
        await seconds.ended();
      }),
      { numRuns: 6 },
    );
  }, 120_000);

  test("together they never read more than was planned and spared, also of files that grow", async () => {
    for (const spare of [0, 1, 700, 5_000, 1_000_000]) {
      world.clear();
      for (let at = 0; at < 400; at += 1) world.write(`d${at % 5}/f${at}`, Buffer.alloc(100, "x"));
      const { confined, planned, ...reading } = plan(
        world,
        [{ keepBytes: 0, isProbed: false }],
        spare,
      );
      for (let at = 0; at < 400; at += 1) appendFileSync(world.at(`d${at % 5}/f${at}`), "more");
      const seconds = new Seconds(world.root);
      const second = seconds.beside(confined, reading.meter);
      readAll(reading.list, { ...reading, confined, prober: () => [] }, MUCH, second);
      expect(reading.meter.touched.readBytes).toBeLessThanOrEqual(planned + spare);
      expect(planned + reading.list.spare.left).toBeLessThanOrEqual(planned + spare);
      // What could not be read again within that is said.
      const unread = Array.from({ length: 400 }, (_, at) => at).filter(
        (at) => !reading.list.isWhole(at),
      );
      for (const at of unread) expect(reading.list.miss(at)).toBeDefined();
      if (spare === 1_000_000) expect(unread).toEqual([]);
      confined[Symbol.dispose]();
      second[Symbol.dispose]();
      await seconds.ended();
    }
  }, 60_000);

  test("an abort stops both, and the count stands still", async () => {
    world.clear();
    for (let at = 0; at < 300; at += 1)
      world.write(`d${at % 5}/f${at}`, Buffer.alloc(200_000, "x"));
    const before = openHandles();
    const flag = stop();
    const { confined, ...reading } = plan(world, [{ keepBytes: 0, isProbed: true }], 0);
    const meter = new Meter(flag);
    let asked = 0;
    const prober = (): [] => {
      asked += 1;
      if (asked === 20) Atomics.store(flag, 0, 1);
      return [];
    };
    const seconds = new Seconds(world.root);
    const second = seconds.beside(confined, meter);
    expect(() => {
      readAll(reading.list, { ...reading, meter, confined, prober }, MUCH, second);
    }).toThrow(Aborted);
    const { readBytes } = meter.touched;
    expect(readBytes).toBeLessThan(300 * 200_000);
    confined[Symbol.dispose]();
    second[Symbol.dispose]();
    await seconds.ended();
    expect(meter.touched.readBytes).toBe(readBytes);
    expect(openHandles()).toBe(before);
  }, 60_000);

  test("a second thread that comes to another root reads nothing", async () => {
    world.clear();
    for (let at = 0; at < 200; at += 1) world.write(`f${at}`, "content");
    world.secret("f0");
    const { confined, ...reading } = plan(world, [{ keepBytes: 0, isProbed: false }], 0);
    const seconds = new Seconds(world.outside);
    const second = seconds.beside(confined, reading.meter);
    readAll(reading.list, { ...reading, confined, prober: () => [] }, MUCH, second);
    second[Symbol.dispose]();
    await seconds.ended();
    expect(reading.meter.touched.readBytes).toBe(200 * "content".length);
    expect(reading.list.waiting()).toBe(0);
    confined[Symbol.dispose]();
  });
});

/** A digest of each column. */
function columns(tree: Manifest): readonly string[] {
  return columnsOf(tree).map((column) => {
    const hash = createHash("sha256");
    for (const bytes of column.bytes(tree.count)) hash.update(bytes);
    return hash.digest("hex");
  });
}

describe.runIf(isLinux)("two threads look as one does", () => {
  const world = treeWorld();
  afterAll(() => world[Symbol.asyncDispose]());

  test("the same metadata, link targets and gaps", async () => {
    for (let at = 0; at < 21_000; at += 1) world.write(`d${at % 90}/f${at}`, "");
    for (let at = 0; at < 300; at += 1) symlinkSync(`f${at}`, world.at(`d${at % 90}/to-${at}`));
    const confined = openProcRoot(world.root);
    const alone = walk(confined, { meter: new Meter(stop()), listing: listing() });
    const seconds = new Seconds(world.root);
    const meter = new Meter(stop());
    const second = seconds.beside(confined, meter);
    const both = walk(confined, { meter, listing: listing(), second });
    expect(seconds.works.map(({ kind }) => kind)).toEqual(["metadata"]);
    expect(meter.touched.listed).toBe(21_390);
    expect(columns(both.tree)).toEqual(columns(alone.tree));
    expect(new Map(both.tree.targets)).toEqual(new Map(alone.tree.targets));
    expect(alone.tree.targets.size).toBe(300);
    expect([...both.gaps, ...alone.gaps]).toEqual([]);
    confined[Symbol.dispose]();
    second[Symbol.dispose]();
    await seconds.ended();
  }, 120_000);

  test("one thread takes part in one work after another", async () => {
    world.clear();
    for (let at = 0; at < 21_000; at += 1) world.write(`d${at % 90}/f${at}`, `${at}`);
    const confined = openProcRoot(world.root);
    const seconds = new Seconds(world.root);
    const meter = new Meter(stop());
    const second = seconds.beside(confined, meter);
    const { tree } = walk(confined, { meter, listing: listing(), second });
    const list = new ReadingList();
    for (const node of filesOf(tree)) list.add(node, { keepBytes: 0, isProbed: false });
    list.begin(0);
    readAll(list, { confined, tree, meter, prober: () => [] }, 0, second);
    expect(seconds.works.map(({ kind }) => kind)).toEqual(["metadata", "contents"]);
    expect(seconds.tasks.map(({ state }) => state[0])).toEqual([HELP.ended, HELP.ended]);
    expect(seconds.threads).toBe(1);
    expect(list.count).toBe(21_000);
    expect(Array.from({ length: 21_000 }, (_, at) => list.isWhole(at)).every(Boolean)).toBe(true);
    confined[Symbol.dispose]();
    second[Symbol.dispose]();
    await seconds.ended();
  }, 120_000);

  test("a second thread that comes to another root looks at nothing", async () => {
    world.clear();
    for (let at = 0; at < 21_000; at += 1) world.write(`d${at % 90}/f${at}`, "");
    const confined = openProcRoot(world.root);
    const seconds = new Seconds(world.outside);
    const meter = new Meter(stop());
    const second = seconds.beside(confined, meter);
    const { tree, gaps } = walk(confined, { meter, listing: listing(), second });
    second[Symbol.dispose]();
    await seconds.ended();
    expect(gaps).toEqual([]);
    expect([...filesOf(tree)].every((node) => tree.has(node, FLAG.stat))).toBe(true);
    confined[Symbol.dispose]();
  }, 120_000);
});

describe("a budget of several threads", () => {
  test("gives out no more than it holds", () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 10_000 }),
        fc.array(fc.tuple(fc.nat({ max: 4_000 }), fc.nat({ max: 100 }))),
        (amount, uses) => {
          const budget = SharedBudget.of(amount);
          let out = 0;
          for (const [wanted, unused] of uses) {
            const got = budget.takeUpTo(wanted);
            expect(got).toBe(Math.min(wanted, amount - out));
            const back = Math.min(got, unused);
            budget.giveBack(back);
            out += got - back;
          }
          expect(budget.left).toBe(amount - out);
        },
      ),
    );
  });

  test("shares out the smallest first, all of it, and the same in any order of sizes", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 50 })), fc.nat({ max: 400 }), (sizes, amount) => {
        const shares = new SmallestFirst(Float64Array.from(sizes), amount);
        const given = sizes.map((size) => ({ size, share: shares.share(size) }));
        const total = given.reduce((sum, { share }) => sum + share, 0);
        const wanted = sizes.reduce((sum, size) => sum + size, 0);
        expect(total).toBe(Math.min(amount, wanted));
        const cut = given.filter(({ size, share }) => share < size).map(({ size }) => size);
        const smallestCut = Math.min(Number.POSITIVE_INFINITY, ...cut);
        for (const { size, share } of given) if (size < smallestCut) expect(share).toBe(size);
      }),
    );
  });
});
