import { spawn, spawnSync } from "node:child_process";
import { closeSync, existsSync, lstatSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { isolate, openWrites } from "../../../src/run/isolation/isolate.ts";
import { probeIsolation } from "../../../src/run/isolation/probe.ts";
import { agent, becomeOrdinaryUser, everything, isolated, isolationFault } from "./world.ts";
import { lines, makeWorld, processesWith, removeWorlds, run, snapshot } from "./world.ts";
import { waitForNone } from "./world.ts";

becomeOrdinaryUser();
const fault = await isolationFault();
afterEach(removeWorlds);

const dist = fileURLToPath(new URL("../../../dist/run/isolation/", import.meta.url));

describe.skipIf(fault !== undefined)("the agent in the overlay", () => {
  test("has the caller's ids, the root as its directory, and the caller's environment", async () => {
    const world = makeWorld();
    const isolation = await isolated(world);
    const env = { "we.ird": "x y", NODE_OPTIONS: "--no-warnings" };
    const script = 'id -u; id -g; pwd; pwd -P; echo "$NODE_OPTIONS"; cat a';
    const { stdout, stderr, code } = await run(isolation, ["sh", "-c", script], world.dir, env);
    const ids = [process.getuid?.(), process.getgid?.()].join("\n");
    const want = `${ids}\n${world.dir}\n${world.dir}\n--no-warnings\na\n`;
    expect({ stdout, stderr, code }).toEqual({ stdout: want, stderr: "", code: 0 });
    // A POSIX shell drops such a name from its own environment, so ask a program that is not one.
    const seen = await run(await isolated(makeWorld()), ["env"], world.dir, env);
    expect(seen.stdout).toContain("we.ird=x y\n");
  });

  test("starts in a directory below the root", async () => {
    const world = makeWorld();
    const isolation = await isolated(world);
    const cwd = join(world.dir, "d/sub");
    expect((await run(isolation, ["sh", "-c", "pwd; ls"], cwd)).stdout).toBe(`${cwd}\nthree\n`);
  });

  test.each([
    { script: "exit 0", code: 0, outcome: { kind: "exited", code: 0 } },
    { script: "exit 7", code: 7, outcome: { kind: "exited", code: 7 } },
    { script: "exit 143", code: 143, outcome: { kind: "exited", code: 143 } },
    { script: "kill -TERM $$", code: 143, outcome: { kind: "signalled", signal: "SIGTERM" } },
    { script: "kill -KILL $$", code: 137, outcome: { kind: "signalled", signal: "SIGKILL" } },
    // Whoever kills all that it can ends the supervisor too, and the run with it.
    { script: "kill -KILL -1", code: 137, outcome: { kind: "signalled", signal: "SIGKILL" } },
  ])("ends by `$script`", async ({ script, code, outcome }) => {
    const { isolation, ...ended } = await agent(makeWorld(), script);
    expect(ended.code).toBe(code);
    expect(isolation.outcome(ended.code, ended.signal)).toEqual(outcome);
  });

  test.each([
    { command: ["/no/such/program"], code: "ENOENT" },
    { command: ["no-such-program-at-all"], code: "ENOENT" },
    { command: ["./a"], code: "EACCES" },
  ])("is not started when it cannot be: $command", async ({ command, code }) => {
    const world = makeWorld();
    const isolation = await isolated(world);
    const ended = await run(isolation, command, world.dir, { PATH: "/usr/bin:/bin" });
    expect(isolation.outcome(ended.code, ended.signal)).toEqual({ kind: "not_started", code });
  });

  test("sees neither the layers nor a directory handle, and cannot unmount", async () => {
    const world = makeWorld();
    const handle = openSync(world.dir, "r");
    try {
      const { stdout, code } = await agent(
        world,
        `umount . 2>/dev/null && echo unmounted
         ls ${world.stateDir}/run-1 2>/dev/null && echo layers
         for fd in /proc/self/fd/*; do test -d "$fd" && readlink "$fd"; done; exit 0`,
      );
      expect({ stdout, code }).toEqual({ stdout: "", code: 0 });
    } finally {
      closeSync(handle);
    }
  });

  test("leaves no daemon and does not touch the real tree", async () => {
    const world = makeWorld();
    const before = snapshot(world.dir);
    const mark = `sleep 98765.${process.pid}`;
    const { code } = await agent(
      world,
      `( setsid nohup sh -c 'echo up > started; ${mark}; echo late > a' >/dev/null 2>&1 & ) &
       while ! test -e started; do sleep 0.01; done; echo x > a; rm b; mv d e`,
    );
    expect(code).toBe(0);
    expect(await waitForNone(mark.replace(" ", "\0"))).toEqual([]);
    expect(snapshot(world.dir)).toBe(before);
  });

  test("has orphans reaped, as without an overlay", async () => {
    const { stdout } = await agent(
      makeWorld(),
      `sh -c 'sleep 0.05 & echo $! > pid'; pid=$(cat pid)
       for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do kill -0 $pid 2>/dev/null || break; sleep 0.05; done
       kill -0 $pid 2>/dev/null && echo zombie || echo gone`,
    );
    expect(stdout).toBe("gone\n");
  });

  test("is killed, with all it started, by `end`", async () => {
    const world = makeWorld();
    const isolation = await isolated(world);
    const mark = `98764.${process.pid}`;
    const ended = run(
      isolation,
      ["sh", "-c", `setsid sleep ${mark} & echo > up; sleep ${mark}`],
      world.dir,
    );
    while (!existsSync(join(world.stateDir, "run-1/0/upper/up"))) await delay(20);
    isolation.end();
    const { code, signal } = await ended;
    expect(isolation.outcome(code, signal)).toEqual({ kind: "signalled", signal: "SIGKILL" });
    expect(await waitForNone(mark)).toEqual([]);
  });

  test("is not started when the program that started it is gone already", async () => {
    const world = makeWorld();
    const isolation = await isolated(world);
    isolation.end();
    const { code, signal } = await run(isolation, ["touch", "n"], world.dir);
    expect(isolation.outcome(code, signal)).toEqual({ kind: "signalled", signal: "SIGKILL" });
    expect(lines(await isolation.writeSet("workspace", everything))).toEqual([]);
  });

  test("has the terminal of its caller", async (context) => {
    context.skip(spawnSync("script", ["--version"]).status !== 0, "the program script is missing");
    const world = makeWorld();
    const isolation = await isolated(world);
    const wrapped = isolation.wrap(["sh", "-c", "test -t 0 && test -t 1 && tty"], world.dir);
    const quoted = [wrapped.file, ...wrapped.args].map(
      (part) => `'${part.replaceAll("'", "'\\''")}'`,
    );
    const child = spawn("script", ["-qec", quoted.join(" "), "/dev/null"], { cwd: wrapped.cwd });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect([code, output]).toEqual([0, expect.stringMatching(/^\/dev\/pts\/\d+\r\n$/)]);
  });

  test("hears a signal to its group, and answers it in its own way", async () => {
    const world = makeWorld();
    const isolation = await isolated(world);
    const script = "trap 'echo bye; exit 9' TERM; echo > up; while :; do sleep 0.02; done";
    const { file, args, cwd } = isolation.wrap(["sh", "-c", script], world.dir);
    const child = spawn(file, args, { cwd, detached: true, stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    while (!existsSync(join(world.stateDir, "run-1/0/upper/up"))) await delay(20);
    process.kill(-(child.pid ?? 0), "SIGTERM");
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    expect([output, isolation.outcome(code, null)]).toEqual(["bye\n", { kind: "exited", code: 9 }]);
  });

  test("is gone, and its mount with it, when the program that started it is killed by SIGKILL", async () => {
    const world = makeWorld();
    const mark = `98763.${process.pid}`;
    const program = `
      import { spawn } from "node:child_process";
      import { isolate } from ${JSON.stringify(join(dist, "isolate.js"))};
      import { probeIsolation } from ${JSON.stringify(join(dist, "probe.js"))};
      const [dir, stateDir, mark] = process.argv.slice(1);
      const probe = await probeIsolation([{ name: "workspace", dir }], stateDir);
      const isolation = await isolate(probe.plan, "run-1");
      const script = "setsid sleep " + mark + " & echo > up; sleep " + mark;
      const { file, args, cwd } = isolation.wrap(["sh", "-c", script], dir);
      spawn(file, args, { cwd, stdio: "inherit", detached: true });`;
    const parent = spawn(
      process.execPath,
      ["--input-type=module", "-e", program, world.dir, world.stateDir, mark],
      { stdio: "ignore" },
    );
    while (!existsSync(join(world.stateDir, "run-1/0/upper/up"))) await delay(20);
    expect(processesWith(mark).length).toBeGreaterThan(1);
    parent.kill("SIGKILL");
    expect(await waitForNone(mark)).toEqual([]);
    const mounts = readdirSync("/proc").filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/mountinfo`, "utf8").includes(world.dir);
      } catch {
        return false;
      }
    });
    expect(mounts).toEqual([]);
    // What it wrote is kept, for a later process to apply or to discard.
    const kept = openWrites(world.stateDir, "run-1");
    expect(lines(await kept.writeSet("workspace", everything))).toEqual(["+ up"]);
    await kept.discard();
    expect(readdirSync(world.stateDir)).toEqual([]);
  });
});

describe.skipIf(fault !== undefined)("limits, several roots, ids", () => {
  test("a list that meets its limit says so, and one that just fits does not", async () => {
    const { isolation } = await agent(makeWorld(), "for i in 1 2 3 4 5; do echo x > n$i; done");
    const limited = await isolation.writeSet("workspace", { maxEntries: 3 });
    expect([limited.entries.length, limited.limitReached]).toEqual([3, true]);
    const whole = await isolation.writeSet("workspace", { maxEntries: 6 });
    expect([whole.entries.length, whole.limitReached]).toEqual([6, false]);
  });

  test("two roots are two layers", async () => {
    const one = makeWorld();
    const two = makeWorld();
    const roots = [
      { name: "one", dir: one.dir },
      { name: "two", dir: two.dir },
    ];
    const probe = await probeIsolation(roots, one.stateDir);
    if (!probe.ok) throw new Error(probe.reason);
    const isolation = await isolate(probe.plan, "run-1");
    await run(isolation, ["sh", "-c", `echo x > n; rm ${two.dir}/b`], one.dir);
    expect(lines(await isolation.writeSet("one", everything))).toEqual(["+ n"]);
    expect(lines(await isolation.writeSet("two", everything))).toEqual(["- b"]);
    await expect(async () => isolation.writeSet("three", everything)).rejects.toMatchObject({
      code: "argument_invalid",
    });
  });

  test.each(["../up", "", ".hidden", "a/b", "a\0b"])("the id %j names no run", (id) => {
    const { stateDir } = makeWorld();
    expect(() => openWrites(stateDir, id)).toThrow(
      expect.objectContaining({ code: "argument_invalid" }),
    );
  });

  test("a run that is not kept is said to be unknown, a broken record to be invalid", () => {
    const { stateDir } = makeWorld();
    expect(() => openWrites(stateDir, "gone")).toThrow(
      expect.objectContaining({ code: "run_unknown" }),
    );
    mkdirSync(join(stateDir, "broken"), { recursive: true });
    writeFileSync(join(stateDir, "broken/isolation.json"), "{}");
    expect(() => openWrites(stateDir, "broken")).toThrow(
      expect.objectContaining({ code: "state_invalid" }),
    );
  });
});

const ask = (dirs: readonly string[], state: string): Promise<unknown> =>
  probeIsolation(
    dirs.map((dir, index) => ({ name: `r${index}`, dir })),
    state,
  );

describe("the probe says no, with the reason", () => {
  test("where a root or the state folder does not fit", async () => {
    const { base, dir, stateDir } = makeWorld();
    symlinkSync(dir, join(base, "link"));
    expect(await ask([dir], join(dir, "state"))).toEqual({
      ok: false,
      reason: 'the state folder lies inside root "r0"',
    });
    expect(await ask([join(stateDir, "x")], stateDir)).toEqual({
      ok: false,
      reason: "a root or the state folder cannot be used: ENOENT",
    });
    expect(await ask([dir, join(base, "link", "d")], stateDir)).toEqual({
      ok: false,
      reason: 'the roots "r0" and "r1" overlap',
    });
    expect(await ask([join(dir, "a")], stateDir)).toEqual({
      ok: false,
      reason: 'root "r0" is not a directory',
    });
    expect(await ask([], stateDir)).toEqual({ ok: false, reason: "there is no root to isolate" });
    expect(readdirSync(stateDir)).toEqual([]);
  });

  test("where a directory belongs to others but can be written", async (context) => {
    context.skip(lstatSync("/var/tmp").uid === process.getuid?.(), "/var/tmp is our own");
    const { stateDir } = makeWorld();
    const probe = await probeIsolation([{ name: "tmp", dir: "/var/tmp" }], stateDir);
    expect(probe).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/belongs to another user/),
    });
  });

  const mounts = [
    {
      world: "a file system mounted below the root",
      mount: 'mkdir "$1/d/in n"; mount -t tmpfs t "$1/d/in n"',
      reason: 'another file system is mounted at "d/in n" below root "workspace"',
    },
    {
      world: "a root on overlayfs",
      mount:
        'mkdir ../u ../w; mount -t overlay o -o lowerdir="$1",upperdir=../u,workdir=../w,userxattr "$1"',
      reason: 'root "workspace" is on overlayfs',
    },
    {
      world: "a state folder on overlayfs",
      mount:
        'mkdir ../u ../w "$2"; mount -t overlay o -o lowerdir="$1",upperdir=../u,workdir=../w,userxattr "$2"',
      reason: "the state folder is on overlayfs",
    },
    {
      world: "no more user namespaces",
      mount:
        "echo 0 > /proc/sys/user/max_user_namespaces; echo 0 > /proc/sys/user/max_mnt_namespaces",
      reason: /no namespaces of users, mounts and processes can be made|cannot be mounted/,
    },
  ];
  test.skipIf(fault !== undefined).each(mounts)("$world", ({ mount, reason }) => {
    const { dir, stateDir } = makeWorld();
    const program = `
      import { probeIsolation } from ${JSON.stringify(join(dist, "probe.js"))};
      const [dir, stateDir] = process.argv.slice(1);
      console.log(JSON.stringify(await probeIsolation([{ name: "workspace", dir }], stateDir)));`;
    const script = `${mount}\nnode=$3 program=$4\nexec "$node" --input-type=module -e "$program" "$1" "$2"`;
    const { stdout, stderr } = spawnSync(
      "unshare",
      [
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-ec",
        script,
        "sh",
        dir,
        stateDir,
        process.execPath,
        program,
      ],
      { cwd: dir, encoding: "utf8" },
    );
    expect(stderr).toBe("");
    const want = typeof reason === "string" ? reason : expect.stringMatching(reason);
    expect(JSON.parse(stdout)).toEqual({ ok: false, reason: want });
  });
});
