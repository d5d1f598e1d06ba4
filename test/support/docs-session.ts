import { spawn } from "node:child_process";
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { toolScript } from "../../scripts/project.mjs";

const projectFolder = fileURLToPath(new URL("../../", import.meta.url));

/** A folder in which the package can be imported by its name, as after an install. */
export class DocsFolder implements Disposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "upheld-docs-")));

  constructor() {
    const { dependencies, devDependencies } = JSON.parse(
      readFileSync(join(projectFolder, "package.json"), "utf8"),
    );
    writeFileSync(join(this.path, "package.json"), '{ "type": "module" }\n');
    this.#link("upheld", projectFolder);
    for (const name of Object.keys({ ...dependencies, ...devDependencies })) {
      this.#link(name, join(projectFolder, "node_modules", name));
    }
  }

  #link(name: string, target: string): void {
    const link = join(this.path, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(target, link, "junction");
  }

  write(path: string, text: string): string {
    const file = join(this.path, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export interface Printed {
  readonly exitCode: number;
  /** Standard output and standard error, in the order written. */
  readonly output: string;
}

/** One page's terminal: its own home, its own working folder, which starts empty. */
export class DocsSession {
  readonly #folder: DocsFolder;
  readonly #name: string;
  readonly work: string;

  constructor(folder: DocsFolder, name: string) {
    this.#folder = folder;
    this.#name = name;
    this.work = join(folder.path, name, "work");
    mkdirSync(this.work, { recursive: true });
    mkdirSync(join(folder.path, name, "home"));
    this.#command("upheld", `exec node '${join(projectFolder, "dist/cli/main.js")}' "$@"`);
    this.#command("vitest", `exec node '${toolScript("vitest")}' "$@"`);
    // What a reader types before anything is installed.
    this.#command(
      "npx",
      'case "$1" in upheld | vitest) exec "$@" ;; esac\necho "npx $1: not in the docs" >&2\nexit 127',
    );
    this.#state("pwd", this.work);
    this.#state("env", "");
  }

  #command(name: string, script: string): void {
    const file = this.#folder.write(`${this.#name}/bin/${name}`, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
  }

  #state(name: string, text: string): string {
    return this.#folder.write(`${this.#name}/state/${name}`, text);
  }

  /** Runs a script in bash where the last one stopped: same folder, same exported variables. */
  async run(script: string, limitMs = 60_000): Promise<Printed> {
    const state = join(this.#folder.path, this.#name, "state");
    const wrapped = [
      `cd -- "$(cat '${state}/pwd')"`,
      `. '${state}/env'`,
      `trap 'code=$?; pwd > "${state}/pwd"; export -p > "${state}/env"; exit $code' EXIT`,
      script,
    ].join("\n");
    const file = this.#state("output", "");
    const output = openSync(file, "w");
    try {
      const exitCode = await this.#runBash(wrapped, output, limitMs);
      return { exitCode, output: readFileSync(file, "utf8") };
    } finally {
      closeSync(output);
    }
  }

  #runBash(script: string, output: number, limitMs: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const child = spawn("bash", ["-c", script], {
        cwd: this.work,
        env: this.#environment(),
        // A file, not a pipe: a process that the page leaves behind must not hold us up.
        stdio: ["ignore", output, output],
        detached: true,
      });
      const timer = setTimeout(() => {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      }, limitMs);
      child.on("error", reject);
      child.on("exit", (code, signal) => {
        clearTimeout(timer);
        if (code === null) reject(new Error(`ended by ${signal} (limit ${limitMs} ms)`));
        else resolve(code);
      });
    });
  }

  #environment(): NodeJS.ProcessEnv {
    const here = join(this.#folder.path, this.#name);
    return {
      PATH: `${here}/bin:${dirname(process.execPath)}:${process.env["PATH"]}`,
      HOME: `${here}/home`,
      TMPDIR: tmpdir(),
      LANG: "C.UTF-8",
      TZ: "UTC",
      TERM: "dumb",
      NO_COLOR: "1",
    };
  }
}
