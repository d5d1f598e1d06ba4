import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
} from "node:fs";
import { statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { digestOf } from "../../src/core/fingerprint.ts";
import { isSpool, removeSpool, Spool } from "../../src/deliver/spool.ts";
import { receiptBytes } from "../../src/evidence/receipt.ts";
import { thrownBy } from "../support/json-values.ts";
import { additionOf, SpoolWorld } from "../worlds/delivery.ts";
import { isRoot } from "../worlds/ordinary-user.ts";
import { attempt } from "../worlds/receipts.ts";

const TO = "https://collector.example";
const first = await additionOf(TO, attempt(), { text: "one" });
const second = await additionOf(TO, attempt({ scenarioKey: "cancel" }), { text: "two" });
const bare = await additionOf(TO, attempt({ scenarioKey: "greet" }));

/** What waits in a folder, and how many bytes lie beside it. */
function found(folder: string): { readonly waiting: readonly string[]; readonly blobs: number } {
  using spool = new Spool(folder);
  return {
    waiting: spool.waiting.map(({ receipt }) => receipt.scenarioKey),
    blobs: readdirSync(join(folder, "artifacts")).length,
  };
}

const queueOf = (world: SpoolWorld): string => join(world.folder, "queue.jsonl");

const mounted = (options: string, folder: string): boolean =>
  isRoot && spawnSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", folder]).status === 0;

describe("a spool", () => {
  test("keeps what was added, in its order, byte for byte", async () => {
    using world = new SpoolWorld();
    {
      using spool = world.open();
      for (const each of [first, second, bare]) spool.add(each);
    }
    expect(found(world.folder)).toEqual({ waiting: ["refund", "cancel", "greet"], blobs: 2 });
    using spool = world.open();
    const [entry] = spool.waiting;
    if (entry === undefined) throw new Error("nothing waits");
    expect(receiptBytes(entry.receipt)).toEqual(receiptBytes(first.receipt));
    const pieces: Uint8Array[] = [];
    for (const { digest } of entry.artifacts)
      for await (const piece of spool.read(digest)) pieces.push(piece);
    expect(digestOf(Buffer.concat(pieces))).toBe(first.receipt.evidence);
  });

  test("is for its owner alone", () => {
    using world = new SpoolWorld();
    const folder = join(world.folder, "deep", "spool");
    using spool = new Spool(folder);
    spool.add(first);
    const modes = ["", "queue.jsonl", "progress.jsonl", "artifacts"].map(
      (name) => statSync(join(folder, name)).mode & 0o077,
    );
    expect(modes).toEqual([0, 0, 0, 0]);
  });

  test("is gone once all was received, and stays while anything waits or was refused", () => {
    using world = new SpoolWorld();
    const folder = join(world.folder, "spool");
    const steps: readonly [(spool: Spool) => void, boolean][] = [
      [(spool) => spool.add(first), false],
      [(spool) => spool.settle(1, "refused", "receipt_conflict"), false],
    ];
    for (const [step, isRemoved] of steps) {
      {
        using spool = new Spool(folder);
        step(spool);
      }
      expect(removeSpool(folder)).toBe(isRemoved);
    }
    const other = join(world.folder, "other");
    {
      using spool = new Spool(other);
      for (const each of [first, bare]) spool.add(each);
      spool.settle(1, "delivered");
      spool.settle(2, "superseded", "attempt_superseded");
    }
    expect(isSpool(other)).toBe(true);
    expect(removeSpool(other)).toBe(true);
    expect(existsSync(other)).toBe(false);
  });

  test("keeps the bytes of what was refused, and of no other", () => {
    using world = new SpoolWorld();
    using spool = world.open();
    const again = { ...second, receipt: second.receipt };
    for (const each of [first, second, again]) spool.add(each);
    const blobs = (): number => readdirSync(join(world.folder, "artifacts")).length;
    expect(blobs()).toBe(2);
    spool.settle(2, "delivered");
    expect(blobs(), "another entry wants the same bytes").toBe(2);
    spool.settle(3, "delivered");
    expect(blobs()).toBe(1);
    const { evidence } = first.receipt;
    if (evidence === undefined) throw new Error("it has evidence");
    spool.refuseArtifact(1, evidence, "kind_unknown");
    spool.settle(1, "delivered");
    expect(blobs(), "refused").toBe(1);
    expect(spool.isDone).toBe(false);
  });
});

describe("a writer that was killed", () => {
  test("in the middle of a line leaves the lines before it, at every byte of it", () => {
    using world = new SpoolWorld();
    {
      using spool = world.open();
      for (const each of [bare, second]) spool.add(each);
    }
    const whole = readFileSync(queueOf(world));
    const start = whole.indexOf(0x0a) + 1;
    for (let end = start; end < whole.length; end += 1) {
      writeFileSync(queueOf(world), whole.subarray(0, end));
      expect(found(world.folder).waiting, `cut at ${end}`).toEqual(["greet"]);
      expect(statSync(queueOf(world)).size).toBe(start);
    }
    using spool = world.open();
    spool.add(second);
    expect(spool.waiting.map(({ sequence }) => sequence)).toEqual([1, 2]);
  });

  test("leaves no bytes that nobody names", () => {
    using world = new SpoolWorld();
    {
      using spool = world.open();
      spool.add(bare);
    }
    writeFileSync(join(world.folder, "artifacts", "part-0011223344556677"), "half");
    writeFileSync(join(world.folder, "artifacts", "a".repeat(64)), "nobody's");
    expect(found(world.folder)).toEqual({ waiting: ["greet"], blobs: 0 });
  });

  const damages: readonly [string, (world: SpoolWorld) => void][] = [
    [
      "a changed line",
      (world) =>
        writeFileSync(
          queueOf(world),
          readFileSync(queueOf(world), "utf8").replace("greet", "grset"),
        ),
    ],
    ["a line that is none", (world) => appendFileSync(queueOf(world), "x\n")],
    [
      "a line that is there twice",
      (world) => appendFileSync(queueOf(world), readFileSync(queueOf(world))),
    ],
    ["a receipt in place of a line", (world) => appendFileSync(queueOf(world), "{}\n")],
    [
      "bytes that are no text",
      (world) => appendFileSync(queueOf(world), Buffer.from([0xff, 0x0a])),
    ],
    [
      "progress without its queue",
      (world) => {
        {
          using spool = world.open();
          spool.settle(1, "delivered");
        }
        truncateSync(queueOf(world), 0);
      },
    ],
  ];
  test.each(damages)("did not do this, and nothing is touched: %s", (_name, damage) => {
    using world = new SpoolWorld();
    {
      using spool = world.open();
      spool.add(bare);
    }
    damage(world);
    const before = readFileSync(queueOf(world));
    const error = thrownBy(() => world.open());
    expect(error.code).toBe("state_invalid");
    expect(error.message).not.toContain(world.folder);
    expect(readFileSync(queueOf(world))).toEqual(before);
    // The lock is not left behind.
    expect(thrownBy(() => world.open()).code).toBe("state_invalid");
  });
});

describe("a spool that another process works on", () => {
  const holder = `
    const { Spool } = await import(process.argv[1]);
    const spool = new Spool(process.argv[2]);
    console.log("held");
    setInterval(() => {}, 1000);
  `;

  test("is locked while that process lives, and free once it was killed", async () => {
    using world = new SpoolWorld();
    const { spawn } = await import("node:child_process");
    const { pathToFileURL } = await import("node:url");
    const built = pathToFileURL(join(import.meta.dirname, "../../dist/deliver/spool.js")).href;
    const child = spawn(
      process.execPath,
      ["--input-type=module", "-e", holder, built, world.folder],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    try {
      await new Promise((resolve) => child.stdout.once("data", resolve));
      expect(thrownBy(() => world.open()).code).toBe("state_busy");
    } finally {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await gone;
    }
    using spool = world.open();
    spool.add(bare);
    expect(spool.waiting.length).toBe(1);
  });

  test("is locked within one process, too", () => {
    using world = new SpoolWorld();
    {
      using _spool = world.open();
      expect(thrownBy(() => world.open()).code).toBe("state_busy");
    }
    expect(found(world.folder).waiting).toEqual([]);
  });

  test("is not added to by one whose lock was taken away", () => {
    using world = new SpoolWorld();
    using spool = world.open();
    writeFileSync(join(world.folder, "lock"), "1 another\n");
    expect(thrownBy(() => spool.add(bare)).code).toBe("state_busy");
  });
});

describe("a disk", () => {
  test("that is full refuses the entry by name, and keeps the ones before it", async (context) => {
    using world = new SpoolWorld();
    const disk = join(world.folder, "disk");
    mkdirSync(disk);
    context.skip(!mounted("size=256k", disk), "no tmpfs can be mounted here");
    try {
      const folder = join(disk, "spool");
      let added = 0;
      {
        using spool = new Spool(folder);
        const fill = async (): Promise<void> => {
          for (; added < 100; added += 1) {
            const each = attempt({ scenarioKey: `s${added}` });
            spool.add(await additionOf(TO, each, { text: "x".repeat(20_000) + added }));
          }
        };
        await expect(fill()).rejects.toMatchObject({
          code: "file_unwritable",
          message: expect.stringMatching(/ENOSPC$/),
        });
        expect(added).toBeGreaterThan(0);
        expect(spool.waiting.length).toBe(added);
      }
      expect(found(folder)).toMatchObject({ blobs: added });
      expect(found(folder).waiting.length).toBe(added);
    } finally {
      spawnSync("umount", [disk]);
    }
  });

  test("that is full in the middle of a line keeps whole lines", (context) => {
    using world = new SpoolWorld();
    const disk = join(world.folder, "disk");
    mkdirSync(disk);
    context.skip(!mounted("size=64k", disk), "no tmpfs can be mounted here");
    try {
      using spool = new Spool(join(disk, "spool"));
      const lines: number[] = [];
      const error = thrownBy(() => {
        for (;;) {
          spool.add(bare);
          lines.push(statSync(join(disk, "spool", "queue.jsonl")).size);
        }
      });
      expect(error).toMatchObject({
        code: "file_unwritable",
        message: "the spool cannot keep queue.jsonl: ENOSPC",
      });
      expect(statSync(join(disk, "spool", "queue.jsonl")).size).toBe(lines.at(-1));
    } finally {
      spawnSync("umount", [disk]);
    }
  });

  test("that is read-only refuses the spool", (context) => {
    using world = new SpoolWorld();
    const disk = join(world.folder, "disk");
    mkdirSync(disk);
    const isReadOnly = mounted("ro", disk);
    if (!isReadOnly) chmodSync(disk, 0o500);
    context.skip(!isReadOnly && isRoot, "no tmpfs can be mounted here");
    try {
      const error = thrownBy(() => new Spool(join(disk, "spool")));
      expect(error.code).toBe("file_unwritable");
      expect(error.message).toMatch(/EROFS|EACCES/);
      expect(error.message).not.toContain(world.folder);
    } finally {
      spawnSync("umount", [disk]);
      chmodSync(disk, 0o700);
    }
  });
});
