import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * What tells a process apart from a later one with the same number: the boot and the tick at which it started.
 * Empty where the system does not say.
 */
export function processMark(pid: number): string {
  if (process.platform === "linux") return linuxMark(pid);
  if (process.platform === "win32") return "";
  const { stdout } = spawnSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" });
  return (stdout ?? "").trim();
}

/** Whether the process with this number lives and is the one that had the mark. */
export function isSameProcess(pid: number, mark: string): boolean {
  if (!isAlive(pid)) return false;
  const now = processMark(pid);
  return mark === "" || now === "" || now === mark;
}

function linuxMark(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, started] = [fields[0], fields[19]];
    if (state === "Z" || state === "X" || started === undefined) return "ended";
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim()} ${started}`;
  } catch {
    return "";
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives, as another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
