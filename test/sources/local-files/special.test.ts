import { spawnSync } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { LocalFileSurfaceSource } from "../../../src/sources/local-files/source.ts";
import { ask, askInProcess, needle } from "../../worlds/observe-tree.ts";
import {
  hasProgram,
  hasPython,
  isLinux,
  isRoot,
  NEEDLE,
  OUTSIDE,
  PYTHON,
  TREE_PROGRAMS,
  treeWorld,
} from "../../worlds/tree.ts";

// What is no ordinary file: lines 22-27, 29-31 and 52 of the list, faults 6, 14, 15 and 18. Looking must not change the world.

// A loaded machine may take its time: each question is a process of its own.
vi.setConfig({ testTimeout: 120_000 });

const mayMount =
  isLinux && isRoot && hasProgram("unshare") && spawnSync("unshare", ["-m", "true"]).status === 0;

const NO_MOUNT = "mounting needs root and unshare -m";

const everything = [{ uri: "workspace:/**", matcher: needle }];

describe.runIf(isLinux)("special files are listed and never opened", () => {
  const world = treeWorld();
  const source = new LocalFileSurfaceSource({ name: "workspace", directory: world.root });
  afterEach(() => {
    world.clear();
  });
  afterAll(async () => {
    await source[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  test("L22 F14 a FIFO without a writer", async () => {
    const { verdict, observation } = await ask(
      world.root,
      {},
      {
        source,
        act: () => {
          world.run("mkfifo", ["fifo"]);
        },
      },
    );
    expect(verdict.value).toBe("refuted");
    expect(observation.payload.coverage).toMatchObject({ gaps: [], readBytes: 0 });
    expect(observation.payload.entries.map(({ now }) => now?.type)).toEqual(["fifo"]);
  });

  test("L22 a FIFO as an exact location", async () => {
    const { gaps } = await ask(
      world.root,
      { uri: "workspace:/fifo", match: "exact" },
      {
        source,
        act: () => {
          world.run("mkfifo", ["fifo"]);
        },
      },
    );
    expect(gaps).toEqual(["not_a_file"]);
  });

  test("L23 F14 a FIFO with a waiting writer, which still waits afterwards", async (context) => {
    context.skip(!hasPython, "python3 is not there");
    world.run("mkfifo", ["fifo"]);
    const writer = await world.start(PYTHON, [TREE_PROGRAMS, "waiting_writer", world.at("fifo")]);
    const said: string[] = [];
    writer.stdout?.on("data", (chunk) => said.push(String(chunk)));
    await sleep(100);
    const { verdict } = await ask(world.root, {}, { source });
    await ask(world.root, { extent: "delta" }, { source, withBaseline: false });
    await sleep(50);
    expect({ value: verdict.value, said, exitCode: writer.exitCode }).toEqual({
      value: "refuted",
      said: [],
      exitCode: null,
    });
    // The control: an open that does not wait lets the writer go on, into nothing.
    closeSync(openSync(world.at("fifo"), constants.O_RDONLY | constants.O_NONBLOCK));
    for (let waited = 0; said.length === 0 && waited < 100; waited += 1) await sleep(20);
    expect(said.join("")).toContain("opened");
  });

  test("L24 F14 a socket", async (context) => {
    context.skip(!hasPython, "python3 is not there");
    const { verdict, observation } = await ask(
      world.root,
      {},
      {
        source,
        act: () => world.start(PYTHON, [TREE_PROGRAMS, "unix_socket", world.at("socket")]),
      },
    );
    expect(verdict.value).toBe("refuted");
    expect(observation.payload.entries.map(({ now }) => now?.type)).toEqual(["socket"]);
  });

  test.for([
    ["L25", "/dev/zero", "c", "1", "5", "character_device"],
    ["L26", "/dev/full", "c", "1", "7", "character_device"],
    ["L25", "a disk", "b", "7", "0", "block_device"],
  ])(
    "%s F14 a node of %s",
    async ([_id, _what, kind = "", major = "", minor = "", type], context) => {
      context.skip(!isRoot, "device nodes need root");
      const { verdict, observation } = await ask(
        world.root,
        {},
        {
          source,
          act: () => {
            world.run("mknod", ["node", kind, major, minor]);
          },
        },
      );
      expect(verdict.value).toBe("refuted");
      expect(observation.payload.coverage).toMatchObject({ gaps: [], readBytes: 0 });
      expect(observation.payload.entries.map(({ now }) => now?.type)).toEqual([type]);
    },
  );
});

describe.runIf(isLinux)("files that are not what their metadata says", () => {
  test("L27 F15 a file of size 0 that yields bytes is read, and its digest is not believed", async () => {
    const { verdict, gaps, observation } = await ask("/proc/sys/kernel/random", {
      uri: "workspace:/boot_id",
      match: "exact",
      matcher: undefined,
    });
    const [entry] = observation.payload.entries;
    expect(entry?.now?.content?.value).toMatch(/^[0-9a-f-]{36}\n/);
    expect(entry?.now?.sha256).toBeUndefined();
    expect(entry?.now?.unread?.code).toBe("changed_during_read");
    expect({ value: verdict.value, gaps }).toEqual({
      value: "undetermined",
      gaps: ["baseline_partial"],
    });
  });

  test("L27 a file of size 0 that yields bytes is not empty once the budget is spent", async () => {
    const { verdict } = await ask(
      "/proc/sys/kernel/random",
      {
        uri: "workspace:/{boot_id,poolsize}",
        matcher: {
          kind: "equals",
          value: "no",
          caseSensitive: true,
          lineEndings: "any",
          unicode: "nfc",
        },
      },
      { withBaseline: false, limits: { maxReadBytes: 1 } },
    );
    expect(verdict.value).toBe("undetermined");
  });

  test("L52 F06 a file whose reading fails with EIO", async () => {
    const { verdict, observation } = await ask(
      `/proc/${process.pid}`,
      { uri: "workspace:/mem", match: "exact" },
      { withBaseline: false },
    );
    expect(verdict.value).toBe("undetermined");
    expect(observation.payload.entries[0]?.now?.unread).toEqual({
      code: "read_failed",
      detail: "EIO",
    });
  });
});

describe.runIf(isLinux)(
  "what is mounted below the root is not entered",
  () => {
    test.for([
      [
        "L29 F18 a bind mount of an outside directory",
        "mkdir -p root/mnt && mount --bind outside root/mnt",
      ],
      [
        "L30 F18 a tmpfs",
        "mkdir -p root/mnt && mount -t tmpfs none root/mnt && cp outside/s.txt root/mnt/",
      ],
      [
        "L29 F18 a bind mount of an outside file",
        "touch root/mnt && mount --bind outside/s.txt root/mnt",
      ],
      [
        "L29 F18 a bind mount deep below, with odd characters in its path",
        `mkdir -p 'root/a b/c\\d' && mount --bind outside 'root/a b/c\\d'`,
      ],
    ])("%s", async ([_name, mounts = ""], context) => {
      context.skip(!mayMount, NO_MOUNT);
      await using world = treeWorld();
      const script = `cd '${world.base}' && ${mounts} && exec "$@"`;
      world.secret("s.txt");
      world.write("clean.txt");
      const answer = await askInProcess(
        { directory: world.root, asked: everything, baseline: true },
        { prefix: ["unshare", "-m", "sh", "-c", script, "sh"] },
      );
      const [verdict] = answer.verdicts;
      expect(verdict).toMatchObject({
        value: "undetermined",
        gaps: [{ code: "other_filesystem", count: 1 }],
      });
      expect(JSON.stringify(answer.observations)).not.toContain(OUTSIDE);
    });

    test("L29 a mounted file is not read under a window either", async (context) => {
      context.skip(!mayMount, NO_MOUNT);
      await using world = treeWorld();
      world.secret("s.txt");
      const script = `cd '${world.base}' && touch root/mnt && mount --bind outside/s.txt root/mnt && exec "$@"`;
      const answer = await askInProcess(
        { directory: world.root, asked: [...everything, { ...everything[0], extent: "delta" }] },
        { prefix: ["unshare", "-m", "sh", "-c", script, "sh"] },
      );
      expect(JSON.stringify(answer.observations)).not.toContain(OUTSIDE);
    });

    test("L31 an overlay: what was copied up and what was not are both covered", async (context) => {
      context.skip(!mayMount, NO_MOUNT);
      await using world = treeWorld();
      const observer = fileURLToPath(new URL("../../worlds/observe-tree.mjs", import.meta.url));
      const before = JSON.stringify({ directory: world.root, save: `${world.base}/saved` });
      const script = [
        `cd '${world.base}'`,
        "mkdir over lower && mount -t tmpfs none over && mkdir over/upper over/work",
        "echo same > lower/same && echo old > lower/up && echo old > lower/written",
        "mount -t overlay none -o lowerdir=lower,upperdir=over/upper,workdir=over/work root",
        `'${process.execPath}' '${observer}' '${before}' > /dev/null`,
        `chmod 600 root/up && echo ${NEEDLE} > root/written && echo clean > root/new`,
        'exec "$@"',
      ].join(" && ");
      const answer = await askInProcess(
        {
          directory: world.root,
          folder: `${world.base}/saved`,
          asked: [everything[0] ?? {}, { uri: "workspace:/**", extent: "delta" }],
        },
        { prefix: ["unshare", "-m", "sh", "-c", script, "sh"] },
      );
      expect(answer.verdicts[0]?.value).toBe("upheld");
      const [, delta] = answer.observations;
      expect(delta?.payload.entries.map(({ uri, change }) => `${change} ${uri}`)).toEqual([
        "created workspace:/new",
        "touched workspace:/up",
        "modified workspace:/written",
      ]);
      expect(delta?.payload.coverage.gaps).toEqual([]);
    });
  },
  60_000,
);
