import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { accessSync, closeSync, constants, openSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";

const DEADLINE_MS = 20 * 60 * 1000;

export function isInstalled(program) {
  return (process.env.PATH ?? "")
    .split(delimiter)
    .some((folder) => isExecutable(join(folder, program)));
}

/** The version of each program that is installed, as it tells it itself. */
export function versionsOf(programs) {
  return Object.fromEntries(
    programs.filter(isInstalled).map((program) => {
      const { stdout } = spawnSync(program, ["--version"], { encoding: "utf8" });
      return [program, /\d+(\.\d+)+/.exec(stdout ?? "")?.[0] ?? "of unknown version"];
    }),
  );
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

// GNU time, because Node does not report a child's peak memory, and because a child started by Node
// directly would inherit our own peak as the floor of its figure.
const hasGnuTime = process.platform === "linux" && isExecutable("/usr/bin/time");

let running;

/** Ends the command that is being timed, if any, with all that it started. */
export function stopRunning() {
  if (running?.pid !== undefined) process.kill(-running.pid, "SIGTERM");
}

/** Runs a command to its end; stdout and stderr go to files in `scratch`. */
export async function measure(command, { cwd, scratch }) {
  const stdout = join(scratch, "stdout");
  const stderr = join(scratch, "stderr");
  const usage = join(scratch, "usage");
  const [program, ...parameters] = hasGnuTime
    ? ["/usr/bin/time", "-q", "-f", "%U %S %M", "-o", usage, ...command]
    : command;
  const handles = [openSync(stdout, "w"), openSync(stderr, "w")];
  const startedAt = process.hrtime.bigint();
  running = spawn(program, parameters, { cwd, stdio: ["ignore", ...handles], detached: true });
  const deadline = setTimeout(stopRunning, DEADLINE_MS);
  const [exitCode, signal] = await once(running, "exit");
  const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9;
  running = undefined;
  clearTimeout(deadline);
  for (const handle of handles) closeSync(handle);
  if (exitCode !== 0) {
    throw new Error(
      `${command.join(" ")} ended with ${signal ?? exitCode}: ${readFileSync(stderr, "utf8").trim().slice(-600)}`,
    );
  }
  return { seconds, ...(hasGnuTime ? readUsage(usage) : {}), stdout };
}

function readUsage(path) {
  const [user, system, peakKib] = readFileSync(path, "utf8").trim().split(" ").map(Number);
  return { cpuSeconds: user + system, peakMb: (peakKib * 1024) / 1e6 };
}

export function summarize(values) {
  const known = values.filter((value) => value !== undefined).toSorted((a, b) => a - b);
  if (known.length === 0) return undefined;
  const middle = known.length / 2;
  const median = (known[Math.ceil(middle) - 1] + known[Math.floor(middle)]) / 2;
  return { median, min: known[0], max: known.at(-1) };
}
