import {
  closeSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../../../src/core/limits.ts";
import type { ConfinedRoot } from "../../../src/sources/local-files/confined.ts";
import { Budget, Meter } from "../../../src/sources/local-files/meter.ts";
import { openPathRoot } from "../../../src/sources/local-files/path-root.ts";
import { walk } from "../../../src/sources/local-files/walk.ts";
import { ask } from "../../worlds/observe-tree.ts";
import { NEEDLE, OUTSIDE, treeWorld } from "../../worlds/tree.ts";

// Confinement by identity, as macOS and Windows have it: there the whole source runs on it, here `path-root.ts` is run directly.
// On Windows a directory link is a junction, which needs no privilege.

const isWindows = process.platform === "win32";
const usesIdentity = process.platform !== "linux";

function linkDirectory(target: string, path: string): void {
  symlinkSync(target, path, isWindows ? "junction" : "dir");
}

const errorCode = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
  return "none";
};

const meter = (): Meter => new Meter(new Int32Array(new SharedArrayBuffer(4)));

function readText(confined: ConfinedRoot, ...names: readonly string[]): string {
  const folder = names
    .slice(0, -1)
    .reduce((at, name) => confined.openDirectory(at, name), confined.root);
  const { fd } = confined.openFile(folder, names.at(-1) ?? "");
  try {
    return readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
  }
}

describe("confinement by the identity of paths", () => {
  const world = treeWorld();
  afterEach(() => {
    world.clear();
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test("reads what lies inside", () => {
    world.write("d/e/f.txt", "true content");
    using confined = openPathRoot(world.root);
    expect(confined.confinement).toBe("identity");
    expect(readText(confined, "d", "e", "f.txt")).toBe("true content");
  });

  test("lists each entry with its type, a link or junction as a link", () => {
    world.write("d/f.txt");
    linkDirectory(world.at("d"), world.at("link"));
    using confined = openPathRoot(world.root);
    const { tree, gaps } = walk(confined, {
      meter: meter(),
      listing: new Budget(DEFAULT_LIMITS.maxListedEntries),
    });
    const found = [...tree.children(0)].map((node) => `${tree.names.get(node)} ${tree.type(node)}`);
    expect(found).toEqual(["d directory", "link link"]);
    expect(gaps).toEqual([]);
  });

  test("does not go through a link or junction that stands where a directory should", () => {
    world.secret("f.txt");
    linkDirectory(world.outside, world.at("d"));
    using confined = openPathRoot(world.root);
    expect(errorCode(() => confined.openDirectory(confined.root, "d"))).toBe("ENOTDIR");
  });

  test("does not open what is no regular file", () => {
    world.directory("d");
    using confined = openPathRoot(world.root);
    expect(errorCode(() => confined.openFile(confined.root, "d"))).toBe("ELOOP");
  });

  test("a directory that is swapped for a link or junction after it was opened is refused", () => {
    world.secret("f.txt");
    world.write("d/f.txt", "true content");
    using confined = openPathRoot(world.root);
    const held = confined.openDirectory(confined.root, "d");
    renameSync(world.at("d"), world.at("was"));
    linkDirectory(world.outside, world.at("d"));
    expect(errorCode(() => confined.openFile(held, "f.txt"))).toBe("EUNCONFINED");
    expect(errorCode(() => confined.list(held, () => true))).toBe("EUNCONFINED");
    expect(errorCode(() => confined.openDirectory(held, "x"))).toBe("EUNCONFINED");
    expect(errorCode(() => confined.statDirectory(held))).toBe("EUNCONFINED");
  });

  test("a directory above that is swapped for a link or junction is refused", () => {
    mkdirSync(join(world.outside, "e"));
    writeFileSync(join(world.outside, "e", "f.txt"), `${NEEDLE} ${OUTSIDE}`);
    world.write("d/e/f.txt", "true content");
    using confined = openPathRoot(world.root);
    const held = confined.openDirectory(confined.openDirectory(confined.root, "d"), "e");
    renameSync(world.at("d"), world.at("was"));
    linkDirectory(world.outside, world.at("d"));
    expect(errorCode(() => confined.openFile(held, "f.txt"))).toBe("EUNCONFINED");
  });

  test("a directory that is put in the place of another is refused", () => {
    world.write("d/f.txt", "one");
    world.write("e/f.txt", "other");
    using confined = openPathRoot(world.root);
    const held = confined.openDirectory(confined.root, "d");
    rmSync(world.at("d"), { recursive: true });
    renameSync(world.at("e"), world.at("d"));
    expect(errorCode(() => confined.openFile(held, "f.txt"))).toBe("EUNCONFINED");
  });

  test.each(["..", ".", "", "a/b", "a\0b"])("the name %j is no name", (name) => {
    using confined = openPathRoot(world.root);
    expect(errorCode(() => confined.openFile(confined.root, name))).toBe("EUNCONFINED");
    expect(errorCode(() => confined.openDirectory(confined.root, name))).toBe("EUNCONFINED");
  });

  test.for(["CON", "nul.txt", "COM1", "a:stream", "dot.", "space ", "LPT\u00b9"])(
    "L41 the name %j has another meaning on Windows",
    (name, context) => {
      context.skip(!isWindows, "it is a plain name here");
      using confined = openPathRoot(world.root);
      expect(errorCode(() => confined.openFile(confined.root, name))).toBe("EUNCONFINED");
    },
  );

  test("the whole source says how it is confined", async () => {
    const { verdict, observation } = await ask(
      world.root,
      {},
      {
        act: () => {
          world.write("a.txt", NEEDLE);
        },
      },
    );
    expect(verdict.value).toBe("upheld");
    expect(observation.payload.coverage.confinement).toBe(usesIdentity ? "identity" : "handle");
  });

  test("junctions and links that are swapped in a loop show no byte from outside", async (context) => {
    context.skip(!usesIdentity, "on Linux races.test.ts does this against held handles");
    world.secret("f.txt");
    world.write("d/f.txt", "true content");
    const script = `
      const fs = require("fs"); const kind = process.platform === "win32" ? "junction" : "dir";
      process.stdout.write("ready\\n");
      for (;;) { try { fs.renameSync("d", "was"); fs.symlinkSync(${JSON.stringify(world.outside)}, "d", kind);
        fs.unlinkSync("d"); fs.renameSync("was", "d"); } catch {} }`;
    const racer = await world.start(process.execPath, ["-e", script]);
    for (let round = 0; round < 200; round += 1) {
      const { observation, verdict } = await ask(world.root, {}, { withBaseline: false });
      expect(JSON.stringify(observation)).not.toContain(OUTSIDE);
      expect(verdict.value).not.toBe("upheld");
    }
    racer.kill("SIGKILL");
  });

  test("a volume that is blind to case tells the real name", async (context) => {
    world.write("A.TXT", NEEDLE);
    const isBlind = errorCode(() => readFileSync(world.at("a.txt"))) === "none";
    context.skip(!isBlind, "upper and lower case differ here");
    const { observation } = await ask(world.root, { uri: "workspace:/*" }, { withBaseline: false });
    expect(observation.payload.entries.map(({ uri }) => uri)).toEqual(["workspace:/A.TXT"]);
  });
});
