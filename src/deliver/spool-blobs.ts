import { createHash, randomBytes } from "node:crypto";
import { createReadStream, fsyncSync, mkdirSync, openSync, closeSync, readdirSync } from "node:fs";
import { renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { UpheldError } from "../core/errors.ts";
import type { Digest } from "../core/ids.ts";
import { hexOf } from "../evidence/statement.ts";
import { orUnwritable, writeAll } from "./spool-log.ts";

const CHUNK_BYTES = 256 * 1024;

/** Artifacts that wait to be sent, by their digest. */
export interface SpoolBlobs {
  /** Keeps bytes, whole and on the disk before it returns. Throws "file_unwritable", and "argument_invalid" on another digest. */
  keep(digest: Digest, pieces: Iterable<Uint8Array>): void;
  /** Bytes that are kept, or null where there are none. */
  sizeOf(digest: Digest): number | null;
  read(digest: Digest): AsyncIterable<Uint8Array>;
  remove(digest: Digest): void;
  /** Removes all but these. */
  keepOnly(digests: ReadonlySet<Digest>): void;
}

/** The artifacts of a spool. Throws "file_unwritable" where there is no place for them. */
export function spoolBlobs(folder: string): SpoolBlobs {
  makeFolder(folder);
  const pathOf = (digest: Digest): string => join(folder, hexOf(digest));
  return {
    keep(digest, pieces) {
      if (sizeOf(pathOf(digest)) !== null) return;
      const part = join(folder, `part-${randomBytes(8).toString("hex")}`);
      try {
        const written = orUnwritable(pathOf(digest), () => writePart(part, pieces));
        if (written !== digest)
          throw new UpheldError("argument_invalid", "an artifact does not have the digest given");
        orUnwritable(pathOf(digest), () => renameSync(part, pathOf(digest)));
        syncFolder(folder);
      } finally {
        rmSync(part, { force: true });
      }
    },
    sizeOf: (digest) => sizeOf(pathOf(digest)),
    read: (digest) => createReadStream(pathOf(digest), { highWaterMark: CHUNK_BYTES }),
    remove: (digest) => rmSync(pathOf(digest), { force: true }),
    keepOnly(digests) {
      const names = new Set([...digests].map(hexOf));
      for (const name of readdirSync(folder))
        if (!names.has(name)) rmSync(join(folder, name), { force: true });
    },
  };
}

function writePart(path: string, pieces: Iterable<Uint8Array>): string {
  const hash = createHash("sha256");
  const file = openSync(path, "wx", 0o600);
  try {
    for (const piece of pieces) {
      hash.update(piece);
      writeAll(file, piece);
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return `sha256:${hash.digest("hex")}`;
}

function sizeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.size ?? null;
}

/** Makes a folder for its owner alone, where it is not there. Throws "file_unwritable". */
export function makeFolder(folder: string): void {
  orUnwritable(folder, () => {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    } catch {
      // On a read-only disk, the recursive form says ENOENT.
      mkdirSync(folder, { mode: 0o700 });
    }
  });
}

/** Makes names durable. Not every system can sync a folder; the content is synced either way. */
export function syncFolder(folder: string): void {
  try {
    const handle = openSync(folder, "r");
    fsyncSync(handle);
    closeSync(handle);
  } catch {
    // Windows and some network file systems refuse.
  }
}
