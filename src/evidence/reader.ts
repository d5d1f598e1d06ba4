import type { Fault } from "./faults.ts";

/** A file that a bundle holds. */
export interface ListedFile {
  readonly name: string;
  readonly sizeBytes: number;
}

/** The files of a bundle in canonical order, or what makes it none. */
export type Listing = { readonly ok: true; readonly files: readonly ListedFile[] } | Fault;

/**
 * Reads a stored bundle, which may be hostile. Guarantees: `list` reads no blob, answers with a fault for whatever
 * the container must not hold (links, devices, other names, bytes that a canonical writer would not write), and names
 * each file once; `read` returns `length` bytes of a listed file from `from` on (by default all), fewer when they are not there.
 */
export interface BundleReader {
  list(): Promise<Listing>;
  read(file: ListedFile, from?: number, length?: number): Promise<Uint8Array>;
}

/** Bytes that can be read from any place, such as an open file. */
export interface ByteSource {
  readonly sizeBytes: number;
  /** At most `length` bytes from `from` on, fewer only at the end. */
  read(from: number, length: number): Promise<Uint8Array>;
}

/** Bytes in memory as a source. */
export function byteSource(bytes: Uint8Array): ByteSource {
  return {
    sizeBytes: bytes.length,
    read: (from, length) => Promise.resolve(bytes.subarray(from, from + length)),
  };
}
