// @ts-check
// Runs inside the namespaces of `upheld run --isolate`, between init (a shell that reaps orphans) and the agent:
// mounts the overlays, hides their folders, starts the agent and writes down how it ended. When the program that
// started the run is gone, the pipe `alive` ends, this process ends, init with it, and the kernel ends all the rest.
import { spawn, spawnSync } from "node:child_process";
import {
  accessSync,
  closeSync,
  constants as modes,
  fstatSync,
  openSync,
  readFileSync,
} from "node:fs";
import { readSync, readdirSync, statSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import { constants } from "node:os";
import { delimiter, join, resolve } from "node:path";

const [state = "", cwd = "/", ...command] = process.argv.slice(2);

// A signal to the whole process group reaches the agent itself; this process stays to see how the agent answers.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM"]) {
  process.on(signal, () => {});
}
// A handle to the real tree, even as a working directory, would be a way past the overlay.
process.chdir("/");
for (const descriptor of readdirSync("/proc/self/fd").map(Number)) {
  if (isDirectory(descriptor)) closeSync(descriptor);
}

const outcome = openSync(join(state, "outcome.json"), "w", 0o600);
const record = JSON.parse(readFileSync(join(state, "isolation.json"), "utf8"));

/** @param {number} descriptor */
function isDirectory(descriptor) {
  try {
    return descriptor > 2 && fstatSync(descriptor).isDirectory();
  } catch {
    return false;
  }
}

/**
 * @param {object} report
 * @param {number} code
 * @returns {never}
 */
function end(report, code) {
  writeSync(outcome, JSON.stringify(report));
  process.exit(code);
}

/**
 * @param {readonly string[]} args
 * @param {string} folder
 */
function mount(args, folder) {
  const { status, error, stderr } = spawnSync("mount", args, {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
  });
  if (status === 0) return;
  const reason = error?.message ?? stderr.trim().split("\n")[0];
  process.stderr.write(`upheld: the overlay cannot be mounted: ${reason}\n`);
  end({ kind: "not_isolated", reason }, 125);
}

/**
 * True where a pipe has no writer any more; one that waits for its writer answers EAGAIN.
 * @param {number} descriptor
 */
function isEnded(descriptor) {
  try {
    return readSync(descriptor, Buffer.alloc(1)) === 0;
  } catch {
    return false;
  }
}

/** The environment that init was given, byte for byte: a shell drops the names that it cannot hold. */
function agentEnvironment() {
  const parent = /^PPid:\s*(\d+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  const pairs = readFileSync(`/proc/${parent}/environ`, "utf8").split("\0");
  return Object.fromEntries(
    pairs
      .map((pair) => [pair, pair.indexOf("=", 1)])
      .filter(([, at]) => Number(at) > 0)
      .map(([pair, at]) => [String(pair).slice(0, Number(at)), String(pair).slice(Number(at) + 1)]),
  );
}

/**
 * Why the command cannot be started, or undefined when it can.
 * @param {string} name
 * @param {string | undefined} path
 */
function startFault(name, path) {
  const places = name.includes("/")
    ? [resolve(cwd, name)]
    : (path ?? "/usr/local/bin:/usr/bin:/bin")
        .split(delimiter)
        .map((folder) => resolve(cwd, folder, name));
  let fault = "ENOENT";
  for (const place of places) {
    try {
      accessSync(place, modes.X_OK);
      if (statSync(place).isFile()) return undefined;
      fault = "EACCES";
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "EACCES") fault = "EACCES";
    }
  }
  return fault;
}

// Where the host masks parts of /proc this is refused, and the agent sees the host's own numbers: no harm.
spawnSync("mount", ["-t", "proc", "proc", "/proc"], { stdio: "ignore" });
for (const [index, root] of record.roots.entries()) {
  mount(
    ["-t", "overlay", "upheld", "-o", record.overlayOptions, root.dir],
    join(state, String(index)),
  );
}
const alivePipe = openSync(join(state, "alive"), modes.O_RDONLY | modes.O_NONBLOCK);
// A writer that was gone before this open raises no event: only a read tells.
if (isEnded(alivePipe)) process.exit(137);
const alive = new Socket({ fd: alivePipe, readable: true, writable: false });
alive.on("error", () => {});
alive.on("close", () => process.exit(137));
alive.resume();
mount(["-t", "tmpfs", "-o", "mode=000,size=4k", "upheld", state], "/");

const env = agentEnvironment();
const fault = startFault(command[0] ?? "", env["PATH"]);
if (fault !== undefined) end({ kind: "not_started", code: fault }, fault === "ENOENT" ? 127 : 126);

// The second user namespace maps back to the caller's ids, takes every capability and locks the mounts.
const lowered =
  record.namespaces === "user"
    ? [record.unshare, "--user", `--map-user=${record.uid}`, `--map-group=${record.gid}`, "--"]
    : [];
const [file = "", ...args] = [...lowered, ...command];
const agent = spawn(file, args, { stdio: "inherit", env, cwd });
agent.on("error", (error) => {
  const code = "code" in error ? String(error.code) : "EIO";
  end({ kind: "not_started", code }, 126);
});
agent.on("exit", (code, signal) => {
  if (signal === null) end({ kind: "exited", code }, code ?? 1);
  const number = constants.signals[signal];
  end({ kind: "signalled", signal }, 128 + number);
});
