import {
  linkSync,
  lutimesSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { Change } from "../../../src/core/change.ts";
import type { VerdictValue } from "../../../src/core/verdict.ts";
import { LocalFileSurfaceSource } from "../../../src/sources/local-files/source.ts";
import { timestampOf } from "../../../src/core/timestamp.ts";
import { ask, requestOf } from "../../worlds/observe-tree.ts";
import { isLinux, NEEDLE, treeWorld, type TreeWorld } from "../../worlds/tree.ts";

// What stands at a link's own location is what it leads to: a change of anything on the way changes it.

interface Row {
  readonly world: string;
  readonly before: (world: TreeWorld) => void;
  readonly act: (world: TreeWorld) => void;
  readonly want: VerdictValue;
  readonly change: Change;
}

const rows: readonly Row[] = [
  {
    world: "the file behind it is written",
    before: (world) => {
      world.write("a");
      symlinkSync("a", world.at("link"));
    },
    act: (world) => {
      world.write("a", NEEDLE);
    },
    want: "upheld",
    change: "modified",
  },
  {
    world: "the link is made again as it was, and the file behind it is written",
    before: (world) => {
      world.write("a");
      symlinkSync("a", world.at("link"));
    },
    act: (world) => {
      rmSync(world.at("link"));
      symlinkSync("a", world.at("link"));
      world.write("a", NEEDLE);
    },
    want: "upheld",
    change: "modified",
  },
  {
    world: "it is pointed at another file that held it all along",
    before: (world) => {
      world.write("a");
      world.write("b", NEEDLE);
      symlinkSync("a", world.at("link"));
    },
    act: (world) => {
      rmSync(world.at("link"));
      symlinkSync("b", world.at("link"));
    },
    want: "upheld",
    change: "modified",
  },
  {
    world: "it is pointed from one file that holds it to another",
    before: (world) => {
      world.write("a", NEEDLE);
      world.write("b", NEEDLE);
      symlinkSync("a", world.at("link"));
    },
    act: (world) => {
      rmSync(world.at("link"));
      symlinkSync("b", world.at("link"));
    },
    want: "refuted",
    change: "modified",
  },
  {
    world: "a link on the way is pointed elsewhere",
    before: (world) => {
      world.write("a");
      world.write("b", NEEDLE);
      symlinkSync("a", world.at("middle"));
      symlinkSync("middle", world.at("link"));
    },
    act: (world) => {
      rmSync(world.at("middle"));
      symlinkSync("b", world.at("middle"));
    },
    want: "upheld",
    change: "modified",
  },
  {
    world: "a directory link on the way is pointed elsewhere",
    before: (world) => {
      world.write("d/x");
      world.write("e/x", NEEDLE);
      symlinkSync("d", world.at("middle"));
      symlinkSync("middle/x", world.at("link"));
    },
    act: (world) => {
      rmSync(world.at("middle"));
      symlinkSync("e", world.at("middle"));
    },
    want: "upheld",
    change: "modified",
  },
  {
    world: "a directory on the way is replaced by another",
    before: (world) => {
      world.write("d/x");
      world.write("e/x", NEEDLE);
      symlinkSync("d/x", world.at("link"));
    },
    act: (world) => {
      renameSync(world.at("d"), world.at("old"));
      renameSync(world.at("e"), world.at("d"));
    },
    want: "upheld",
    change: "modified",
  },
  {
    world: "nothing moves",
    before: (world) => {
      world.write("a", NEEDLE);
      symlinkSync("a", world.at("link"));
    },
    act: () => undefined,
    want: "refuted",
    change: "unchanged",
  },
];

const link = { uri: "workspace:/link", match: "exact" } as const;

describe.runIf(isLinux)("what stands at a link's own location", () => {
  const world = treeWorld();
  const source = new LocalFileSurfaceSource({ name: "workspace", directory: world.root });
  afterEach(() => {
    world.clear();
  });
  afterAll(async () => {
    await source[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  test.each(rows.map((row) => [row.world, row] as const))("%s", async (_world, row) => {
    row.before(world);
    const { verdict, observation } = await ask(world.root, link, {
      source,
      act: () => {
        row.act(world);
      },
    });
    const [entry] = observation.payload.entries;
    expect({ value: verdict.value, change: entry?.change }).toEqual({
      value: row.want,
      change: row.change,
    });
  });

  test("a delta tells what became of the link itself, candidates what stands there, in one look", async () => {
    symlinkSync("a", world.at("link"));
    const baseline = await source.baseline();
    // A second name of the link moves its change time; the file that it leads to is new.
    linkSync(world.at("link"), world.at("second"));
    world.write("a", NEEDLE);
    const requests = [
      requestOf({ uri: "workspace:/**" }),
      requestOf({ uri: "workspace:/**", extent: "delta" }),
    ];
    const [candidates, delta] = (await source.observe(requests, { baseline })).map(({ payload }) =>
      payload.kind === "surface" ? payload : undefined,
    );
    const changeOf = (payload: typeof delta): string | undefined =>
      payload?.entries.find(({ uri }) => uri === "workspace:/link")?.change;
    expect({ candidates: changeOf(candidates), delta: changeOf(delta) }).toEqual({
      candidates: "created",
      delta: "touched",
    });
    // So that a delta cannot rule out what stands behind it.
    expect(delta?.coverage.links).toContain("workspace:/link");
  });

  test.each(["it leads to", "a link on the way to"])(
    "under a window an old link is not ruled out when %s what is new",
    async (how) => {
      const old = new Date("2020-01-01");
      if (how === "it leads to") {
        symlinkSync("d/a", world.at("link"));
        world.write("d/x");
      } else {
        world.write("d/a", NEEDLE);
        symlinkSync("d/m", world.at("link"));
        utimesSync(world.at("d/a"), old, old);
      }
      lutimesSync(world.at("link"), old, old);
      await sleep(1_200);
      const from = BigInt(Date.now()) * 1_000_000n;
      if (how === "it leads to") writeFileSync(world.at("d/a"), NEEDLE);
      else symlinkSync("a", world.at("d/m"));
      const scope = {
        window: [timestampOf(from), timestampOf(from + 3_600_000_000_000n)] as const,
      };
      await using narrow = new LocalFileSurfaceSource(
        { name: "workspace", directory: world.root },
        { limits: { clockSkewMs: 0 } },
      );
      const { verdict } = await ask(
        world.root,
        { ...link, scope },
        {
          source: narrow,
          withBaseline: false,
        },
      );
      expect(verdict.value).not.toBe("refuted");
    },
  );
});
