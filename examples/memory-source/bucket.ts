import { createHash } from "node:crypto";
import { Digest, timestampOf, type Timestamp } from "upheld";

/** One object of a bucket: its bytes, and what a bucket says of them. */
export interface StoredObject {
  readonly bytes: Uint8Array;
  readonly sha256: Digest;
  readonly modifiedAt: Timestamp;
}

/** Objects in memory, looked at the way a bucket is: list the keys, then get each. */
export class MemoryBucket {
  readonly #objects = new Map<string, StoredObject>();
  /** False makes every call fail, as a bucket does that is not there. */
  isReachable = true;

  put(key: string, content: string | Uint8Array): void {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const hex = createHash("sha256").update(bytes).digest("hex");
    this.#objects.set(key, {
      bytes,
      sha256: Digest.parse(`sha256:${hex}`),
      modifiedAt: timestampOf(BigInt(Date.now()) * 1_000_000n),
    });
  }

  delete(key: string): void {
    this.#objects.delete(key);
  }

  /** Every key, in order. Rejects where the bucket is not there. */
  async list(): Promise<readonly string[]> {
    if (!this.isReachable) throw new Error("NoSuchBucket");
    return [...this.#objects.keys()].toSorted();
  }

  async get(key: string): Promise<StoredObject | undefined> {
    return this.#objects.get(key);
  }
}
