import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UpheldError } from "../../core/errors.ts";
import { findConflicts } from "./conflict.ts";
import type { ApplyConflict } from "./conflict.ts";
import { Descent } from "./descent.ts";
import { runTool } from "./namespace.ts";
import { currentBootId } from "./record-file.ts";
import type { IsolationRecord } from "./record-file.ts";
import { writeTree } from "./tree-writer.ts";
import type { NotKept } from "./tree-writer.ts";
import { readWriteSet } from "./write-set.ts";
import type { WriteSet } from "./write-set.ts";

/** What came of an apply. `total` counts all conflicts, at most 100 are shown. */
export type ApplyResult =
  | { readonly ok: true; readonly applied: number; readonly notKept: readonly NotKept[] }
  | { readonly ok: false; readonly conflicts: readonly ApplyConflict[]; readonly total: number };

export interface ApplyOptions {
  readonly signal?: AbortSignal | undefined;
  /** Says whether it could be written, and writes nothing. */
  readonly onlyDecides?: boolean | undefined;
}

/**
 * Writes what a run left in its upper layer into the real root. Decides first, for every path, and writes nothing where
 * one was changed by someone else. Each file arrives under a temporary name and is renamed, what is new comes before
 * what goes, and a file `applying` says that it began: a later call goes on where a crash cut it off.
 * Throws "state_invalid" where the write set is not whole, "root_changed" where the root moves under its hands.
 */
export async function applyWriteSet(
  folder: string,
  record: IsolationRecord,
  index: number,
  { signal, onlyDecides = false }: ApplyOptions,
): Promise<ApplyResult> {
  const rootFolder = join(folder, String(index));
  if (existsSync(join(rootFolder, "applied"))) return { ok: true, applied: 0, notKept: [] };
  const root = record.roots[index];
  if (root === undefined) throw new UpheldError("argument_invalid", "the run has no such root");
  if (record.bootId !== currentBootId()) return refusal("machine_restarted");
  const writeSet = await readWhole(folder, record, index, signal);
  const real = openReal(root);
  if (real === undefined) return refusal("root_replaced");
  using held = real;
  using upper = new Descent(writeSet.upperDir, { opensUp: true });
  const journal = join(rootFolder, "applying");
  const resumed = existsSync(journal);
  const { shown, total } = findConflicts(writeSet, held, upper, { resumed, signal });
  if (total > 0) return { ok: false, conflicts: shown, total };
  if (onlyDecides) return { ok: true, applied: 0, notKept: [] };
  writeFileSync(journal, "", { mode: 0o600 });
  using writable = held.again({ opensUp: true });
  const prefix = `.upheld-${record.runId}-`;
  const notKept = await writeTree(writeSet, writable, upper, { prefix, signal });
  await runTool("sync", ["-f", root.dir]);
  writeFileSync(join(rootFolder, "applied"), "", { mode: 0o600 });
  rmSync(journal, { force: true });
  return { ok: true, applied: writeSet.entries.length, notKept };
}

function refusal(reason: ApplyConflict["reason"]): ApplyResult {
  return { ok: false, conflicts: [{ path: Buffer.alloc(0), reason }], total: 1 };
}

/** The root, if its path still leads to the one that the run saw. */
function openReal(root: IsolationRecord["roots"][number]): Descent | undefined {
  let real: Descent | undefined;
  try {
    real = new Descent(root.dir, { opensUp: false });
    const now = real.stat(Buffer.alloc(0));
    if (`${now?.dev}:${now?.ino}` === `${root.dev}:${root.ino}`) return real;
  } catch {
    // What cannot be opened is not there any more.
  }
  real?.[Symbol.dispose]();
  return undefined;
}

async function readWhole(
  folder: string,
  record: IsolationRecord,
  index: number,
  signal: AbortSignal | undefined,
): Promise<WriteSet> {
  const writeSet = await readWriteSet(folder, record, index, {
    signal,
    maxEntries: Number.MAX_SAFE_INTEGER,
  });
  if (writeSet.unlisted.length === 0) return writeSet;
  throw new UpheldError(
    "state_invalid",
    `${writeSet.unlisted.length} directories of the run could not be listed, so its writes are not all known`,
  );
}
