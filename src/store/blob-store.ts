import type { Digest } from "../core/ids.ts";

/** Bytes by their digest, and how many they are. */
export interface BlobName {
  readonly digest: Digest;
  readonly sizeBytes: number;
}

/** Gives the bytes of a blob from their start, as often as they are wanted. */
export type BlobContent = () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** What became of bytes that were handed over: kept, or refused because they are not what was announced. */
export type PutOutcome = "kept" | "digest_mismatch" | "size_mismatch";

/**
 * Keeps blobs. Guarantees that what is read is what was put, whole: bytes are digested on the way in and appear under their
 * name all at once or not at all. Putting the same bytes again changes nothing. Throws "storage_unavailable" where the storage
 * cannot be used or is full.
 */
export interface BlobStore {
  put(blob: BlobName, open: BlobContent): Promise<PutOutcome>;
  /** The bytes piece by piece; undefined where there are none. */
  read(digest: Digest): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Removes the bytes; nothing happens where there are none. */
  remove(digest: Digest): Promise<void>;
}
