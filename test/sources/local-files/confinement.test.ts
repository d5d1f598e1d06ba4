import { linkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { LocalFileSurfaceSource } from "../../../src/sources/local-files/source.ts";
import { ask } from "../../worlds/observe-tree.ts";
import { isLinux, NEEDLE, OUTSIDE, treeWorld } from "../../worlds/tree.ts";

import { bytesAt, confinementRows, NFC, NFD } from "./confinement-rows.ts";

describe.runIf(isLinux)("the list of confinement tests, lines about what stands still", () => {
  const world = treeWorld();
  const source = new LocalFileSurfaceSource({ name: "workspace", directory: world.root });
  afterEach(() => {
    world.clear();
  });
  afterAll(async () => {
    await source[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  test.each(confinementRows.map((row) => [row.id, row.world, row] as const))(
    "%s %s",
    async (_id, _w, row) => {
      const { verdict, gaps, observation } = await ask(world.root, row.ask, {
        source,
        act: () => {
          row.make(world);
        },
      });
      expect({ value: verdict.value, gaps }).toEqual({ value: row.want, gaps: row.gaps ?? [] });
      if (row.at !== undefined)
        expect(verdict.value === "upheld" ? verdict.witnesses.map(({ uri }) => uri) : []).toEqual(
          row.at,
        );
      const told = JSON.stringify(observation);
      expect(told.includes(OUTSIDE)).toBe(row.mayHoldOutside === true);
      // The target of a link is the world's own data; nothing else tells where the root lies.
      expect(told.replaceAll(/"linkTarget":"[^"]*"/g, "")).not.toContain(world.base);
    },
  );

  test("L28 a hard link says how many names the file has", async () => {
    const { observation } = await ask(
      world.root,
      {},
      {
        source,
        act: () => {
          linkSync(world.secret("s.txt"), world.at("hard"));
        },
      },
    );
    expect(observation.payload.entries.map(({ now }) => now?.links)).toEqual([2]);
  });

  test.each(["baseline", "window"])(
    "L28 strict, a hard link made by the run is neither proof nor shown, under %s",
    async (method) => {
      const outside = world.secret("s.txt");
      const { verdict, gaps, observation } = await ask(
        world.root,
        {},
        {
          strict: true,
          withBaseline: method === "baseline",
          act: () => {
            linkSync(outside, world.at("hard"));
          },
        },
      );
      expect({ value: verdict.value, gaps }).toEqual({
        value: "undetermined",
        gaps: ["confinement_unverified", ...(method === "window" ? ["baseline_missing"] : [])],
      });
      expect(observation.payload.entries[0]?.now).toMatchObject({
        links: 2,
        unread: { code: "confinement_unverified", detail: "it has 2 names" },
      });
      expect(JSON.stringify(observation)).not.toContain(OUTSIDE);
    },
  );

  test("L28 strict, a hard link of before is not shown once it was taken away", async () => {
    linkSync(world.secret("s.txt"), world.at("hard"));
    const { observation } = await ask(
      world.root,
      { extent: "delta" },
      {
        strict: true,
        act: () => {
          rmSync(world.at("hard"));
          world.write("hard", "own");
        },
      },
    );
    expect(observation.payload.entries).toMatchObject([
      { change: "modified", before: { unread: { code: "confinement_unverified" } } },
    ]);
    expect(JSON.stringify(observation)).not.toContain(OUTSIDE);
  });

  test("L28 strict, files of one name are read as ever, and links that did not change keep nothing open", async () => {
    linkSync(world.secret("s.txt"), world.at("hard"));
    const held = await ask(
      world.root,
      {},
      { strict: true, act: () => void world.write("own.txt", NEEDLE) },
    );
    expect(held.verdict).toMatchObject({
      value: "upheld",
      witnesses: [{ uri: "workspace:/own.txt" }],
    });
    const clean = await ask(
      world.root,
      {},
      { strict: true, act: () => void world.write("own.txt", "clean") },
    );
    expect(clean.verdict.value).toBe("refuted");
  });

  test("L35 twins are two entries, also for an exact location", async () => {
    const { observation } = await ask(
      world.root,
      { uri: `workspace:/${NFC}`, match: "exact" },
      {
        source,
        act: () => {
          world.write(NFC);
          world.write(NFD);
        },
      },
    );
    expect(observation.payload.entries).toHaveLength(2);
  });

  test("L33 a name that is not UTF-8 keeps its bytes", async () => {
    const { observation } = await ask(
      world.root,
      {},
      {
        source,
        act: () => {
          writeFileSync(bytesAt(world, "a\xff\x80b"), NEEDLE);
        },
      },
    );
    const [entry] = observation.payload.entries;
    expect(Buffer.from(entry?.nameBytes ?? "", "base64")).toEqual(
      Buffer.from("a\xff\x80b", "latin1"),
    );
  });

  test("L18 a root that is a link is resolved once", async () => {
    await using world = treeWorld();
    const link = join(world.base, "link");
    symlinkSync(world.root, link);
    const { verdict } = await ask(
      link,
      {},
      {
        act: () => {
          world.write("a.txt", NEEDLE);
        },
      },
    );
    expect(verdict.value).toBe("upheld");
  });

  test("L18 a root that is a link which leads elsewhere by now is another root", async () => {
    await using world = treeWorld();
    const link = join(world.base, "link");
    symlinkSync(world.root, link);
    world.secret("s.txt");
    const asked = await ask(
      link,
      {},
      {
        act: () => {
          rmSync(link);
          symlinkSync(world.outside, link);
        },
      },
    );
    expect(asked.verdict.value).toBe("undetermined");
    expect(asked.gaps).toEqual(["root_replaced"]);
    expect(JSON.stringify(asked)).not.toContain(NEEDLE);
  });

  test.each([
    ["missing", (path: string) => rmSync(path, { recursive: true })],
    [
      "a file",
      (path: string) => {
        rmSync(path, { recursive: true });
        writeFileSync(path, NEEDLE);
      },
    ],
  ])("L20 a root that is %s by now is evidence", async (_what, make) => {
    await using world = treeWorld();
    const { observation, verdict, gaps } = await ask(
      world.root,
      {},
      {
        act: () => {
          make(world.root);
        },
      },
    );
    expect(observation.acquisition).toBe("unavailable");
    expect(observation.payload.entries).toEqual([]);
    expect({ value: verdict.value, gaps }).toEqual({
      value: "undetermined",
      gaps: ["root_unavailable"],
    });
  });

  test.each(["missing", "a file"])("L20 no baseline of a root that is %s", async (what) => {
    await using world = treeWorld();
    const path = join(world.base, "none");
    if (what === "a file") writeFileSync(path, "");
    await expect(ask(path)).rejects.toMatchObject({ code: "file_unreadable" });
  });

  test.each(["../x", "a/../../x", "/", "", ".", "link/", "link/.", "a\0b", "a\\b", "c:/x"])(
    "L10-L12 the locator %j is refused before anything is read",
    async (uri) => {
      await expect(
        ask(world.root, { uri, match: "exact" }, { source, withBaseline: false }),
      ).rejects.toMatchObject({ code: "locator_invalid" });
    },
  );

  test.each(["dir//f", "./dir/f", "dir/./f"])(
    "L11 the locator %j has one spelling",
    async (uri) => {
      const { verdict } = await ask(
        world.root,
        { uri: `workspace:/${uri}`, match: "exact" },
        {
          source,
          act: () => {
            world.write("dir/f", NEEDLE);
          },
        },
      );
      expect(verdict.value).toBe("upheld");
    },
  );

  test("L38 a backslash in a name and the bytes that it would stand for are two names", async () => {
    const { observation } = await ask(
      world.root,
      {},
      {
        source,
        act: () => {
          world.write(String.raw`\xff`);
          writeFileSync(bytesAt(world, "\xff"), "clean");
        },
      },
    );
    expect(observation.payload.entries).toHaveLength(2);
  });
});
