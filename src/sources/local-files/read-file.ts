import { closeSync, fstatSync, readSync, type BigIntStats } from "node:fs";
import { createHash, hash } from "node:crypto";
import type { GapCode } from "../../core/gap.ts";
import {
  errnoOf,
  isAbsent,
  isOutOfHandles,
  type ConfinedRoot,
  type Directory,
  type OpenFile,
} from "./confined.ts";
import { Aborted, type Meter, type SharedBudget } from "./meter.ts";
import type { ByteName } from "./name.ts";

/** The most that is read by one call. */
const CHUNK_BYTES = 1 << 20;

/** What one write puts in place faster than it could be read meanwhile. */
const AT_ONCE_BYTES = 65_536n;

/** How long a larger write may take. */
const WRITE_NS = 100_000_000n;

/** How often a file that changed while it was read is read again. */
const RETRIES = 2;

/** What may be read of one file: what was set aside for it, then of what is left over for all, if it may draw on that. */
export class Allowance {
  #own: number;
  readonly #spare: SharedBudget | undefined;

  constructor(own: number, spare: SharedBudget | undefined) {
    this.#own = own;
    this.#spare = spare;
  }

  /** True where all of a file of this size was set aside for it. */
  covers(size: number): boolean {
    return this.#own >= size;
  }

  get left(): number {
    return this.#own + (this.#spare?.left ?? 0);
  }

  takeUpTo(amount: number): number {
    const own = Math.min(this.#own, amount);
    this.#own -= own;
    if (own === amount || this.#spare === undefined) return own;
    return own + this.#spare.takeUpTo(amount - own);
  }

  giveBack(amount: number): void {
    this.#spare?.giveBack(amount);
  }
}

/** What is known of a file from its metadata by name, before it is opened. */
export interface KnownFile {
  readonly size: number;
  /** True where an open file is this one and has not moved since. */
  isStill(stat: BigIntStats): boolean;
}

export interface ReadOptions {
  readonly meter: Meter;
  readonly allowance: Allowance;
  /** How much of the head is handed over. */
  readonly keepBytes: number;
  readonly known?: KnownFile;
}

/**
 * What reading a file gave. `sha256` (hex) is there only where every byte was read and nothing moved meanwhile;
 * else `missing` says why not. `stat` is there where it tells more than was known. `head` holds the first bytes; it is only good
 * until the next read.
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

  /** Opens one entry that is known to be a regular file and reads it within its allowance. Throws only `Aborted`, and where no handle is left. */
  read(directory: Directory, name: ByteName, options: ReadOptions): Reading {
    const asKnown = this.#readAsKnown(directory, name, options);
    if (asKnown !== undefined) return asKnown;
    let last = this.#readOnce(directory, name, options);
    for (let attempt = 0; attempt < RETRIES && !isSettled(last, options); attempt += 1) {
      const again = this.#readOnce(directory, name, options);
      if (again.sha256 !== undefined && again.sha256 === last.sha256) return again;
      last = again;
    }
    return last.missing !== undefined || isSettled(last, options)
      ? last
      : this.#failed("changed_during_read", "no two readings of it agree");
  }

  /**
   * One question to the handle, after reading: where it agrees with what was known before, nothing moved in between. Undefined
   * where it does not, or where there is more to say.
   */
  #readAsKnown(directory: Directory, name: ByteName, options: ReadOptions): Reading | undefined {
    const { known, allowance, meter } = options;
    const { openAgain } = this.#confined;
    if (known === undefined || openAgain === undefined) return undefined;
    if (known.size > CHUNK_BYTES || !allowance.covers(known.size)) return undefined;
    let fd: number;
    try {
      fd = openAgain(directory, name);
      meter.opened();
    } catch (error) {
      if (isOutOfHandles(error)) throw error;
      return undefined;
    }
    try {
      return this.#fillAsKnown(fd, known, options);
    } catch (error) {
      if (error instanceof Aborted) throw error;
      return undefined;
    } finally {
      closeSync(fd);
    }
  }

  #fillAsKnown(fd: number, known: KnownFile, options: ReadOptions): Reading | undefined {
    const { used } = this.#fillChunk(fd, known.size, options, 0);
    const stat = fstatSync(fd, { bigint: true });
    if (used !== known.size || !known.isStill(stat) || wasJustWritten(stat)) return undefined;
    const bytes = this.#chunk.subarray(0, used);
    const head = used <= options.keepBytes ? bytes : bytes.subarray(0, options.keepBytes);
    const sha256 = hash("sha256", bytes, "hex");
    return { sha256, head, headIsWhole: head.length === used, readBytes: used };
  }

  #readOnce(directory: Directory, name: ByteName, options: ReadOptions): Reading {
    let file: OpenFile;
    try {
      file = this.#confined.openFile(directory, name);
      options.meter.opened();
    } catch (error) {
      if (isOutOfHandles(error)) throw error;
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

  /**
   * Fills the chunk from a file of this size. One byte more than its size shows the end as well; a size of 0 may be what a
   * virtual file system says of a file that holds something: one byte tells, also beyond what is allowed.
   */
  #fillChunk(
    fd: number,
    size: number,
    { allowance, meter }: ReadOptions,
    position: number | null,
  ): Extent {
    const wanted = size === 0 ? CHUNK_BYTES : size + 1;
    const granted = allowance.takeUpTo(wanted);
    const allowed = size === 0 ? Math.max(1, granted) : granted;
    let used = 0;
    try {
      while (used < allowed) {
        const from = position === null ? null : position + used;
        const got = readSync(fd, this.#chunk, used, allowed - used, from);
        if (got === 0) break;
        used += got;
        meter.read(got);
        // More was asked for: what stops just at its size has met the end.
        if (used === size && size > 0) break;
      }
    } finally {
      allowance.giveBack(granted - used);
    }
    return { used, cut: used === allowed && allowed < wanted };
  }

  #readSmall(file: OpenFile, options: ReadOptions): Reading {
    const size = Number(file.stat.size);
    const extent = this.#fillChunk(file.fd, size, options, null);
    const { used } = extent;
    const bytes = this.#chunk.subarray(0, used);
    const missing = missingOf(file, extent, size);
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

  #readLarge(file: OpenFile, { allowance, meter, keepBytes }: ReadOptions): Reading {
    const size = Number(file.stat.size);
    const digest = createHash("sha256");
    const keep = Buffer.allocUnsafe(Math.max(0, Math.min(keepBytes, size)));
    let used = 0;
    let cut = false;
    while (used <= size) {
      const wanted = Math.min(CHUNK_BYTES, size + 1 - used);
      const allowed = allowance.takeUpTo(wanted);
      cut = allowed < wanted;
      const got = allowed === 0 ? 0 : readSync(file.fd, this.#chunk, 0, allowed, null);
      allowance.giveBack(allowed - got);
      if (got === 0) break;
      digest.update(this.#chunk.subarray(0, got));
      if (used < keep.length) this.#chunk.copy(keep, used, 0, Math.min(got, keep.length - used));
      used += got;
      meter.read(got);
    }
    const missing = missingOf(file, { used, cut }, size);
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
}

/** How far a file was read, and whether more of it was not allowed. */
interface Extent {
  readonly used: number;
  readonly cut: boolean;
}

/** Why what was read of a file is not its content; undefined where it is. */
function missingOf(file: OpenFile, { used, cut }: Extent, size: number): Reading["missing"] {
  const after = fstatSync(file.fd, { bigint: true });
  if (used < size && cut)
    return { code: "read_limit_exceeded", detail: `${used} of ${size} bytes were read` };
  const detail = changeOf(file.stat, after) ?? sizeDoubt(used, size);
  return detail === undefined ? undefined : { code: "changed_during_read", detail };
}

function changeOf(before: BigIntStats, after: BigIntStats): string | undefined {
  if (after.nlink === 0n) return "it was removed while it was read";
  const moved =
    after.size !== before.size ||
    after.mtimeNs !== before.mtimeNs ||
    after.ctimeNs !== before.ctimeNs;
  return moved ? "its size or times moved while it was read" : undefined;
}

function sizeDoubt(used: number, size: number): string | undefined {
  return used === size ? undefined : `its size is said to be ${size}, yet ${used} bytes were read`;
}

/**
 * True where reading again would tell nothing more. One write that goes on stamps a file only at its start: the times of a large
 * file that was just written prove no stillness, so it is read until two readings agree, as far as the budget goes.
 */
function isSettled({ missing, stat }: Reading, { allowance }: ReadOptions): boolean {
  if (missing !== undefined) return missing.code !== "changed_during_read";
  if (stat === undefined || allowance.left < Number(stat.size)) return true;
  return !wasJustWritten(stat);
}

function wasJustWritten(stat: BigIntStats): boolean {
  return stat.size > AT_ONCE_BYTES && stat.mtimeNs > BigInt(Date.now()) * 1_000_000n - WRITE_NS;
}
