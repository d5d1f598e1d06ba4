import { randomBytes } from "node:crypto";
import { lstat, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { UpheldError } from "../core/errors.ts";
import type { StoredFile } from "../evidence/amend.ts";
import type { BundleFile } from "../evidence/bundle.ts";
import { INDEX_FILE } from "../evidence/layout.ts";
import { TAR_END_BYTES, tarHeader, tarPaddingBytes } from "../evidence/tar.ts";
import { isBundle } from "./open-bundle.ts";
import { isSameProcess } from "./process-mark.ts";
import { systemCode } from "./system-code.ts";

/** Bytes handed to the system at once; the signal is looked at in between. */
const CHUNK_BYTES = 1024 * 1024;

/** "tmp" is being written; "old" is a directory moved aside, with the name it had. */
const OWN_NAME =
  /^\.upheld-(?:tmp-(?<writer>[0-9]+)-[0-9a-f]{16}|old-(?<mover>[0-9]+)-[0-9a-f]{16}-(?<was>.+))$/;

/** What this process is writing or moving, by name: a sweep leaves it alone. */
const inUse = new Set<string>();

/** A bundle to be written: of a run or a suite, or a stored one that was amended. The files are in canonical order. */
export interface WritableBundle {
  readonly files: readonly (BundleFile | StoredFile)[];
}

export interface WriteBundleOptions {
  /** One tar file, or a directory. */
  readonly as: "tar" | "directory";
  /** Replace whatever is there. Default false: only another bundle is replaced. */
  readonly overwrite?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Writes a bundle under a name, whole or not at all: into a temporary neighbour, synced to the disk, then renamed.
 * A kill leaves at most neighbours, which `sweepTemporary` clears. A directory that is replaced is first moved aside and
 * removed at the end; a sweep puts it back when nothing came in its place. Throws "file_unwritable" on a full disk, a missing folder, and when
 * the name is taken by what is no bundle; rejects with the signal's reason. The mode is 0600: evidence can be private.
 */
export async function writeBundle(
  path: string,
  bundle: WritableBundle,
  options: WriteBundleOptions,
): Promise<void> {
  const { as, overwrite = false, signal } = options;
  signal?.throwIfAborted();
  if (!overwrite) await refuseForeign(path);
  const mark = `${process.pid}-${randomBytes(8).toString("hex")}`;
  const [name, asideName] = [`.upheld-tmp-${mark}`, `.upheld-old-${mark}-${basename(path)}`];
  const temporary = join(dirname(path), name);
  inUse.add(name).add(asideName);
  try {
    await (as === "tar" ? writeTar : writeDirectory)(temporary, bundle, signal);
    await putInPlace(temporary, path, { as, aside: join(dirname(path), asideName) });
  } catch (cause) {
    await rm(temporary, { recursive: true, force: true }).catch(() => undefined);
    if (signal?.aborted === true && cause === signal.reason) throw cause;
    throw unwritable(path, systemCode(cause), cause);
  } finally {
    inUse.delete(name);
    inUse.delete(asideName);
  }
}

/** What `sweepTemporary` did, by name. */
export interface Sweep {
  /** What a killed writer left. */
  readonly removed: readonly string[];
  /** Directories that were moved aside, and are back because nothing came in their place. */
  readonly restored: readonly string[];
  /** What a live process may still be writing. */
  readonly kept: readonly string[];
}

/** Clears what killed writers left in a folder, and names it. Throws the system's error when it cannot. */
export async function sweepTemporary(folder: string): Promise<Sweep> {
  const swept = { removed: [] as string[], restored: [] as string[], kept: [] as string[] };
  for (const name of (await readdir(folder)).toSorted()) {
    const { writer, mover, was } = OWN_NAME.exec(name)?.groups ?? {};
    const pid = writer ?? mover;
    if (pid === undefined) continue;
    if (inUse.has(name) || isWriter(Number(pid))) {
      swept.kept.push(name);
    } else if (was !== undefined && !(await isThere(join(folder, was)))) {
      await rename(join(folder, name), join(folder, was));
      swept.restored.push(was);
    } else {
      await rm(join(folder, name), { recursive: true, force: true });
      swept.removed.push(name);
    }
  }
  return swept;
}

/** A leftover with our own number is of an earlier process: in a container, numbers repeat. */
function isWriter(pid: number): boolean {
  return pid !== process.pid && isSameProcess(pid, "");
}

type Writer = (
  temporary: string,
  bundle: WritableBundle,
  signal: AbortSignal | undefined,
) => Promise<void>;

const writeTar: Writer = async (temporary, { files }, signal) => {
  await writeFile(temporary, piecesOfTar(files), signal);
};

const writeDirectory: Writer = async (temporary, { files }, signal) => {
  const blobs = join(temporary, "blobs", "sha256");
  // Not recursive: a folder that does not exist is an error here as for a tar file.
  for (const folder of [temporary, dirname(blobs), blobs]) await mkdir(folder, { mode: 0o700 });
  // The files come in canonical order, so the index is the last.
  for (const file of files) {
    if (file.name === INDEX_FILE) await syncFolder(blobs);
    await writeFile(join(temporary, file.name), piecesOf(file), signal);
  }
  await syncFolder(temporary);
};

/** The bytes of a file, as many as it says; a stored one that has shrunk meanwhile is not written. */
async function* piecesOf(file: BundleFile | StoredFile): AsyncGenerator<Uint8Array> {
  if ("bytes" in file) {
    yield file.bytes;
    return;
  }
  let left = file.sizeBytes;
  for await (const piece of file.pieces()) {
    left -= piece.length;
    yield piece;
  }
  if (left !== 0) throw new Error(`${file.name} has another size than before`);
}

async function* piecesOfTar(files: WritableBundle["files"]): AsyncGenerator<Uint8Array> {
  for (const file of files) {
    const sizeBytes = "bytes" in file ? file.bytes.length : file.sizeBytes;
    yield tarHeader(file.name, sizeBytes);
    yield* piecesOf(file);
    yield new Uint8Array(tarPaddingBytes(sizeBytes));
  }
  yield new Uint8Array(TAR_END_BYTES);
}

async function writeFile(
  path: string,
  pieces: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<void> {
  await using file = await open(path, "wx", 0o600);
  for await (const piece of pieces) await writeAll(file, piece, signal);
  await file.sync();
}

/** A full disk takes a part of what it is given and reports no error: only a loop sees it. */
async function writeAll(
  file: FileHandle,
  bytes: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<void> {
  let at = 0;
  while (at < bytes.length) {
    signal?.throwIfAborted();
    const { bytesWritten } = await file.write(bytes, at, Math.min(CHUNK_BYTES, bytes.length - at));
    if (bytesWritten === 0) throw new Error("the system takes no more bytes");
    at += bytesWritten;
  }
}

async function putInPlace(
  temporary: string,
  path: string,
  { as, aside }: { readonly as: "tar" | "directory"; readonly aside: string },
): Promise<void> {
  const there = await lstat(path).catch(() => null);
  // A file replaces a file in one step; a rename cannot replace a directory that holds anything.
  const isInTheWay = there !== null && (as === "directory" || there.isDirectory());
  if (isInTheWay) await rename(path, aside);
  try {
    await rename(temporary, path);
  } catch (error) {
    if (isInTheWay) await rename(aside, path);
    throw error;
  }
  await syncFolder(dirname(path));
  if (isInTheWay) await rm(aside, { recursive: true, force: true });
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => null)) !== null;
}

/** Makes names durable. Not every system can sync a folder; the content is synced either way. */
async function syncFolder(folder: string): Promise<void> {
  try {
    await using handle = await open(folder, "r");
    await handle.sync();
  } catch {
    // Windows and some network file systems refuse.
  }
}

async function refuseForeign(path: string): Promise<void> {
  if (!(await isThere(path)) || (await isBundle(path))) return;
  throw new UpheldError(
    "file_unwritable",
    `${path} is there and is no evidence bundle; it is not replaced unless asked`,
  );
}

function unwritable(path: string, reason: string, cause: unknown): UpheldError {
  return new UpheldError("file_unwritable", `cannot write ${basename(path)}: ${reason}`, { cause });
}
