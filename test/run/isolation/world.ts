import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { isolate } from "../../../src/run/isolation/isolate.ts";
import type { Isolation } from "../../../src/run/isolation/isolate.ts";
import { probeIsolation } from "../../../src/run/isolation/probe.ts";
import type { WriteSet } from "../../../src/run/isolation/write-set.ts";

/** Each test file has a process of its own: from here on it is an ordinary user, as most who isolate are. */
export function becomeOrdinaryUser(): void {
  if (process.getuid?.() !== 0) return;
  process.setgroups?.([]);
  process.setgid?.(12_346);
  process.setuid?.(12_345);
}

/** Why nothing can be isolated here, printed too; undefined where it can. */
export async function isolationFault(): Promise<string | undefined> {
  const base = mkdtempSync(join(tmpdir(), "upheld-isolate-"));
  try {
    mkdirSync(join(base, "root"));
    const root = { name: "workspace", dir: join(base, "root") };
    const probe = await probeIsolation([root], join(base, "state"));
    if (probe.ok) return undefined;
    process.stderr.write(`isolation is not tested: ${probe.reason}\n`);
    return probe.reason;
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

export interface World {
  readonly base: string;
  readonly dir: string;
  readonly stateDir: string;
}

const worlds: World[] = [];

/** Removes what the tests of this file made, also what denies its owner. */
export function removeWorlds(): void {
  for (const { base } of worlds.splice(0)) {
    spawnSync("unshare", ["--user", "--map-root-user", "rm", "-rf", base]);
    rmSync(base, { recursive: true, force: true });
  }
}

/** A root with a few files, made by a shell as a user would. */
export function makeWorld(script = "", name = "root"): World {
  const base = mkdtempSync(join(tmpdir(), "upheld-isolate-"));
  const world = { base, dir: join(base, name), stateDir: join(base, "state") };
  worlds.push(world);
  mkdirSync(join(world.dir, "d/sub"), { recursive: true });
  for (const path of ["a", "b", "d/one", "d/two", "d/sub/three"]) {
    writeFileSync(join(world.dir, path), `${path}\n`);
  }
  expect(spawnSync("sh", ["-ec", script], { cwd: world.dir }).status).toBe(0);
  return world;
}

export async function isolated({ dir, stateDir }: World): Promise<Isolation> {
  const probe = await probeIsolation([{ name: "workspace", dir }], stateDir);
  if (!probe.ok) throw new Error(probe.reason);
  return isolate(probe.plan, "run-1");
}

export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function run(
  isolation: Isolation,
  command: readonly string[],
  cwd: string,
  env = {},
): Promise<Ended> {
  const wrapped = isolation.wrap(command, cwd);
  const child = spawn(wrapped.file, wrapped.args, {
    cwd: wrapped.cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}

/** Runs a script in the overlay of a world. */
export async function agent(
  world: World,
  script: string,
): Promise<Ended & { isolation: Isolation }> {
  const isolation = await isolated(world);
  return { isolation, ...(await run(isolation, ["sh", "-c", script], world.dir)) };
}

/** Each entry as one line: + new, ~ present on both sides, - removed; directories end in a slash. */
export function lines({ entries }: WriteSet): string[] {
  return entries
    .filter(({ path }) => path.length > 0)
    .map((entry) => {
      const path = entry.path.toString("latin1");
      const slash = (type: string): string => (type === "directory" ? `${path}/` : path);
      if (entry.kind === "removed") return `- ${slash(entry.lower.type)}`;
      return `${entry.lower === undefined ? "+" : "~"} ${slash(entry.upper.type)}`;
    })
    .toSorted();
}

const SNAPSHOT = `cd "$1" && export LC_ALL=C
find . ! -type d -printf '%y %m %n %TY-%Tm-%Td %TH:%TM %P -> %l\\n' | sort
find . -mindepth 1 -type d -printf '%m %P\\n' | sort
find . -type f -perm -400 -size -9M -print0 | sort -z | xargs -0 -r sha256sum`;

const snapshotCommand = (dir: string): string[] => ["sh", "-c", SNAPSHOT, "sh", dir];

/** All of a tree that an apply must carry over: names, types, modes, links, minutes, content. */
export function snapshot(dir: string): string {
  const [file = "", ...args] = snapshotCommand(dir);
  return spawnSync(file, args, { encoding: "latin1" }).stdout;
}

export const everything = { maxEntries: 10_000 };

/** Processes whose command line holds a text. */
export function processesWith(text: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(text);
      } catch {
        return false;
      }
    });
}

/** Waits up to two seconds for the processes to be gone. */
export async function waitForNone(text: string): Promise<string[]> {
  for (let tries = 0; tries < 40 && processesWith(text).length > 0; tries += 1) await delay(50);
  return processesWith(text);
}

export function mergedSnapshot({ base, stateDir }: World): string {
  const state = join(stateDir, "run-1/0");
  const view = join(base, "view");
  mkdirSync(view);
  const script = `cd "$1" && mount -t overlay v -o ro,lowerdir=upper:lower,userxattr "$2" && shift 2 && exec "$@"`;
  const list = snapshotCommand(view);
  return spawnSync(
    "unshare",
    ["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", state, view, ...list],
    { encoding: "latin1" },
  ).stdout;
}
