import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export const MAIN = join(import.meta.dirname, "../../dist/cli/main.js");

/** A directory to work in, with state of its own beside it. */
export class Workplace implements Disposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "upheld-cli-")));
  readonly root = join(this.path, "root");
  readonly state = join(this.path, "state");

  constructor(files: Readonly<Record<string, string>> = {}) {
    mkdirSync(this.root);
    for (const [name, text] of Object.entries(files)) this.write(join("root", name), text);
  }

  /** Writes a file beside the root, or in it as "root/...". */
  write(name: string, text: string): string {
    const path = join(this.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  get environment(): NodeJS.ProcessEnv {
    const { NO_COLOR: _, FORCE_COLOR: _force, ...rest } = process.env;
    return { ...rest, UPHELD_STATE_DIR: this.state };
  }

  start(args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
    return spawn(process.execPath, [MAIN, ...args], {
      cwd: this.root,
      env: { ...this.environment, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  /** Runs to its end. */
  upheld(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Printed> {
    return ended(this.start(args, env));
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export interface Printed {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a process printed, once it has ended. */
export function ended(child: ChildProcess): Promise<Printed> {
  return new Promise((resolve, reject) => {
    let stdout = "";
    let stderr = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}

/** A claims file with one sub-goal: content was written somewhere in the root. */
export function written(value: string, expect: "upheld" | "refuted" = "upheld"): string {
  return JSON.stringify({
    subGoals: [
      {
        name: "written",
        expect,
        condition: {
          kind: "content_written",
          uri: "workspace:/**",
          match: "glob",
          matcher: { kind: "contains", value },
        },
      },
    ],
  });
}
