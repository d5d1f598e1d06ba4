import { describe, expect, test } from "vitest";
import { LocalFileSurfaceSource } from "../../../src/sources/local-files/source.ts";
import { ask } from "../../worlds/observe-tree.ts";
import { isLinux, NEEDLE, treeWorld } from "../../worlds/tree.ts";

describe.runIf(isLinux)("two sources on one root", () => {
  test("F32 both are right, at the same time", async () => {
    await using world = treeWorld();
    for (let at = 0; at < 200; at += 1) world.write(`d${at % 7}/f${at}.txt`);
    const sources = [1, 2].map(
      () => new LocalFileSurfaceSource({ name: "workspace", directory: world.root }),
    );
    const act = (): void => {
      world.write("new.txt", NEEDLE);
    };
    const answers = await Promise.all(
      sources.map((source) => ask(world.root, {}, { source, act })),
    );
    for (const source of sources) await source[Symbol.asyncDispose]();
    expect(answers.map(({ verdict }) => verdict.value)).toContain("upheld");
    // The file is of the run of whoever took the baseline before it; for the other it may have been there.
    for (const { verdict } of answers) expect(["upheld", "refuted"]).toContain(verdict.value);
  });

  test("one source answers several questions at once, each with its own baseline", async () => {
    await using world = treeWorld();
    await using source = new LocalFileSurfaceSource({ name: "workspace", directory: world.root });
    const first = await source.baseline();
    world.write("a.txt", NEEDLE);
    const second = await source.baseline();
    const scorable = {
      kind: "surface",
      uri: "workspace:/**",
      surface: "file",
      match: "glob",
    } as const;
    const [early, late] = await Promise.all(
      [first, second].map((baseline) => source.observe([{ scorable }], { baseline })),
    );
    const counts = [early, late].map((each) =>
      each?.map(({ payload }) => (payload.kind === "surface" ? payload.entries.length : -1)),
    );
    expect(counts).toEqual([[1], [0]]);
  });
});
