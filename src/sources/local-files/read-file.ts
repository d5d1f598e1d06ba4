import { closeSync, fstatSync, readSync, type BigIntStats } from "node:fs";
import { createHash, hash } from "node:crypto";
import type { GapCode } from "../../core/gap.ts";
import { errnoOf, isAbsent, type ConfinedRoot, type Directory, type OpenFile } from "./confined.ts";
import { Aborted, type Budget, type Meter } from "./meter.ts";
import type { ByteName } from "./name.ts";

/** The most that is read by one call. */
const CHUNK_BYTES = 1 << 20;

/** What one write puts in place faster than it could be read meanwhile. */
const AT_ONCE_BYTES = 65_536n;

/** How long a larger write may take. */
const WRITE_NS = 100_000_000n;

/** How often a file that changed while it was read is read again. */
const RETRIES = 2;

export interface ReadOptions {
  readonly meter: Meter;
  readonly budget: Budget;
  /** How much of the head is handed over. */
  readonly keepBytes: number;
}

/**
 * What reading a file gave. `sha256` (hex) is there only where every byte was read and nothing moved meanwhile;
 * else `missing` says why not. `head` holds the first bytes; it is only good until the next read.
 */
export interface Reading {
  readonly stat?: BigIntStats;
  readonly sha256?: string;
  readonly head: Buffer;
  readonly headIsWhole: boolean;
  readonly readBytes: number;
  readonly missing?: { readonly code: GapCode; readonly detail: string };
}

const NOTHING = Buffer.alloc(0);

/** Reads files one after another into one buffer. */
export class FileReader {
  readonly #confined: ConfinedRoot;
  readonly #chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES + 1);

  constructor(confined: ConfinedRoot) {
    this.#confined = confined;
  }

  /** Opens one entry that is known to be a regular file and reads it within the budget. Throws only `Aborted`. */
  read(directory: Directory, name: ByteName, options: ReadOptions): Reading {
    let last = this.#readOnce(directory, name, options);
    for (let attempt = 0; attempt < RETRIES && !isSettled(last, options.budget); attempt += 1) {
      const again = this.#readOnce(directory, name, options);
      if (again.sha256 !== undefined && again.sha256 === last.sha256) return again;
      last = again;
    }
    return last.missing !== undefined || isSettled(last, options.budget)
      ? last
      : this.#failed("changed_during_read", "no two readings of it agree");
  }

  #readOnce(directory: Directory, name: ByteName, options: ReadOptions): Reading {
    let file: OpenFile;
    try {
      file = this.#confined.openFile(directory, name);
      options.meter.opened();
    } catch (error) {
      return this.#failed(isAbsent(error) ? "changed_during_read" : "read_failed", errnoOf(error));
    }
    try {
      if (!file.stat.isFile())
        return this.#failed("changed_during_read", "it is no regular file any more");
      return file.stat.size <= BigInt(CHUNK_BYTES)
        ? this.#readSmall(file, options)
        : this.#readLarge(file, options);
    } catch (error) {
      if (error instanceof Aborted) throw error;
      return { ...this.#failed("read_failed", errnoOf(error)), stat: file.stat };
    } finally {
      closeSync(file.fd);
    }
  }

  #failed(code: GapCode, detail: string): Reading {
    return { head: NOTHING, headIsWhole: false, readBytes: 0, missing: { code, detail } };
  }

  /** One read of a byte more than its size shows the end as well. */
  #readSmall(file: OpenFile, options: ReadOptions): Reading {
    const size = Number(file.stat.size);
    const allowed = Math.max(0, options.budget.left);
    // A size of 0 may be what a virtual file system says of a file that holds something: one byte tells, also beyond the budget.
    const wanted =
      size === 0 ? Math.max(1, Math.min(CHUNK_BYTES, allowed)) : Math.min(size + 1, allowed);
    let used = 0;
    while (used < wanted) {
      const got = readSync(file.fd, this.#chunk, used, wanted - used, null);
      if (got === 0) break;
      used += got;
      options.meter.read(got);
    }
    options.budget.spend(used);
    const bytes = this.#chunk.subarray(0, used);
    const missing = this.#missing(file, used, size, options);
    const head = bytes.subarray(0, options.keepBytes);
    const result = {
      stat: file.stat,
      head,
      headIsWhole: missing === undefined && head.length === used,
      readBytes: used,
    };
    return missing === undefined
      ? { ...result, sha256: hash("sha256", bytes, "hex") }
      : { ...result, missing };
  }

  #readLarge(file: OpenFile, options: ReadOptions): Reading {
    const size = Number(file.stat.size);
    const digest = createHash("sha256");
    const keep = Buffer.allocUnsafe(
      Math.max(0, Math.min(options.keepBytes, size, options.budget.left)),
    );
    let used = 0;
    while (used <= size) {
      const wanted = Math.min(CHUNK_BYTES, size + 1 - used, options.budget.left);
      const got = wanted <= 0 ? 0 : readSync(file.fd, this.#chunk, 0, wanted, null);
      if (got === 0) break;
      digest.update(this.#chunk.subarray(0, got));
      if (used < keep.length) this.#chunk.copy(keep, used, 0, Math.min(got, keep.length - used));
      used += got;
      options.budget.spend(got);
      options.meter.read(got);
    }
    const missing = this.#missing(file, used, size, options);
    const head = keep.subarray(0, Math.min(used, keep.length));
    const result = {
      stat: file.stat,
      head,
      headIsWhole: missing === undefined && head.length === used,
      readBytes: used,
    };
    return missing === undefined
      ? { ...result, sha256: digest.digest("hex") }
      : { ...result, missing };
  }

  #missing(file: OpenFile, used: number, size: number, options: ReadOptions): Reading["missing"] {
    const after = fstatSync(file.fd, { bigint: true });
    const moved =
      after.size !== file.stat.size ||
      after.mtimeNs !== file.stat.mtimeNs ||
      after.ctimeNs !== file.stat.ctimeNs;
    if (used < size && options.budget.left <= 0)
      return { code: "read_limit_exceeded", detail: `${used} of ${size} bytes were read` };
    if (moved || after.nlink === 0n)
      return {
        code: "changed_during_read",
        detail:
          after.nlink === 0n
            ? "it was removed while it was read"
            : "its size or times moved while it was read",
      };
    if (used !== size)
      return {
        code: "changed_during_read",
        detail: `its size is said to be ${size}, yet ${used} bytes were read`,
      };
    return undefined;
  }
}

/**
 * True where reading again would tell nothing more. One write that goes on stamps a file only at its start: the times of a large
 * file that was just written prove no stillness, so it is read until two readings agree, as far as the budget goes.
 */
function isSettled({ missing, stat }: Reading, budget: Budget): boolean {
  if (missing !== undefined) return missing.code !== "changed_during_read";
  if (stat === undefined || stat.size <= AT_ONCE_BYTES || budget.left < stat.size) return true;
  return stat.mtimeNs <= BigInt(Date.now()) * 1_000_000n - WRITE_NS;
}
