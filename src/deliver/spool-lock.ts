import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UpheldError } from "../core/errors.ts";
import { isSameProcess, processMark } from "../store/process-mark.ts";
import { systemCode } from "../store/system-code.ts";

/** One process's hold on a spool. A killed process holds nothing. */
export interface SpoolLock extends Disposable {
  /** Throws "state_busy" where another process took it meanwhile. */
  assertHeld(): void;
}

/** Takes the lock of a spool. Throws "state_busy" while a living process holds it. */
export function lockSpool(folder: string): SpoolLock {
  const path = join(folder, "lock");
  const own = `${process.pid} ${randomBytes(8).toString("hex")} ${processMark(process.pid)}\n`;
  if (!placed(path, own)) {
    const held = holderOf(path);
    if (held !== null) {
      if (isLiving(held)) throw busy();
      removeStale(path, held);
    }
    if (!placed(path, own)) throw busy();
  }
  return {
    assertHeld() {
      if (holderOf(path) !== own) throw busy();
    },
    [Symbol.dispose]() {
      if (holderOf(path) === own) rmSync(path, { force: true });
    },
  };
}

/** Puts the lock in place whole, or not at all where there is one. */
function placed(path: string, content: string): boolean {
  const part = `${path}.${randomBytes(8).toString("hex")}`;
  try {
    writeFileSync(part, content, { mode: 0o600 });
    linkSync(part, path);
    return true;
  } catch (cause) {
    if (systemCode(cause) === "EEXIST") return false;
    throw new UpheldError("file_unwritable", `the spool cannot be locked: ${systemCode(cause)}`, {
      cause,
    });
  } finally {
    rmSync(part, { force: true });
  }
}

/** Two that find one stale lock both try to move it away: who moved a fresh one puts it back. */
function removeStale(path: string, stale: string): void {
  const aside = `${path}.${randomBytes(8).toString("hex")}`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  const moved = holderOf(aside);
  if (moved !== null && moved !== stale) placed(path, moved);
  rmSync(aside, { force: true });
}

function holderOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/** A lock with our own number is of an earlier process where we did not take it: in a container, numbers repeat. */
function isLiving(content: string): boolean {
  const [pid = "", , ...mark] = content.trimEnd().split(" ");
  return /^\d+$/.test(pid) && isSameProcess(Number(pid), mark.join(" "));
}

function busy(): UpheldError {
  return new UpheldError("state_busy", "another process is at work on this spool");
}
