import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

/** The files of a database beside its own: what is not yet in it, and what undoes a half-done transaction. */
const SUFFIXES = ["", "-wal", "-journal"] as const;

const BUFFER_BYTES = 1_048_576;

/** How often a copy is tried again because the database was written to meanwhile. */
const MAX_TRIES = 5;

export type CopyResult =
  | {
      readonly kind: "copied";
      readonly file: string;
      readonly digest: string;
      readonly bytes: number;
      /** True where a transaction had not ended: the copy holds what was before it. */
      readonly isOpen: boolean;
    }
  | { readonly kind: "missing" }
  | { readonly kind: "changing" }
  | { readonly kind: "unreadable"; readonly code: string };

/**
 * Copies a database with what belongs to it, so that looking leaves nothing beside the original. Each file is read again, and
 * must have the digest that was copied; else it was written to meanwhile.
 */
export function copySqlite(file: string, folder: string): CopyResult {
  try {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const first = SUFFIXES.map((suffix) =>
        readWhole(`${file}${suffix}`, join(folder, `copy.db${suffix}`)),
      );
      if (first[0] === undefined) return { kind: "missing" };
      const second = SUFFIXES.map((suffix) => readWhole(`${file}${suffix}`, undefined));
      const isSame = first.every((each, index) => each?.digest === second[index]?.digest);
      if (!isSame) continue;
      const digest = createHash("sha256").update(first.map((each) => each?.digest ?? "").join(" "));
      return {
        kind: "copied",
        file: join(folder, "copy.db"),
        digest: digest.digest("hex"),
        bytes: first.reduce((sum, each) => sum + (each?.bytes ?? 0), 0),
        isOpen: first[2] !== undefined && isHot(join(folder, "copy.db-journal")),
      };
    }
    return { kind: "changing" };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    return { kind: "unreadable", code };
  }
}

/** A journal with its header in place undoes a transaction that has not ended. */
function isHot(journal: string): boolean {
  return readFileSync(journal).subarray(0, 8).toString("hex") === "d9d505f920a163d7";
}

/** The digest of a file, copied where a target is given; undefined where there is none. */
function readWhole(
  file: string,
  target: string | undefined,
): { readonly digest: string; readonly bytes: number } | undefined {
  const from = openExisting(file);
  if (from === undefined) {
    // A file of an earlier try is gone by now.
    if (target !== undefined) rmSync(target, { force: true });
    return undefined;
  }
  const to = target === undefined ? undefined : openSync(target, "w", 0o600);
  try {
    const hash = createHash("sha256");
    const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
    let bytes = 0;
    for (let read = readSync(from, buffer); read > 0; read = readSync(from, buffer)) {
      hash.update(buffer.subarray(0, read));
      if (to !== undefined) writeAll(to, buffer.subarray(0, read));
      bytes += read;
    }
    return { digest: hash.digest("hex"), bytes };
  } finally {
    closeSync(from);
    if (to !== undefined) closeSync(to);
  }
}

function writeAll(handle: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) at += writeSync(handle, bytes, at);
}

function openExisting(file: string): number | undefined {
  try {
    const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    if (fstatSync(handle).isFile()) return handle;
    closeSync(handle);
    throw Object.assign(new Error("not a regular file"), { code: "ENOTFILE" });
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
