import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { GapCode } from "../../../src/core/gap.ts";
import type { VerdictValue } from "../../../src/core/verdict.ts";
import { LocalFileSurfaceSource } from "../../../src/sources/local-files/source.ts";
import { ask, type Question } from "../../worlds/observe-tree.ts";
import { isLinux, NEEDLE, OUTSIDE, treeWorld, type TreeWorld } from "../../worlds/tree.ts";

// The list of measured.md 2.5, lines 1-14, 18, 20, 28, 33-40, 45-49: "does any file under the root hold NEEDLE?"
// Outside always holds it; inside does not, unless said. The world is made by the run, after the baseline.

interface Row {
  readonly id: string;
  readonly world: string;
  readonly make: (world: TreeWorld) => void;
  readonly ask?: Question;
  readonly want: VerdictValue;
  readonly gaps?: readonly GapCode[];
  /** The locations of the witnesses. */
  readonly at?: readonly string[];
  /** Outside data is the file's own content here: the link is a hard one. */
  readonly mayHoldOutside?: boolean;
}

const NFC = "caf\u00e9";
const NFD = "cafe\u0301";

/** A path as bytes, for names that are not UTF-8. */
const bytesAt = (world: TreeWorld, name: string): Buffer =>
  Buffer.concat([Buffer.from(`${world.root}/`), Buffer.from(name, "latin1")]);

const utf16le = (text: string): Buffer => Buffer.from(text, "utf16le");

const rows: readonly Row[] = [
  {
    id: "L01",
    world: "a file link that leads out",
    make: (world) => {
      symlinkSync(world.secret("s.txt"), world.at("link"));
    },
    want: "undetermined",
    gaps: ["link_outside_root"],
  },
  {
    id: "L01",
    world: "a relative file link that leads out",
    make: (world) => {
      world.secret("s.txt");
      symlinkSync("../outside/s.txt", world.at("link"));
    },
    want: "undetermined",
    gaps: ["link_outside_root"],
  },
  {
    id: "L01",
    world: "a link that leads out to what is not there",
    make: (world) => {
      symlinkSync("../outside/none", world.at("link"));
    },
    want: "undetermined",
    gaps: ["link_outside_root"],
  },
  {
    id: "L02",
    world: "a file link to a file inside that holds it",
    make: (world) => {
      world.write("real.txt", NEEDLE);
      symlinkSync("real.txt", world.at("link"));
    },
    want: "upheld",
    at: ["workspace:/link", "workspace:/real.txt"],
  },
  {
    id: "L03",
    world: "a file link to a clean file inside",
    make: (world) => {
      world.write("real.txt");
      symlinkSync("real.txt", world.at("link"));
    },
    want: "refuted",
  },
  {
    id: "L04",
    world: "a directory link that leads out",
    make: (world) => {
      world.secret("d/s.txt");
      symlinkSync(join(world.outside, "d"), world.at("link"));
    },
    want: "undetermined",
    gaps: ["link_outside_root"],
  },
  {
    id: "L04",
    world: "a file behind a directory link that leads out, by a pattern",
    make: (world) => {
      world.secret("d/s.txt");
      symlinkSync(join(world.outside, "d"), world.at("link"));
    },
    ask: { uri: "workspace:/link/*.txt" },
    want: "undetermined",
    gaps: ["link_outside_root"],
  },
  {
    id: "L05",
    world: "a directory link to a directory inside",
    make: (world) => {
      world.write("d/a.txt");
      symlinkSync("d", world.at("link"));
    },
    want: "refuted",
  },
  {
    id: "L05",
    world: "a directory link to a directory inside that the pattern does not cover",
    make: (world) => {
      world.write("d/a.txt", NEEDLE);
      world.directory("asked");
      symlinkSync("../d", world.at("asked", "link"));
    },
    ask: { uri: "workspace:/asked/**" },
    want: "undetermined",
    gaps: ["link_not_followed"],
  },
  {
    id: "L06",
    world: "a link to its own directory",
    make: (world) => {
      world.write("a.txt");
      symlinkSync(".", world.at("loop"));
    },
    want: "refuted",
  },
  {
    id: "L07",
    world: "a link to itself",
    make: (world) => {
      symlinkSync("self", world.at("self"));
    },
    want: "undetermined",
    gaps: ["dangling_link"],
  },
  {
    id: "L07",
    world: "a link to nothing",
    make: (world) => {
      symlinkSync("none", world.at("link"));
    },
    want: "undetermined",
    gaps: ["dangling_link"],
  },
  {
    id: "L08",
    world: "a chain of 41 links",
    make: (world) => {
      world.write("end", NEEDLE);
      for (let at = 0; at < 41; at += 1)
        symlinkSync(at === 40 ? "end" : `l${at + 1}`, world.at(`l${at}`));
    },
    ask: { uri: "workspace:/l0", match: "exact" },
    want: "undetermined",
    gaps: ["dangling_link"],
  },
  {
    id: "L08",
    world: "a chain of 40 links",
    make: (world) => {
      world.write("end", NEEDLE);
      for (let at = 0; at < 40; at += 1)
        symlinkSync(at === 39 ? "end" : `l${at + 1}`, world.at(`l${at}`));
    },
    ask: { uri: "workspace:/l0", match: "exact" },
    want: "upheld",
    at: ["workspace:/l0"],
  },
  {
    id: "L09",
    world: "an exact location behind a linked parent that leads out",
    make: (world) => {
      world.secret("d/s.txt");
      symlinkSync(join(world.outside, "d"), world.at("parent"));
    },
    ask: { uri: "workspace:/parent/s.txt", match: "exact" },
    want: "undetermined",
    gaps: ["link_outside_root"],
  },
  {
    id: "L09",
    world: "an exact location behind a linked parent inside",
    make: (world) => {
      world.write("d/s.txt", NEEDLE);
      symlinkSync("d", world.at("parent"));
    },
    ask: { uri: "workspace:/parent/s.txt", match: "exact" },
    want: "undetermined",
    gaps: ["link_not_followed"],
  },
  {
    id: "L11",
    world: "a link with a slash behind its target",
    make: (world) => {
      world.secret("d/s.txt");
      symlinkSync("../outside/d/", world.at("link"));
    },
    want: "undetermined",
    gaps: ["link_outside_root"],
  },
  {
    id: "L13",
    world: "an absolute locator",
    make: (world) => {
      world.write("data/x", NEEDLE);
    },
    ask: { uri: "/data/x", match: "exact" },
    want: "upheld",
    at: ["workspace:/data/x"],
  },
  {
    id: "L14",
    world: "a link into a sibling whose name starts like the root's",
    make: (world) => {
      mkdirSync(`${world.root}-evil`);
      writeFileSync(`${world.root}-evil/s.txt`, `${NEEDLE} ${OUTSIDE}`);
      symlinkSync(`${world.root}-evil/s.txt`, world.at("link"));
    },
    want: "undetermined",
    gaps: ["link_outside_root"],
  },
  {
    id: "L28",
    world: "a hard link to an outside file",
    make: (world) => {
      linkSync(world.secret("s.txt"), world.at("hard"));
    },
    want: "upheld",
    at: ["workspace:/hard"],
    mayHoldOutside: true,
  },
  {
    id: "L33",
    world: "a directory whose name is not UTF-8, with the needle inside",
    make: (world) => {
      mkdirSync(bytesAt(world, "d\xff"));
      writeFileSync(bytesAt(world, "d\xff/f\xfe"), NEEDLE);
    },
    want: "upheld",
    at: [String.raw`workspace:/d\xff/f\xfe`],
  },
  {
    id: "L34",
    world: "a directory whose name is not UTF-8, clean",
    make: (world) => {
      mkdirSync(bytesAt(world, "d\xff"));
      writeFileSync(bytesAt(world, "d\xff/f\xfe"), "clean");
    },
    want: "refuted",
  },
  {
    id: "L35",
    world: "composed and decomposed twins",
    make: (world) => {
      world.write(NFC, NEEDLE);
      world.write(NFD, NEEDLE);
    },
    want: "upheld",
    at: [`workspace:/${NFD}`, `workspace:/${NFC}`],
  },
  {
    id: "L36",
    world: "upper and lower case, asked in the other case",
    make: (world) => {
      world.write("A.TXT", NEEDLE);
    },
    ask: { uri: "workspace:/a.txt", match: "exact" },
    want: "refuted",
  },
  {
    id: "L36",
    world: "upper and lower case twins",
    make: (world) => {
      world.write("A.TXT", NEEDLE);
      world.write("a.txt");
    },
    want: "upheld",
    at: ["workspace:/A.TXT"],
  },
  {
    id: "L37",
    world: "a name of 255 bytes",
    make: (world) => {
      world.write("n".repeat(255), NEEDLE);
    },
    want: "upheld",
    at: [`workspace:/${"n".repeat(255)}`],
  },
  {
    id: "L38",
    world: "newline, backslash, quote, ESC and a mark of right-to-left in names",
    make: (world) => {
      world.write('a\nb\\c"d\u001b[31m\u202e', NEEDLE);
    },
    want: "upheld",
    at: [`workspace:/a\nb\\x5cc"d\u001b[31m\u202e`],
  },
  ...["...", "..x", " ", "dot.", "space "].map((name): Row => ({
    id: "L39",
    world: `the name ${JSON.stringify(name)}`,
    make: (world) => {
      world.write(name, NEEDLE);
    },
    ask: { uri: `workspace:/${name}`, match: "exact" },
    want: "upheld",
    at: [`workspace:/${name}`],
  })),
  {
    id: "L40",
    world: "characters of patterns in an exact location",
    make: (world) => {
      world.write("a*[b]{c,d}?", NEEDLE);
      world.write("axb", "clean");
    },
    ask: { uri: "workspace:/a*[b]{c,d}?", match: "exact" },
    want: "upheld",
    at: ["workspace:/a*[b]{c,d}?"],
  },
  {
    id: "L40",
    world: "an exact location with a star, where only what the star would match is there",
    make: (world) => {
      world.write("axb", NEEDLE);
    },
    ask: { uri: "workspace:/a*", match: "exact" },
    want: "refuted",
  },
  {
    id: "L45",
    world: "the needle across the border of a chunk",
    make: (world) => {
      const content = Buffer.alloc(3 << 20, "x");
      content.write(NEEDLE, (1 << 20) - 3);
      world.write("large.txt", content);
    },
    want: "upheld",
    at: ["workspace:/large.txt"],
  },
  {
    id: "L45",
    world: "the needle across the cut of what is kept",
    make: (world) => {
      const content = Buffer.alloc(1_500_000, "x");
      content.write(NEEDLE, 999_997);
      world.write("large.txt", content);
    },
    want: "upheld",
    at: ["workspace:/large.txt"],
  },
  ...(["utf-16le", "utf-16be"] as const).flatMap((encoding) =>
    [true, false].map((marked): Row => ({
      id: "L46",
      world: `${encoding} ${marked ? "with" : "without"} a mark`,
      make: (world) => {
        const bytes = utf16le(`${marked ? "\ufeff" : ""}some text, ${NEEDLE}, more text`);
        world.write("text.txt", encoding === "utf-16be" ? bytes.swap16() : bytes);
      },
      want: "upheld",
      at: ["workspace:/text.txt"],
    })),
  ),
  {
    id: "L47",
    world: "the needle in binary content",
    make: (world) => {
      world.write("data.bin", Buffer.concat([Buffer.of(0, 255, 1, 0, 2), Buffer.from(NEEDLE)]));
    },
    want: "upheld",
    at: ["workspace:/data.bin"],
  },
  {
    id: "L48",
    world: "the needle inside a compressed file",
    make: (world) => {
      world.write("a.txt", NEEDLE);
      execFileSync("gzip", [world.at("a.txt")]);
    },
    want: "undetermined",
    gaps: ["not_text"],
  },
  {
    id: "L49",
    world: "an empty file",
    make: (world) => {
      world.write("empty", "");
    },
    want: "refuted",
  },
];

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

  test.each(rows.map((row) => [row.id, row.world, row] as const))("%s %s", async (_id, _w, row) => {
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
  });

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
