import { createHash, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, readdir, rename, rm, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { UpheldError } from "../core/errors.ts";
import type { Digest } from "../core/ids.ts";
import type { BlobContent, BlobName, BlobStore, PutOutcome } from "./blob-store.ts";
import { systemCode } from "./system-code.ts";

const READ_BYTES = 256 * 1024;

/** Blobs as files of a folder, `sha256/ab/<hex>`. What a crash left half written is removed when it is opened. */
export async function openFolderBlobs(folder: string): Promise<BlobStore> {
  const partial = join(folder, "partial");
  await storing(async () => {
    await mkdir(partial, { recursive: true, mode: 0o700 });
    for (const name of await readdir(partial)) await rm(join(partial, name), { force: true });
  });
  return {
    put: (blob, content) => storing(() => put(folder, blob, content())),
    read: (digest) => read(pathOf(folder, digest)),
    remove: (digest) => storing(() => rm(pathOf(folder, digest), { force: true })),
  };
}

async function put(
  folder: string,
  blob: BlobName,
  content: ReturnType<BlobContent>,
): Promise<PutOutcome> {
  const partial = join(folder, "partial", randomUUID());
  try {
    const outcome = await writeDigested(partial, blob, content);
    if (outcome !== "kept") return outcome;
    const path = pathOf(folder, blob.digest);
    const directory = join(path, "..");
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await rename(partial, path);
    await syncDirectory(directory);
    return "kept";
  } finally {
    await rm(partial, { force: true });
  }
}

/** Writes what comes to a new file, as long as it is not more than was announced, and tells whether it is just that. */
export async function writeDigested(
  path: string,
  { digest, sizeBytes }: BlobName,
  content: ReturnType<BlobContent>,
): Promise<PutOutcome> {
  const hash = createHash("sha256");
  let written = 0;
  const file = await open(path, "wx", 0o600);
  try {
    for await (const chunk of content) {
      written += chunk.length;
      if (written > sizeBytes) return "size_mismatch";
      hash.update(chunk);
      await writeWhole(file, chunk);
    }
    if (written !== sizeBytes) return "size_mismatch";
    if (`sha256:${hash.digest("hex")}` !== digest) return "digest_mismatch";
    await file.sync();
    return "kept";
  } finally {
    await file.close();
  }
}

/** A full disk takes a part of a write without an error. */
async function writeWhole(file: FileHandle, bytes: Uint8Array): Promise<void> {
  let from = 0;
  while (from < bytes.length) {
    const { bytesWritten } = await file.write(bytes, from);
    from += bytesWritten;
  }
}

async function syncDirectory(path: string): Promise<void> {
  // Windows opens no directory.
  if (process.platform === "win32") return;
  await using directory = await open(path, constants.O_RDONLY);
  await directory.sync();
}

async function read(path: string): Promise<AsyncIterable<Uint8Array> | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY);
    return file.createReadStream({ highWaterMark: READ_BYTES });
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw unavailable(error);
  }
}

function pathOf(folder: string, digest: Digest): string {
  const hex = digest.slice("sha256:".length);
  return join(folder, "sha256", hex.slice(0, 2), hex);
}

async function storing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // What the sender's stream does wrong is not the storage's fault.
    if (error instanceof Error && "syscall" in error) throw unavailable(error);
    throw error;
  }
}

function unavailable(cause: unknown): UpheldError {
  return new UpheldError(
    "storage_unavailable",
    `the blob folder cannot be used: ${systemCode(cause)}`,
    {
      cause,
    },
  );
}
