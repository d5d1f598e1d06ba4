import { describe, expect, test } from "vitest";
import { expandBraces, parseGlob } from "../../src/core/glob.ts";
import { NOISE, noiseOf } from "../../src/core/noise.ts";

const nameOf = noiseOf("workspace");

describe("noise", () => {
  test.each([
    [".git/index", "git"],
    ["sub/.git/objects/ab/cd", "git"],
    [".git/index.lock", "git"],
    [".git/hooks/pre-commit", undefined],
    [".git/config", undefined],
    [".gitignore", undefined],
    ["a/__pycache__", "python bytecode"],
    ["a/__pycache__/b.txt", "python bytecode"],
    ["a.pyc", "python bytecode"],
    [".cache/pip/x", "caches of tools"],
    ["node_modules/.cache/x/y", "caches of tools"],
    ["node_modules/x/index.js", undefined],
    [".npm/_logs/x.log", "caches of package managers"],
    ["npm-debug.log.1", "logs of runtimes"],
    ["out.log", undefined],
    [".notes.md.swp", "swap files of editors"],
    ["notes.md~", "swap files of editors"],
    ["a/.DS_Store", "files of desktops"],
    ["git", undefined],
  ])("at %s: %s", (path, want) => {
    expect(nameOf(`workspace:/${path}`)).toBe(want);
  });

  test("is what the printed patterns say, each of them", () => {
    for (const [name, patterns] of Object.entries(NOISE))
      for (const pattern of patterns.flatMap(expandBraces)) {
        const path = pattern.replace("**", "x/y").replaceAll("*", "x").replace("[a-p]", "p");
        expect(
          parseGlob(`workspace:/**/${pattern}`).matches(`workspace:/deep/${path}`),
          pattern,
        ).toBe(true);
        expect(nameOf(`workspace:/deep/${path}`), path).toBe(name);
      }
  });
});
