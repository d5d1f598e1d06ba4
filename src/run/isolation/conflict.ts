import { readlinkSync } from "node:fs";
import type { BigIntStats } from "node:fs";
import type { Descent } from "./descent.ts";
import type { LayerStat, WriteSet, WriteSetEntry } from "./write-set.ts";

/**
 * Why the real tree is not what the run saw: someone changed the entry, made one where there was none, removed it,
 * put another directory in the root's place, it cannot be looked at, or the machine was started again with the layer
 * not yet on disk.
 */
export interface ApplyConflict {
  /** Bytes below the root; empty for the root itself. */
  readonly path: Buffer;
  readonly reason:
    | "changed"
    | "appeared"
    | "vanished"
    | "unreadable"
    | "root_replaced"
    | "machine_restarted";
}

type Reason = ApplyConflict["reason"];

/** Conflicts that are named; the rest is counted. */
const MAX_SHOWN = 100;

export interface Conflicts {
  readonly shown: readonly ApplyConflict[];
  readonly total: number;
}

/**
 * Compares the real tree with what it was under the run, at every path that would be touched. `resumed` says that an
 * earlier apply was cut off: then what it did already is no conflict.
 */
export function findConflicts(
  writeSet: WriteSet,
  real: Descent,
  upper: Descent,
  { resumed, signal }: { readonly resumed: boolean; readonly signal?: AbortSignal | undefined },
): Conflicts {
  const shown: ApplyConflict[] = [];
  let total = 0;
  for (const entry of writeSet.entries) {
    signal?.throwIfAborted();
    const reason = reasonFor(entry, { real, upper, startedNs: writeSet.startedNs, resumed });
    if (reason === undefined) continue;
    total += 1;
    if (shown.length < MAX_SHOWN) shown.push({ path: entry.path, reason });
  }
  return { shown, total };
}

interface Comparison {
  readonly real: Descent;
  readonly upper: Descent;
  readonly startedNs: bigint;
  readonly resumed: boolean;
}

function reasonFor(entry: WriteSetEntry, comparison: Comparison): Reason | undefined {
  const { real, upper, resumed } = comparison;
  let now: BigIntStats | undefined;
  try {
    now = real.stat(entry.path);
  } catch {
    return "unreadable";
  }
  const reason = conflictOf(entry, now, comparison);
  return reason !== undefined && resumed && isDone(entry, now, real, upper) ? undefined : reason;
}

function conflictOf(
  entry: WriteSetEntry,
  now: BigIntStats | undefined,
  { startedNs, resumed }: Comparison,
): Reason | undefined {
  const { lower } = entry;
  if (lower === undefined) return now === undefined ? undefined : "appeared";
  if (now === undefined) return "vanished";
  if (!isOfType(now, lower.type) || !isSameNode(now, lower)) return "changed";
  if (lower.type === "directory" && resumed) return undefined;
  const isSame = isMergedFolder(entry)
    ? Number(now.mode & 0o7777n) === lower.mode
    : isSameContent(now, lower, startedNs, resumed);
  return isSame ? undefined : "changed";
}

function isSameNode(now: BigIntStats, lower: LayerStat): boolean {
  return now.dev === lower.dev && now.ino === lower.ino;
}

/** Of a directory that is on both sides only its own identity matters: what others do to other names in it is theirs. */
function isMergedFolder(entry: WriteSetEntry): boolean {
  return (
    entry.kind === "present" &&
    !entry.hides &&
    entry.upper.type === "directory" &&
    entry.lower?.type === "directory"
  );
}

/**
 * The same content as the agent saw: no figure moved since the run's end, and nothing was changed after its start. A
 * resumed apply may itself have moved the change time (it removed another name of the same file).
 */
function isSameContent(
  now: BigIntStats,
  lower: LayerStat,
  startedNs: bigint,
  resumed: boolean,
): boolean {
  if (now.size !== lower.sizeBytes || now.mtimeNs !== lower.modifiedNs) return false;
  if (lower.changedNs > startedNs) return false;
  return resumed || now.ctimeNs === lower.changedNs;
}

function isDone(
  entry: WriteSetEntry,
  now: BigIntStats | undefined,
  real: Descent,
  upper: Descent,
): boolean {
  if (entry.kind === "removed") return now === undefined;
  if (now === undefined || !isOfType(now, entry.upper.type)) return isAwayForNew(entry, now);
  if (entry.upper.type === "file") return isCopied(now, entry.upper);
  if (entry.upper.type !== "link") return true;
  const target = (descent: Descent): Buffer =>
    readlinkSync(descent.place(entry.path).path, { encoding: "buffer" });
  return target(real).equals(target(upper));
}

/** An entry of another type was removed to make room, and the new one is not there yet. */
function isAwayForNew(entry: WriteSetEntry, now: BigIntStats | undefined): boolean {
  return (
    now === undefined &&
    entry.kind === "present" &&
    entry.lower !== undefined &&
    entry.lower.type !== entry.upper.type
  );
}

/** Times are set to the microsecond at best, and rounded once on the way. */
export function isCopied(now: BigIntStats, upper: LayerStat): boolean {
  const apart = now.mtimeNs - upper.modifiedNs;
  return now.size === upper.sizeBytes && apart < 2000n && apart > -2000n;
}

/** Whether what lies there is of the type that was listed. */
export function isOfType(stats: BigIntStats, type: LayerStat["type"]): boolean {
  switch (type) {
    case "file":
      return stats.isFile();
    case "directory":
      return stats.isDirectory();
    case "link":
      return stats.isSymbolicLink();
    case "fifo":
      return stats.isFIFO();
    case "socket":
      return stats.isSocket();
    case "device":
      return stats.isCharacterDevice() || stats.isBlockDevice();
  }
}
