import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { openWrites } from "../../../src/run/isolation/isolate.ts";
import { agent, becomeOrdinaryUser, everything, isolationFault, lines } from "./world.ts";
import { makeWorld, mergedSnapshot, removeWorlds, snapshot } from "./world.ts";

becomeOrdinaryUser();
const fault = await isolationFault();
afterEach(removeWorlds);

const cases: {
  readonly world: string;
  readonly before?: string;
  readonly agent: string;
  readonly want: readonly string[];
}[] = [
  { world: "nothing done", agent: "cat a; ls d", want: [] },
  {
    world: "new, changed, removed",
    agent: "echo n > n; echo x >> a; rm b",
    want: ["+ n", "- b", "~ a"],
  },
  { world: "mode only", agent: "chmod 600 a", want: ["~ a"] },
  { world: "made and removed again", agent: "echo x > n; rm n; mkdir m; rmdir m", want: [] },
  { world: "removed and made again", agent: "rm a; echo new > a", want: ["~ a"] },
  {
    world: "opaque directory",
    agent: "rm -rf d && mkdir d && echo new > d/two",
    want: ["- d/one", "- d/sub/", "- d/sub/three", "~ d/", "~ d/two"],
  },
  {
    world: "opaque directory with one of the same name in it",
    agent: "rm -rf d && mkdir -p d/sub && echo new > d/sub/four",
    want: ["+ d/sub/four", "- d/one", "- d/sub/three", "- d/two", "~ d/", "~ d/sub/"],
  },
  {
    world: "whole subtree",
    agent: "rm -rf d",
    want: ["- d/", "- d/one", "- d/sub/", "- d/sub/three", "- d/two"],
  },
  {
    world: "directory renamed",
    agent: "mv d e",
    want: [
      "+ e/",
      "+ e/one",
      "+ e/sub/",
      "+ e/sub/three",
      "+ e/two",
      "- d/",
      "- d/one",
      "- d/sub/",
      "- d/sub/three",
      "- d/two",
    ],
  },
  {
    world: "directory becomes a file",
    agent: "rm -rf d; echo x > d",
    want: ["- d/one", "- d/sub/", "- d/sub/three", "- d/two", "~ d"],
  },
  {
    world: "file becomes a directory",
    agent: "rm a; mkdir a; echo x > a/in",
    want: ["+ a/in", "~ a/"],
  },
  {
    world: "links",
    agent: "ln -s /etc/passwd out; ln -sfn d l; ln a twin",
    want: ["+ l", "+ out", "+ twin", "~ a"],
  },
  { world: "pipe", agent: "mkfifo p", want: ["+ p"] },
  {
    world: "directory that denies its owner",
    agent: "mkdir -p x/y; echo s > x/y/f; chmod 0 x/y/f x/y x",
    want: ["+ x/", "+ x/y/", "+ x/y/f"],
  },
  {
    world: "read-only directory",
    before: "chmod 555 d",
    agent: "chmod 755 d; echo x > d/n; rm d/one; chmod 555 d",
    want: ["+ d/n", "- d/one", "~ d/"],
  },
  { world: "old time kept", agent: "cp -p a c; touch -d 2001-01-01 c", want: ["+ c"] },
  { world: "empty file", agent: ": > e; : > a", want: ["+ e", "~ a"] },
  {
    world: "names",
    agent: `printf x > "$(printf 'n,o:t \\\\w"q')"; printf x > "$(printf 'l1\\nl2')"; printf x > "$(printf '\\377raw')"`,
    want: ["+ l1\nl2", '+ n,o:t \\w"q', "+ \xffraw"],
  },
  { world: "a hole of 1 TB", agent: "truncate -s 1T hole", want: ["+ hole"] },
  {
    world: "4,000 bytes of path and more",
    agent: `node -e 'for (let i = 0; i < 60; i += 1) { const n = String(i).padStart(100, "0"); fs.mkdirSync(n); process.chdir(n); } fs.writeFileSync("end", "x")'`,
    want: [],
  },
];

describe.skipIf(fault !== undefined)("the write set, and its apply", () => {
  test.each(cases)("$world", async (row) => {
    const world = makeWorld(row.before);
    const { isolation, code, stderr } = await agent(world, `${row.agent}\nexit 0`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const writeSet = await isolation.writeSet("workspace", everything);
    expect(writeSet).toMatchObject({ unlisted: [], limitReached: false });
    if (row.world.startsWith("4,000")) expect(writeSet.entries.length).toBe(62);
    else expect(lines(writeSet)).toEqual(row.want);

    // The merged tree as a second run sees it, so that only the kernel says what it holds.
    const merged = row.world === "directory that denies its owner" ? "" : mergedSnapshot(world);
    const result = await isolation.apply("workspace");
    expect(result).toMatchObject({ ok: true, notKept: [] });
    if (merged !== "") expect(snapshot(world.dir)).toBe(merged);
    expect(await isolation.apply("workspace")).toEqual({ ok: true, applied: 0, notKept: [] });
    await isolation.discard();
    expect(readdirSync(world.stateDir)).toEqual([]);
  });
});

describe.skipIf(fault !== undefined)("apply", () => {
  test("keeps times, and which names share a file", async () => {
    const world = makeWorld();
    const { isolation } = await agent(
      world,
      "echo 1 > h; ln h d/h; ln h i; touch -d '2001-02-03 04:05:06.789012' h d",
    );
    expect(await isolation.apply("workspace")).toMatchObject({ ok: true });
    const [one, two, three] = ["h", "d/h", "i"].map((path) => lstatSync(join(world.dir, path)));
    expect([one?.nlink, two?.ino, three?.ino]).toEqual([3, one?.ino, one?.ino]);
    const wanted = new Date("2001-02-03 04:05:06.789012").getTime();
    for (const path of ["h", "d"]) {
      expect(Math.abs(lstatSync(join(world.dir, path)).mtimeMs - wanted)).toBeLessThan(1);
    }
  });

  const outside: {
    readonly world: string;
    readonly agent: string;
    readonly outside: string;
    readonly want: readonly string[];
  }[] = [
    { world: "changed file", agent: "echo x > a", outside: "echo y >> a", want: ["changed a"] },
    {
      world: "changed file of equal size and time",
      agent: "echo x > a",
      outside: "touch -r a ../t; echo z > a; touch -r ../t a",
      want: ["changed a"],
    },
    { world: "replaced file", agent: "rm a", outside: "cp -p a c; mv c a", want: ["changed a"] },
    { world: "vanished file", agent: "echo x > a", outside: "rm a", want: ["vanished a"] },
    {
      world: "file that appeared",
      agent: "echo x > n",
      outside: "echo y > n",
      want: ["appeared n"],
    },
    {
      world: "file in a removed directory",
      agent: "rm -rf d",
      outside: "echo y > d/n",
      want: ["changed d"],
    },
    {
      world: "file in a directory made anew",
      agent: "rm -rf d; mkdir d",
      outside: "echo y > d/n",
      want: ["changed d"],
    },
    {
      world: "directory turned into a link",
      agent: "echo x > d/n",
      outside: "mv d ../moved; ln -s ../moved d",
      want: ["changed d"],
    },
    {
      world: "directory whose mode changed",
      agent: "echo x > d/n",
      outside: "chmod 700 d",
      want: ["changed d"],
    },
    {
      world: "two at once",
      agent: "echo x > a; rm b",
      outside: "echo y > a; echo y > b",
      want: ["changed a", "changed b"],
    },
    {
      world: "an unrelated file beside it",
      agent: "echo x > d/n",
      outside: "echo y > d/o; echo y > a",
      want: [],
    },
  ];
  test.each(outside)("refuses over what others did after the run: $world", async (row) => {
    const world = makeWorld();
    const { isolation } = await agent(world, row.agent);
    await isolation.writeSet("workspace", everything);
    await delay(20);
    expect(spawnSync("sh", ["-ec", row.outside], { cwd: world.dir }).status).toBe(0);
    const before = snapshot(world.dir);
    // A later process decides, from the state alone.
    const result = await openWrites(world.stateDir, "run-1").apply("workspace");
    const conflicts = result.ok ? [] : result.conflicts;
    expect(conflicts.map(({ path, reason }) => `${reason} ${path.toString()}`)).toEqual(row.want);
    if (!result.ok) expect(snapshot(world.dir)).toBe(before);
    expect(existsSync(join(world.base, "moved/n"))).toBe(false);
  });

  test("refuses over what others did during the run, without a list from its end", async () => {
    const world = makeWorld();
    const { isolation } = await agent(world, `echo x > a; sleep 0.1`);
    await delay(20);
    writeFileSync(join(world.dir, "a"), "outside");
    expect(await isolation.apply("workspace")).toMatchObject({ ok: false, total: 1 });
    expect(readFileSync(join(world.dir, "a"), "utf8")).toBe("outside");
  });

  test("refuses another directory in the root's place", async () => {
    const world = makeWorld();
    const { isolation } = await agent(world, "echo x > a");
    await isolation.writeSet("workspace", everything);
    expect(
      spawnSync("sh", ["-ec", "mv root old; cp -rp old root"], { cwd: world.base }).status,
    ).toBe(0);
    expect(await isolation.apply("workspace")).toMatchObject({
      ok: false,
      conflicts: [{ reason: "root_replaced" }],
    });
  });

  test("goes on where a crash cut it off", async () => {
    const world = makeWorld();
    const script = "echo x > a; rm -rf d; echo y > n; mkdir m; echo z > m/f; rm b; mkdir b; ln n o";
    const { isolation } = await agent(world, script);
    await isolation.writeSet("workspace", everything);
    const want = mergedSnapshot(world);
    // As far as a crash got: a few entries, a temporary file, the journal.
    const state = join(world.stateDir, "run-1/0");
    const cut =
      "cp -p $0/upper/a a; cp -p $0/upper/n n; rm d/sub/three b; mkdir m; echo part > .upheld-run-1-1; touch $0/applying";
    expect(spawnSync("sh", ["-ec", cut, state], { cwd: world.dir }).status).toBe(0);
    expect(await isolation.apply("workspace")).toMatchObject({ ok: true });
    expect(snapshot(world.dir)).toBe(want);
  });

  test("stops at an abort before it writes", async () => {
    const world = makeWorld();
    const { isolation } = await agent(world, "echo x > a");
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(isolation.apply("workspace", { signal })).rejects.toThrow("enough");
    await expect(isolation.writeSet("workspace", { ...everything, signal })).rejects.toThrow(
      "enough",
    );
    expect(readFileSync(join(world.dir, "a"), "utf8")).toBe("a\n");
  });
});
