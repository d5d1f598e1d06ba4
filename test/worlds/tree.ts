import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** What every question of the tables looks for. */
export const NEEDLE = "NEEDLE";

/** Stands in every file outside of a root, and must never be seen. */
export const OUTSIDE = "outside-secret-7d1f";

/** A root that is the system under test's, and a directory beside it that nobody may read through it. */
export interface TreeWorld extends AsyncDisposable {
  readonly base: string;
  readonly root: string;
  readonly outside: string;
  /** A path below the root. */
  at(...names: string[]): string;
  write(path: string, content?: string | Uint8Array): string;
  directory(path: string): string;
  /** A path outside of the root; its content holds the needle and the mark. */
  secret(path: string): string;
  /** Runs a program in the root and waits for its end. */
  run(program: string, args: readonly string[]): void;
  /** Starts a program that is ended with the world. Resolves once it wrote a line. */
  start(program: string, args: readonly string[]): Promise<ChildProcess>;
  /** Called when the world ends. */
  after(end: () => void): void;
  /** Removes all that is in it; the root stays the same directory. */
  clear(): void;
}

/** Makes an empty root in a temporary directory that every user can reach. `on` names another place, such as a tmpfs. */
export function treeWorld(on: string = tmpdir()): TreeWorld {
  const base = mkdtempSync(join(on, "upheld-tree-"));
  chmodSync(base, 0o755);
  const root = join(base, "root");
  const outside = join(base, "outside");
  mkdirSync(root);
  mkdirSync(outside);
  const children: ChildProcess[] = [];
  const ends: (() => void)[] = [];
  return {
    base,
    root,
    outside,
    at: (...names) => join(root, ...names),
    write: (path, content = "clean") => put(join(root, path), content),
    directory: (path) => {
      mkdirSync(join(root, path), { recursive: true });
      return join(root, path);
    },
    secret: (path) => put(join(outside, path), `${NEEDLE} ${OUTSIDE}`),
    run: (program, args) => {
      execFileSync(program, args, { cwd: root, stdio: ["ignore", "ignore", "pipe"] });
    },
    start: async (program, args) => {
      const child = spawn(program, args, { cwd: root, stdio: ["pipe", "pipe", "inherit"] });
      children.push(child);
      if (child.stdout !== null) await once(child.stdout, "data");
      return child;
    },
    after: (end) => ends.push(end),
    clear: () => {
      for (const folder of [root, outside])
        for (const name of readdirSync(folder, { encoding: "buffer" }))
          rmSync(Buffer.concat([Buffer.from(`${folder}/`), name]), { recursive: true });
    },
    [Symbol.asyncDispose]: async () => {
      for (const end of ends.toReversed()) end();
      for (const child of children) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        child.kill("SIGKILL");
        await once(child, "exit");
      }
      // The system's own program removes what is deeper than a path may be long.
      if (existsSync(base)) execFileSync("rm", ["-rf", "--", base], { stdio: "ignore" });
      rmSync(base, { recursive: true, force: true });
    },
  };
}

function put(full: string, content: string | Uint8Array): string {
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, content);
  return full;
}

/** Python of the system, which also an ordinary user may start; the path of our programs for it. */
export const PYTHON = "/usr/bin/python3";
export const TREE_PROGRAMS = fileURLToPath(new URL("tree-programs.py", import.meta.url));

export const hasPython = existsSync(PYTHON);
export const isLinux = process.platform === "linux";
export const isRoot = process.getuid?.() === 0;

/** True where a command of this name can be found. */
export function hasProgram(name: string): boolean {
  return (process.env["PATH"] ?? "").split(":").some((folder) => existsSync(join(folder, name)));
}
