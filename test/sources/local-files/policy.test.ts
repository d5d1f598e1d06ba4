import { once } from "node:events";
import { writeFileSync } from "node:fs";
import * as fc from "fast-check";
import { afterAll, describe, expect, test, vi } from "vitest";
import { matchContent } from "../../../src/core/match-content.ts";
import { Matcher } from "../../../src/core/matcher.ts";
import { DEFAULT_LIMITS } from "../../../src/core/limits.ts";
import { contentOf } from "../../../src/core/text.ts";
import { diff } from "../../../src/sources/local-files/diff.ts";
import { isLocalDisk } from "../../../src/sources/local-files/filesystem.ts";
import { Budget, Meter } from "../../../src/sources/local-files/meter.ts";
import { proberOf } from "../../../src/sources/local-files/probe.ts";
import { openProcRoot } from "../../../src/sources/local-files/proc-root.ts";
import { FOUND } from "../../../src/sources/local-files/reading-list.ts";
import { takeSnapshot } from "../../../src/sources/local-files/snapshot.ts";
import { LocalFileSurfaceSource } from "../../../src/sources/local-files/source.ts";
import { walk } from "../../../src/sources/local-files/walk.ts";
import { isLinux, treeWorld, type TreeWorld } from "../../worlds/tree.ts";

// Times are believed only after the file system was flushed, which waits for all that others write.
vi.setConfig({ testTimeout: 120_000 });

/** A byte more than a small tree holds. */
const LARGE = (32 << 20) + 1;

const everything = {
  kind: "surface",
  uri: "workspace:/**",
  surface: "file",
  match: "glob",
} as const;

/** Until what was just written counts as still: a large file is read twice within 100 ms of its last write, a younger one than a tick once more. */
const aged = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 300));

interface Seen {
  readonly method: string;
  readonly digested: number;
  readonly changes: readonly string[];
}

/** Takes a baseline, changes the world, and observes the delta of the whole root. */
async function seen(
  world: TreeWorld,
  attribution: "auto" | "baseline",
  change: () => unknown,
): Promise<Seen> {
  await using source = new LocalFileSurfaceSource(
    { name: "workspace", directory: world.root },
    { attribution },
  );
  const baseline = await source.baseline();
  await change();
  const [observation] = await source.observe([{ scorable: everything, extent: "delta" }], {
    baseline,
  });
  if (observation?.payload.kind !== "surface") throw new Error("no surface");
  const { attribution: method, entries } = observation.payload;
  return {
    method: method.method,
    digested: baseline.touched.readBytes,
    changes: entries.map((entry) => `${entry.change} ${entry.uri}`),
  };
}

describe.runIf(isLinux)("what is read again, and where times are proof", () => {
  const disk = treeWorld();
  const memory = treeWorld("/dev/shm");
  afterAll(async () => {
    await disk[Symbol.asyncDispose]();
    await memory[Symbol.asyncDispose]();
  });
  const onDisk = isLocalDisk(disk.root);

  test.each([
    { tree: "small, on a local disk", world: disk, bytes: 100, attribution: "auto", times: false },
    {
      tree: "large, on a local disk",
      world: disk,
      bytes: LARGE,
      attribution: "auto",
      times: onDisk,
    },
    { tree: "large, on a tmpfs", world: memory, bytes: LARGE, attribution: "auto", times: false },
    {
      tree: "large, asked to read",
      world: disk,
      bytes: LARGE,
      attribution: "baseline",
      times: false,
    },
  ] as const)("$tree, --attribution $attribution", async ({ world, bytes, attribution, times }) => {
    world.clear();
    world.write("data.bin", Buffer.alloc(bytes, "x"));
    world.write("changed.txt", "was");
    await aged();
    const { method, digested, changes } = await seen(world, attribution, () =>
      writeFileSync(world.at("changed.txt"), "now"),
    );
    expect(changes).toEqual(["modified workspace:/changed.txt"]);
    expect(method).toBe(times ? "baseline (stat)" : "baseline");
    expect(digested).toBe(bytes + 3);
  });

  test.runIf(onDisk)(
    "a store to a mapped page that was dirty before the baseline is seen",
    async () => {
      disk.clear();
      disk.write("data.bin", Buffer.alloc(LARGE, "x"));
      const program = [
        "import mmap, sys",
        "f = open('data.bin', 'r+b'); m = mmap.mmap(f.fileno(), 0)",
        "m[5000] = 1; print('dirty', flush=True); sys.stdin.readline()",
        "m[5001] = 2; print('stored', flush=True); sys.stdin.readline()",
      ].join("\n");
      const writer = await disk.start("python3", ["-c", program]);
      await aged();
      const { changes } = await seen(disk, "auto", async () => {
        writer.stdin?.write("\n");
        if (writer.stdout !== null) await once(writer.stdout, "data");
      });
      expect(changes).toEqual(["modified workspace:/data.bin"]);
    },
  );

  test.each([
    { newer: "in the tick of the baseline", ageNs: 0n, reads: true },
    { newer: "half a tick before it", ageNs: 10_000_000n, reads: true },
    { newer: "long before it", ageNs: 1_000_000_000n, reads: false },
  ])("a file that was written $newer", ({ ageNs, reads }) => {
    disk.clear();
    disk.write("file.txt", "content");
    const confined = openProcRoot(disk.root);
    const meter = new Meter(new Int32Array(new SharedArrayBuffer(4)));
    const limits = DEFAULT_LIMITS;
    const found = walk(confined, { meter, listing: new Budget(10) });
    const node = found.tree.child(0, "file.txt") ?? 0;
    const snapshot = takeSnapshot(confined, {
      meter,
      limits,
      readsAgain: false,
      now: () => found.tree.changed.get(node) + ageNs,
      settle: () => true,
    });
    // Only reading can tell that the content is another one.
    snapshot.tree.digests.setHex(node, "00".repeat(32));
    const before = { ...snapshot, timesAreProof: true };
    const changes = diff(confined, before, found, {
      meter,
      reading: new Budget(1_000),
      digesting: new Budget(1_000),
      readsAgain: false,
    });
    expect(changes.of(node)).toBe(reads ? "modified" : "unchanged");
    expect(changes.byTimesAlone).toBe(reads ? 0 : 1);
    confined[Symbol.dispose]();
  });
});

describe("probes while reading", () => {
  const piece = fc.constantFrom(
    "key",
    "ke",
    "y",
    "K",
    "\u212A",
    "\u037E",
    ";",
    "`",
    "\u1FEF",
    "e\u0301",
    "é",
    "\0",
    "\r\n",
    "\n",
    "\uFEFF",
    "値",
  );
  const bytes = fc.oneof(
    fc.array(piece, { maxLength: 12 }).map((pieces) => Buffer.from(pieces.join(""))),
    fc.array(piece, { maxLength: 12 }).map((pieces) => Buffer.from(pieces.join(""), "utf16le")),
    fc.uint8Array({ maxLength: 30 }).map((array) => Buffer.from(array)),
  );
  const value = fc.constantFrom("key", "K", "k", ";", "`", "e", "é", "y\nk", "~");

  test("find what the matcher finds", () => {
    fc.assert(
      fc.property(
        bytes,
        value,
        fc.boolean(),
        fc.boolean(),
        (head, text, caseSensitive, isWhole) => {
          const matcher = Matcher.parse({ kind: "contains", value: text, caseSensitive });
          const finding = matchContent(
            matcher,
            { sizeBytes: head.length },
            contentOf(head, isWhole),
          );
          expect(proberOf([matcher])(head, isWhole, undefined)).toEqual([FOUND[finding.value]]);
        },
      ),
      { numRuns: 3_000 },
    );
  });
});
