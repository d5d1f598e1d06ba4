import { chmodSync, chownSync, readdirSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import type { GapCode } from "../../../src/core/gap.ts";
import type { VerdictValue } from "../../../src/core/verdict.ts";
import { AS_NOBODY, askInProcess, needle } from "../../worlds/observe-tree.ts";
import {
  hasProgram,
  isLinux,
  isRoot,
  NEEDLE,
  treeWorld,
  type TreeWorld,
} from "../../worlds/tree.ts";

// A loaded machine may take its time: each question is a process of its own.
vi.setConfig({ testTimeout: 120_000 });

// What a user may not see: lines 32, 51, 53 and 54 of the list, faults 5 and 31. As root, the observer runs as nobody.

const canDrop = !isRoot || hasProgram("setpriv");
const prefix = isRoot ? AS_NOBODY : [];

interface Row {
  readonly id: string;
  readonly world: string;
  readonly make: (world: TreeWorld) => void;
  readonly uri?: string;
  readonly want: VerdictValue;
  readonly gap?: { readonly code: GapCode; readonly location: string; readonly detail?: string };
}

const rows: readonly Row[] = [
  {
    id: "L51 F05",
    world: "a file that may not be read",
    make: (world) => {
      chmodSync(world.write("secret.txt", NEEDLE), 0);
    },
    want: "undetermined",
    gap: { code: "read_failed", location: "workspace:/secret.txt", detail: "EACCES" },
  },
  {
    id: "L51 F05",
    world: "a directory that may not be listed",
    make: (world) => {
      world.write("private/secret.txt", NEEDLE);
      chmodSync(world.at("private"), 0);
    },
    want: "undetermined",
    gap: { code: "listing_failed", location: "workspace:/private", detail: "EACCES" },
  },
  {
    id: "L51",
    world: "a directory that may not be listed, and the needle elsewhere",
    make: (world) => {
      chmodSync(world.directory("private"), 0);
      world.write("found.txt", NEEDLE);
    },
    want: "upheld",
  },
  {
    id: "L51",
    world: "a directory that may not be listed, where the pattern does not lead",
    make: (world) => {
      chmodSync(world.directory("private"), 0);
      world.write("data/a.txt");
    },
    uri: "workspace:/data/**",
    want: "refuted",
  },
  {
    id: "L32 F05",
    world: "a directory that lists, and whose entries may not be looked at (r--)",
    make: (world) => {
      world.write("half/a.txt", NEEDLE);
      chmodSync(world.at("half"), 0o444);
    },
    want: "undetermined",
    gap: { code: "read_failed", location: "workspace:/half/a.txt", detail: "EACCES" },
  },
  {
    id: "L32 F05",
    world: "a directory that does not list, and whose entries may be read (--x)",
    make: (world) => {
      world.write("half/a.txt", NEEDLE);
      chmodSync(world.at("half"), 0o111);
    },
    want: "undetermined",
    gap: { code: "listing_failed", location: "workspace:/half", detail: "EACCES" },
  },
  {
    id: "L54",
    world: "a name that is too long behind a link",
    make: (world) => {
      world.run("ln", ["-s", "n".repeat(300), "link"]);
    },
    want: "undetermined",
    gap: { code: "dangling_link", location: "workspace:/link" },
  },
];

/** Gives a world to nobody, so that the denied places are denied by their modes. */
function handOver(world: TreeWorld): void {
  if (!isRoot) return;
  chmodSync(world.root, 0o755);
  for (const entry of readdirSync(world.root, { withFileTypes: true }))
    if (!entry.isSymbolicLink()) chownSync(world.at(entry.name), 65534, 65534);
  chownSync(world.root, 65534, 65534);
}

describe.runIf(isLinux)("as an ordinary user", () => {
  test.for(rows.map((row) => [row.id, row.world, row] as const))(
    "%s %s",
    async ([, , row], context) => {
      context.skip(!canDrop, "as root, this needs setpriv");
      await using world = treeWorld();
      handOver(world);
      const answer = await askInProcess(
        {
          directory: world.root,
          asked: [{ uri: row.uri ?? "workspace:/**", matcher: needle }],
          baseline: true,
        },
        {
          prefix,
          act: () => {
            row.make(world);
            handOver(world);
          },
        },
      );
      const [verdict] = answer.verdicts;
      expect(answer.uid).not.toBe(0);
      expect(verdict?.value).toBe(row.want);
      if (row.gap !== undefined && verdict?.value === "undetermined")
        expect(verdict.gaps).toContainEqual(expect.objectContaining(row.gap));
    },
  );

  test("F05 what the baseline could not list is not new", async (context) => {
    context.skip(!canDrop, "as root, this needs setpriv");
    await using world = treeWorld();
    world.write("private/planted.txt", NEEDLE);
    chmodSync(world.at("private"), 0);
    handOver(world);
    const answer = await askInProcess(
      {
        directory: world.root,
        asked: [
          { uri: "workspace:/**", matcher: needle },
          { uri: "workspace:/**", extent: "delta" },
        ],
        baseline: true,
      },
      {
        prefix,
        act: () => {
          chmodSync(world.at("private"), 0o755);
        },
      },
    );
    expect(answer.verdicts[0]).toMatchObject({
      value: "undetermined",
      gaps: [{ code: "baseline_partial" }],
    });
    expect(answer.observations[1]?.payload.entries).toContainEqual(
      expect.objectContaining({ uri: "workspace:/private/planted.txt", change: "unknown" }),
    );
  });

  test("F05 what the baseline could not list may have been removed", async (context) => {
    context.skip(!canDrop, "as root, this needs setpriv");
    await using world = treeWorld();
    world.write("private/planted.txt", NEEDLE);
    chmodSync(world.at("private"), 0);
    handOver(world);
    const answer = await askInProcess(
      {
        directory: world.root,
        asked: [{ uri: "workspace:/**", extent: "delta" }],
        baseline: true,
      },
      {
        prefix,
        act: () => {
          chmodSync(world.at("private"), 0o755);
          world.run("rm", ["private/planted.txt"]);
        },
      },
    );
    // Nothing of it is in the delta, which must not say that it is whole.
    expect(answer.observations[0]?.payload.coverage.gaps).toContainEqual(
      expect.objectContaining({ code: "baseline_partial", location: "workspace:/private" }),
    );
  });

  test("L53 F31 64 handles are enough", async (context) => {
    context.skip(!hasProgram("prlimit"), "prlimit is not there");
    await using world = treeWorld();
    // Wider and deeper than the handles that are left.
    const deep = Array.from({ length: 100 }, (_, at) => `d${at}`).join("/");
    world.write(`${deep}/bottom.txt`, "clean");
    for (let at = 0; at < 100; at += 1) world.write(`wide${at}/a.txt`);
    const answer = await askInProcess(
      {
        directory: world.root,
        asked: [{ uri: "workspace:/**", matcher: needle }],
        baseline: true,
      },
      {
        // Node itself opens more while it starts.
        act: (pid) => {
          world.run("prlimit", ["--pid", String(pid), "--nofile=64:64"]);
          world.write(`${deep}/new.txt`, NEEDLE);
        },
      },
    );
    expect(answer.observations[0]?.payload.coverage.gaps).toEqual([]);
    expect(answer.verdicts[0]?.value).toBe("upheld");
  });
});
