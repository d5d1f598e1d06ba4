import { constants } from "node:fs";
import { lstat, open, opendir } from "node:fs/promises";
import type { Dir, Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { UpheldError } from "../core/errors.ts";
import { fault } from "../evidence/faults.ts";
import type { Fault } from "../evidence/faults.ts";
import { compareNames, isBundleName, LAYOUT_FILE } from "../evidence/layout.ts";
import { BUNDLE_LIMITS } from "../evidence/limits.ts";
import type { BundleLimits } from "../evidence/limits.ts";
import type { BundleReader, ListedFile, Listing } from "../evidence/reader.ts";
import { printable, tarReader } from "../evidence/tar-reader.ts";
import { systemCode } from "./system-code.ts";

/** A pipe would keep an ordinary open waiting for a writer. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
const OPEN_NO_LINK = OPEN_FLAGS | (constants.O_NOFOLLOW ?? 0);

/** The folders of a bundle that is a directory. */
const FOLDERS: ReadonlySet<string> = new Set(["blobs", "blobs/sha256"]);

/** A folder of a bundle: "" is the bundle's own. */
interface Folder {
  readonly path: string;
  readonly folder: string;
  readonly limits: BundleLimits;
}

/** A bundle on the disk, held open until it is disposed of. */
export type OpenBundle = BundleReader & AsyncDisposable;

/**
 * Opens a bundle that is one tar file or a directory; what is wrong with it is the reader's answer. Throws
 * "file_unreadable" when nothing can be opened there, "bundle_invalid" when it is neither a file nor a directory.
 */
export async function openBundle(
  path: string,
  options: { readonly limits?: BundleLimits } = {},
): Promise<OpenBundle> {
  const { limits = BUNDLE_LIMITS } = options;
  const handle = await openToRead(path, OPEN_FLAGS, path);
  try {
    const stat = await handle.stat();
    if (stat.isFile()) return tarFile(handle, { name: path, sizeBytes: stat.size, limits });
    if (stat.isDirectory()) return directory(path, handle, limits);
  } catch (error) {
    await handle.close();
    throw error;
  }
  await handle.close();
  throw new UpheldError("bundle_invalid", `${path} is neither a file nor a directory`);
}

/** Whether a bundle lies at a path, intact or not: what `writeBundle` may replace. A link is none. */
export async function isBundle(path: string): Promise<boolean> {
  const there = await lstat(path);
  if (!there.isFile() && !there.isDirectory()) return false;
  await using bundle = await openBundle(path);
  const listing = await bundle.list();
  return listing.ok && listing.files[0]?.name === LAYOUT_FILE;
}

function tarFile(
  handle: FileHandle,
  { name, sizeBytes, limits }: ListedFile & { readonly limits: BundleLimits },
): OpenBundle {
  const read = (from: number, length: number): Promise<Uint8Array> =>
    readAt(handle, { name, from, length: Math.min(length, Math.max(0, sizeBytes - from)) });
  return {
    ...tarReader({ sizeBytes, read }, limits),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

function directory(path: string, handle: FileHandle, limits: BundleLimits): OpenBundle {
  return {
    list: () => listDirectory(path, limits),
    async read({ name, sizeBytes }, from = 0, length = sizeBytes): Promise<Uint8Array> {
      await using file = await openToRead(join(path, name), OPEN_NO_LINK, name);
      const left = Math.max(0, Math.min(length, sizeBytes - from));
      return await readAt(file, { name, from, length: left });
    },
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

async function listDirectory(path: string, limits: BundleLimits): Promise<Listing> {
  const files: ListedFile[] = [];
  const wrong = await listInto(files, { path, folder: "", limits });
  if (wrong !== null) return wrong;
  return { ok: true, files: files.toSorted((left, right) => compareNames(left.name, right.name)) };
}

async function listInto(files: ListedFile[], place: Folder): Promise<Fault | null> {
  const { path, folder, limits } = place;
  // Leaving the loop closes the folder.
  for await (const entry of await openFolder(path, folder)) {
    const name = folder === "" ? entry.name : `${folder}/${entry.name}`;
    const stat = await statOf(path, name);
    if (stat.isDirectory() && FOLDERS.has(name)) {
      const wrong = await listInto(files, { path, folder: name, limits });
      if (wrong !== null) return wrong;
      continue;
    }
    if (!stat.isFile() || !isBundleName(name)) return fault("entry_refused", printable(name));
    if (files.length >= limits.maxFiles) return fault("limit_exceeded", name);
    files.push({ name, sizeBytes: stat.size });
  }
  return null;
}

async function openFolder(path: string, folder: string): Promise<Dir> {
  try {
    return await opendir(join(path, folder));
  } catch (cause) {
    throw unreadable(folder === "" ? path : folder, cause);
  }
}

async function statOf(path: string, name: string): Promise<Stats> {
  try {
    return await lstat(join(path, name));
  } catch (cause) {
    throw unreadable(printable(name), cause);
  }
}

async function openToRead(path: string, flags: number, shown: string): Promise<FileHandle> {
  try {
    return await open(path, flags);
  } catch (cause) {
    throw unreadable(shown, cause);
  }
}

/** Reads to the length or to the end, whichever comes first. */
async function readAt(
  file: FileHandle,
  { name, from, length }: { readonly name: string; readonly from: number; readonly length: number },
): Promise<Uint8Array> {
  // Only what was read into it is handed on.
  const bytes = Buffer.allocUnsafeSlow(length);
  let got = 0;
  try {
    while (got < length) {
      const { bytesRead } = await file.read(bytes, got, length - got, from + got);
      if (bytesRead === 0) break;
      got += bytesRead;
    }
  } catch (cause) {
    throw unreadable(name, cause);
  }
  return bytes.subarray(0, got);
}

function unreadable(name: string, cause: unknown): UpheldError {
  return new UpheldError("file_unreadable", `cannot read ${name}: ${systemCode(cause)}`, { cause });
}
