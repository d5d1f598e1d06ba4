import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { GapCode } from "../../../src/core/gap.ts";
import type { VerdictValue } from "../../../src/core/verdict.ts";
import {
  LocalFileSurfaceSource,
  type LocalFileOptions,
} from "../../../src/sources/local-files/source.ts";
import { ask, type Question } from "../../worlds/observe-tree.ts";
import { isLinux, NEEDLE, treeWorld, type TreeWorld } from "../../worlds/tree.ts";

// Each limit met exactly, and by one more: line 50 of the list. And decoys that would starve the target.

interface Row {
  readonly limit: string;
  readonly before?: (world: TreeWorld) => void;
  readonly act: (world: TreeWorld) => void;
  /** The limit, where it is met exactly and where it is one too small. */
  readonly met: LocalFileOptions;
  readonly exceeded: LocalFileOptions;
  readonly gap: GapCode;
  readonly ask?: Question;
  /** The verdicts of both. */
  readonly want?: readonly [VerdictValue, VerdictValue];
}

const ten = (world: TreeWorld): void => {
  for (let at = 0; at < 10; at += 1) world.write(`f${at}.txt`, "0123456789");
};

const last = (world: TreeWorld): void => {
  world.write("f.txt", `${"x".repeat(94)}${NEEDLE}`);
};

const equals = {
  kind: "equals",
  value: "no",
  caseSensitive: true,
  lineEndings: "any",
  unicode: "nfc",
} as const;

const rows: readonly Row[] = [
  {
    limit: "maxFiles",
    act: ten,
    met: { limits: { maxFiles: 10 } },
    exceeded: { limits: { maxFiles: 9 } },
    gap: "file_limit_exceeded",
  },
  {
    limit: "maxListedEntries",
    act: ten,
    met: { limits: { maxListedEntries: 10 } },
    exceeded: { limits: { maxListedEntries: 9 } },
    gap: "listing_limit_exceeded",
  },
  {
    limit: "maxReadBytes",
    act: ten,
    met: { limits: { maxReadBytes: 100 } },
    exceeded: { limits: { maxReadBytes: 99 } },
    gap: "read_limit_exceeded",
  },
  {
    limit: "maxContentBytes, where only kept content tells",
    act: last,
    met: { limits: { maxContentBytes: 100 } },
    exceeded: { limits: { maxContentBytes: 99 } },
    gap: "text_not_retained",
    ask: { matcher: equals, probed: false },
  },
  {
    limit: "maxRetainedBytes, where only kept content tells",
    act: ten,
    met: { limits: { maxRetainedBytes: 100 } },
    exceeded: { limits: { maxRetainedBytes: 99 } },
    gap: "text_not_retained",
    ask: { matcher: equals, probed: false },
  },
  {
    limit: "maxPriorFileBytes",
    before: last,
    act: (world) => {
      world.write("f.txt", `${NEEDLE}, and more`);
    },
    met: { baselineLimits: { maxPriorFileBytes: 100 } },
    exceeded: { baselineLimits: { maxPriorFileBytes: 99 } },
    gap: "prior_content_unknown",
  },
  {
    limit: "maxPriorBytes",
    before: (world) => {
      ten(world);
      last(world);
    },
    act: (world) => {
      world.write("f.txt", `${NEEDLE}, and more`);
    },
    met: { baselineLimits: { maxPriorBytes: 200 } },
    exceeded: { baselineLimits: { maxPriorBytes: 199 } },
    gap: "prior_content_unknown",
  },
  {
    limit: "maxDigestBytes, where times prove nothing",
    before: last,
    act: (world) => {
      // The same size: only a digest tells.
      world.write("f.txt", `${"y".repeat(94)}${NEEDLE}`);
    },
    met: { baselineLimits: { maxDigestBytes: 100 } },
    exceeded: { baselineLimits: { maxDigestBytes: 99 } },
    gap: "baseline_partial",
  },
  {
    limit: "baseline.maxListedEntries",
    before: ten,
    act: last,
    met: { baselineLimits: { maxListedEntries: 11 } },
    exceeded: { baselineLimits: { maxListedEntries: 9 } },
    gap: "baseline_partial",
    want: ["upheld", "undetermined"],
  },
];

describe.runIf(isLinux)("a limit", () => {
  const world = treeWorld();
  afterEach(() => {
    world.clear();
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const askRow = (row: Row, options: LocalFileOptions) => {
    row.before?.(world);
    return ask(world.root, row.ask, {
      ...options,
      act: () => {
        row.act(world);
      },
    });
  };

  test.each(rows.map((row) => [row.limit, row] as const))("%s met exactly", async (_limit, row) => {
    const { verdict, gaps } = await askRow(row, row.met);
    expect(gaps).not.toContain(row.gap);
    expect(verdict.value).toBe(row.want?.[0] ?? "refuted");
  });

  test.each(rows.map((row) => [row.limit, row] as const))("%s exceeded by one", async (_l, row) => {
    const { verdict, gaps } = await askRow(row, row.exceeded);
    expect({ value: verdict.value, gaps: [...new Set(gaps)] }).toEqual({
      value: row.want?.[1] ?? "undetermined",
      gaps: [row.gap],
    });
  });

  test.each([
    [
      "one large decoy that stands first",
      (made: TreeWorld) => made.write("aaa", Buffer.alloc(16_000_000, "x")),
    ],
    [
      "a thousand decoys that stand first",
      (made: TreeWorld) => {
        for (let at = 0; at < 999; at += 1) made.write(`a${at}`, Buffer.alloc(10_000, "x"));
      },
    ],
    [
      "a sparse decoy of 1 TB",
      (made: TreeWorld) => made.run("truncate", ["-s", "1T", made.at("aaa")]),
    ],
  ])(
    "%s does not starve the target",
    async (_what, decoy) => {
      const { verdict } = await ask(
        world.root,
        {},
        {
          act: () => {
            decoy(world);
            world.write("zzz", NEEDLE);
          },
        },
      );
      expect(verdict).toMatchObject({ value: "upheld", witnesses: [{ uri: "workspace:/zzz" }] });
    },
    60_000,
  );

  test("unchanged decoys do not count against the limit", async () => {
    for (let at = 0; at < 50; at += 1) world.write(`a${at}`);
    await using source = new LocalFileSurfaceSource(
      { name: "workspace", directory: world.root },
      { limits: { maxFiles: 1 } },
    );
    const { verdict } = await ask(
      world.root,
      {},
      {
        source,
        act: () => {
          world.write("zzz", NEEDLE);
        },
      },
    );
    expect(verdict.value).toBe("upheld");
  });
});
