import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { Digest } from "../core/ids.ts";
import { byteSource, type BundleReader } from "../evidence/reader.ts";
import { tarReader } from "../evidence/tar-reader.ts";
import type { BlobContent } from "../store/blob-store.ts";
import { openBundle } from "../store/open-bundle.ts";

/** Bytes of a body that are held in memory; a larger one goes to a file. */
const MAX_HELD_BYTES = 1024 * 1024;

/** A body that has come in whole. Disposing it forgets it. */
export interface Arrival extends AsyncDisposable {
  readonly digest: Digest;
  readonly sizeBytes: number;
  readonly content: BlobContent;
  /** Looks into it as a bundle, which it may not be. */
  bundle(): Promise<BundleReader & Partial<AsyncDisposable>>;
}

/** Takes in a body, digesting it, with little memory: what is large waits in a file of the folder. */
export async function arrival(body: AsyncIterable<Uint8Array>, folder: string): Promise<Arrival> {
  const pieces = body[Symbol.asyncIterator]();
  const held: Uint8Array[] = [];
  const hash = createHash("sha256");
  let sizeBytes = 0;
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
    held.push(next.value);
    hash.update(next.value);
    sizeBytes += next.value.length;
    if (sizeBytes > MAX_HELD_BYTES)
      return spilled(held, { [Symbol.asyncIterator]: () => pieces }, folder);
  }
  const bytes = Buffer.concat(held);
  return {
    digest: Digest.parse(`sha256:${hash.digest("hex")}`),
    sizeBytes,
    content: () => [bytes],
    bundle: () => Promise.resolve(tarReader(byteSource(bytes))),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function spilled(
  held: readonly Uint8Array[],
  rest: AsyncIterable<Uint8Array>,
  folder: string,
): Promise<Arrival> {
  const path = join(folder, randomUUID());
  const forget = (): Promise<void> => rm(path, { force: true });
  try {
    const written = await writeAll(path, held, rest);
    return {
      ...written,
      content: () => createReadStream(path),
      bundle: () => openBundle(path),
      [Symbol.asyncDispose]: forget,
    };
  } catch (error) {
    await forget();
    throw error;
  }
}

async function writeAll(
  path: string,
  held: readonly Uint8Array[],
  rest: AsyncIterable<Uint8Array>,
): Promise<Pick<Arrival, "digest" | "sizeBytes">> {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  await using file = await open(path, "wx", 0o600);
  const write = async (piece: Uint8Array): Promise<void> => {
    hash.update(piece);
    sizeBytes += piece.length;
    await file.appendFile(piece);
  };
  for (const piece of held) await write(piece);
  for await (const piece of rest) await write(piece);
  return { digest: Digest.parse(`sha256:${hash.digest("hex")}`), sizeBytes };
}
