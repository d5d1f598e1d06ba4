import { existsSync, lstatSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { agent, everything, isolationFault, lines, makeWorld, removeWorlds } from "./world.ts";

afterEach(removeWorlds);
const isRoot = process.getuid?.() === 0;
const fault = isRoot ? await isolationFault() : "this is not root";

describe.skipIf(fault !== undefined)("root", () => {
  test("keeps its privilege in the overlay, and apply carries owners and devices over", async () => {
    const world = makeWorld();
    const { isolation, code, stdout, stderr } = await agent(
      world,
      "id -u; chown 4321:8765 a; chmod 4755 a; mknod null c 1 3; rm -rf d; mkdir d; chown 5:6 d",
    );
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "0\n", stderr: "" });
    expect(lstatSync(join(world.dir, "a")).uid).toBe(0);
    expect(lines(await isolation.writeSet("workspace", everything))).toEqual([
      "+ null",
      "- d/one",
      "- d/sub/",
      "- d/sub/three",
      "- d/two",
      "~ a",
      "~ d/",
    ]);
    expect(await isolation.apply("workspace")).toMatchObject({ ok: true, notKept: [] });
    const { uid, gid, mode } = lstatSync(join(world.dir, "a"));
    expect([uid, gid, mode & 0o7777]).toEqual([4321, 8765, 0o4755]);
    expect(lstatSync(join(world.dir, "d")).gid).toBe(6);
    expect(lstatSync(join(world.dir, "null")).rdev).toBe(lstatSync("/dev/null").rdev);
    await isolation.discard();
    expect(existsSync(join(world.stateDir, "run-1"))).toBe(false);
  });
});
