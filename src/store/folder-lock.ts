import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UpheldError } from "../core/errors.ts";
import { isSameProcess, processMark } from "./process-mark.ts";

/** A folder that this process holds alone, until it is released or the process has ended. */
export interface FolderLock {
  release(): void;
}

/**
 * Takes a folder for this process. A lock of a process that has ended is taken over. Throws "state_busy" where another
 * process that lives has it.
 */
export function lockFolder(folder: string): FolderLock {
  const lock = join(folder, "lock");
  const own = join(folder, `lock.${process.pid}`);
  writeFileSync(own, `${process.pid} ${processMark(process.pid)}\n`, { mode: 0o600 });
  try {
    takeLock(lock, own);
  } finally {
    rmSync(own, { force: true });
  }
  return { release: () => rmSync(lock, { force: true }) };
}

function takeLock(lock: string, own: string): void {
  for (let attempt = 0; attempt < 2; attempt += 1) {
    try {
      // A link either appears whole or not at all, also between two processes.
      linkSync(own, lock);
      return;
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
    const holder = holderOf(lock);
    if (holder !== undefined && isSameProcess(holder.pid, holder.mark)) throw busy(holder.pid);
    rmSync(lock, { force: true });
  }
  throw busy();
}

function holderOf(lock: string): { readonly pid: number; readonly mark: string } | undefined {
  try {
    const [pid = "", ...mark] = readFileSync(lock, "utf8").trim().split(" ");
    return /^[1-9]\d*$/.test(pid) ? { pid: Number(pid), mark: mark.join(" ") } : undefined;
  } catch {
    return undefined;
  }
}

function busy(pid?: number): UpheldError {
  return new UpheldError(
    "state_busy",
    `the folder is in use by another process${pid === undefined ? "" : ` (${pid})`}: stop it, or name another folder`,
  );
}
