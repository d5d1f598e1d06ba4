import { cpSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { isUpheldError } from "../../../src/core/errors.ts";
import { loadSnapshot } from "../../../src/sources/local-files/baseline-file.ts";
import { LocalFileSurfaceSource } from "../../../src/sources/local-files/source.ts";
import { askInProcess, needle, requestOf } from "../../worlds/observe-tree.ts";
import { isLinux, NEEDLE, treeWorld } from "../../worlds/tree.ts";

// A baseline that one process saves and another takes up: equal to the one held, or refused.

describe.runIf(isLinux)("a saved baseline", () => {
  const world = treeWorld();
  const folder = join(world.base, "state");
  afterAll(() => world[Symbol.asyncDispose]());

  test("opened in another process it gives what the one held gives", async () => {
    await using source = new LocalFileSurfaceSource({ name: "workspace", directory: world.root });
    world.write("kept.txt", "kept");
    world.write("d/modified.txt", "before");
    world.write("d/deleted.txt", "gone soon");
    world.write(Buffer.from("odd\xff").toString("latin1"), "odd");
    world.run("ln", ["-s", "kept.txt", "link"]);
    const baseline = await source.baseline();
    await source.saveBaseline(baseline, folder);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    world.write("d/modified.txt", NEEDLE);
    rmSync(world.at("d/deleted.txt"));
    world.write("created.txt", "new");
    const asked = [
      { uri: "workspace:/**", matcher: needle },
      { uri: "workspace:/**", extent: "delta" as const, matcher: undefined },
    ];
    const other = await askInProcess({ directory: world.root, folder, asked });
    const here = await source.observe(
      asked.map((each) => requestOf(each)),
      { baseline },
    );
    expect(other.digest).toBe(baseline.digest);
    expect(other.observations.map(({ payload }) => payload)).toEqual(
      JSON.parse(JSON.stringify(here.map(({ payload }) => payload))),
    );
    expect(other.verdicts[0]?.value).toBe("upheld");
  }, 60_000);

  test("where the root's path leads elsewhere by then, nothing of it is read", async () => {
    const link = join(world.base, "link");
    symlinkSync(world.root, link);
    world.secret("secret.txt");
    const place = join(world.base, "of-link");
    await using before = new LocalFileSurfaceSource({ name: "workspace", directory: link });
    await before.saveBaseline(await before.baseline(), place);
    rmSync(link);
    symlinkSync(world.outside, link);
    const asked = [{ uri: "workspace:/**", matcher: needle }];
    const replaced = await askInProcess({ directory: link, folder: place, asked });
    expect(replaced.verdicts[0]).toMatchObject({
      value: "undetermined",
      gaps: [{ code: "root_replaced" }],
    });
    expect(JSON.stringify(replaced)).not.toContain("secret.txt");
    // Named by another path it is what the caller says it is.
    const named = await askInProcess({ directory: world.outside, folder: place, asked });
    expect(named.verdicts[0]).toMatchObject({ value: "upheld" });
  }, 60_000);

  test("saving over an older one leaves a whole one", async () => {
    await using source = new LocalFileSurfaceSource({ name: "workspace", directory: world.root });
    await source.saveBaseline(await source.baseline(), folder);
    world.write("more.txt", "more");
    const later = await source.baseline();
    await source.saveBaseline(later, folder);
    expect((await source.openBaseline(folder)).digest).toBe(later.digest);
  });

  test("cut at any length, or changed in any byte, it is refused", async () => {
    const file = join(folder, "local-files.baseline");
    const whole = readFileSync(file);
    const broken = join(world.base, "broken");
    cpSync(folder, broken, { recursive: true });
    const target = join(broken, "local-files.baseline");
    expect(loadSnapshot(broken).snapshot.digest).toBeDefined();
    const refuses = (bytes: Uint8Array): boolean => {
      writeFileSync(target, bytes);
      try {
        loadSnapshot(broken);
        return false;
      } catch (error) {
        return isUpheldError(error) && error.code === "state_invalid";
      }
    };
    const accepted: string[] = [];
    for (let length = 0; length < whole.length; length += 1)
      if (!refuses(whole.subarray(0, length))) accepted.push(`cut to ${length}`);
    for (let at = 0; at < whole.length; at += 1) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] ?? 0) ^ 0x01;
      if (!refuses(changed)) accepted.push(`changed at ${at}`);
    }
    if (!refuses(Buffer.concat([whole, Buffer.of(0)]))) accepted.push("a byte more");
    expect(accepted).toEqual([]);
  }, 120_000);

  test("a folder without one is refused", async () => {
    await using source = new LocalFileSurfaceSource({ name: "workspace", directory: world.root });
    await expect(source.openBaseline(world.outside)).rejects.toMatchObject({
      code: "state_invalid",
    });
  });

  test("a baseline that was released is not used", async () => {
    await using source = new LocalFileSurfaceSource({ name: "workspace", directory: world.root });
    const baseline = await source.baseline();
    await baseline[Symbol.asyncDispose]();
    await expect(source.observe([requestOf()], { baseline })).rejects.toMatchObject({
      code: "state_invalid",
    });
  });
});
