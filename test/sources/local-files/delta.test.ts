import {
  appendFileSync,
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import type { LocalFileOptions } from "../../../src/sources/local-files/source.ts";
import { LocalFileSurfaceSource } from "../../../src/sources/local-files/source.ts";
import { ask } from "../../worlds/observe-tree.ts";
import { differenceOf, dumpTree } from "../../worlds/tree-dump.ts";
import { isLinux, treeWorld } from "../../worlds/tree.ts";

// The delta of random operations on random trees is the difference of two full dumps.

const soak = process.env["UPHELD_SOAK"] === "1";

const path = fc
  .array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 })
  .map((names) => names.join("/"));
const text = fc.constantFrom("", "one", "two", "three", "a longer text", "x".repeat(5_000));

const operation = fc.oneof(
  fc.record({ kind: fc.constant("write" as const), path, text }),
  fc.record({ kind: fc.constant("append" as const), path, text }),
  fc.record({ kind: fc.constant("remove" as const), path }),
  fc.record({ kind: fc.constant("rename" as const), path, to: path }),
  fc.record({
    kind: fc.constant("chmod" as const),
    path,
    mode: fc.constantFrom(0o600, 0o644, 0o755),
  }),
  fc.record({ kind: fc.constant("touch" as const), path }),
  fc.record({ kind: fc.constant("symlink" as const), path, to: path }),
  fc.record({ kind: fc.constant("link" as const), path, to: path }),
  fc.record({ kind: fc.constant("mkdir" as const), path }),
  fc.record({ kind: fc.constant("backdate" as const), path }),
);
type Operation = typeof operation extends fc.Arbitrary<infer Value> ? Value : never;

/** Does what it can; an operation that the tree does not allow changes nothing. */
function perform(root: string, each: Operation): void {
  const at = `${root}/${each.path}`;
  try {
    switch (each.kind) {
      case "write":
        mkdirSync(dirname(at), { recursive: true });
        writeFileSync(at, each.text);
        return;
      case "append":
        appendFileSync(at, each.text);
        return;
      case "remove":
        rmSync(at, { recursive: true });
        return;
      case "rename":
        renameSync(at, `${root}/${each.to}`);
        return;
      case "chmod":
        if (!lstatSync(at).isSymbolicLink()) chmodSync(at, each.mode);
        return;
      case "touch":
        utimesSync(at, new Date(), new Date());
        return;
      case "symlink":
        symlinkSync(each.to, at);
        return;
      case "link":
        linkSync(at, `${root}/${each.to}`);
        return;
      case "mkdir":
        mkdirSync(at, { recursive: true });
        return;
      case "backdate": {
        // The same size and modification time, other content.
        const { size, mtime, atime } = lstatSync(at);
        if (!lstatSync(at).isFile()) return;
        writeFileSync(at, "y".repeat(size));
        utimesSync(at, atime, mtime);
      }
    }
  } catch {
    // The tree does not allow it.
  }
}

const cases: readonly { name: string; options: LocalFileOptions; mayBeUnknown: boolean }[] = [
  { name: "by digests", options: {}, mayBeUnknown: false },
  {
    name: "by times, where hardly anything may be digested",
    options: { baselineLimits: { maxDigestBytes: 4 } },
    mayBeUnknown: true,
  },
];

describe.runIf(isLinux)("the delta equals the difference of two dumps", () => {
  const world = treeWorld();
  afterAll(() => world[Symbol.asyncDispose]());

  test.each(cases)(
    "$name",
    async ({ options, mayBeUnknown }) => {
      await using source = new LocalFileSurfaceSource(
        { name: "workspace", directory: world.root },
        options,
      );
      const operations = fc.array(operation, { maxLength: 25 });
      await fc.assert(
        fc.asyncProperty(operations, operations, async (make, act) => {
          world.clear();
          for (const each of make) perform(world.root, each);
          const before = dumpTree(world.root);
          // Times are proof only where they are older than the baseline by a tick.
          if (mayBeUnknown && make.length % 2 === 0) await sleep(25);
          const { observation } = await ask(
            world.root,
            { extent: "delta", matcher: undefined },
            {
              source,
              act: () => {
                for (const each of act) perform(world.root, each);
              },
            },
          );
          const wanted = differenceOf(before, dumpTree(world.root));
          const { entries, coverage } = observation.payload;
          expect(coverage.gaps).toEqual([]);
          // A move counts as deleted at the one place and created at the other.
          const found = entries.flatMap(({ uri, change, from }) =>
            change === "moved"
              ? [`deleted ${pathOf(from)}`, `created ${pathOf(uri)}`]
              : [`${change} ${pathOf(uri)}`],
          );
          const unknown = new Set(
            found.filter((line) => line.startsWith("unknown ")).map((line) => line.slice(8)),
          );
          if (!mayBeUnknown) expect(unknown).toEqual(new Set());
          const isKnown = (line: string): boolean =>
            !unknown.has(line.slice(line.indexOf(" ") + 1));
          expect(found.filter((line) => isKnown(line)).toSorted()).toEqual(
            wanted.filter((line) => isKnown(line)),
          );
        }),
        { numRuns: soak ? 5_000 : 60 },
      );
    },
    soak ? 1_800_000 : 120_000,
  );
});

function pathOf(uri: string | undefined): string {
  return (uri ?? "").slice("workspace:/".length);
}
