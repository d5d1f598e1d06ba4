import type { GapCode } from "../../core/gap.ts";
import type { Matcher } from "../../core/matcher.ts";
import { bytesColumn, wordsColumn, type SharedColumn } from "./column.ts";
import type { Node } from "./manifest.ts";
import { SharedBudget } from "./meter.ts";

/** Why a file was not read to its end, and how far it was. */
export interface Miss {
  readonly code: GapCode;
  readonly detail: string;
  readonly readBytes: number;
  /** What was read of a file that is said to be empty. */
  readonly head?: Uint8Array;
}

/** What a probe said of a content. */
export const FOUND = { unknown: 0, present: 1, absent: 2 } as const;
export type Found = (typeof FOUND)[keyof typeof FOUND];

const STATE = { waiting: 0, whole: 1, missed: 2 } as const;

/** How many files a thread takes at a time. */
const STRIDE = 64;

/** The most that can be kept in all: offsets have 32 bits. */
const MAX_KEPT_BYTES = 2 ** 32 - 1;

/** A list on its way to another thread. */
export interface SharedReadingList {
  readonly count: number;
  readonly columns: readonly SharedColumn[];
  readonly allowed: ReadonlyMap<number, number>;
  readonly misses: ReadonlyMap<number, Miss>;
  readonly probes: readonly Matcher[];
  readonly kept: SharedArrayBuffer;
  readonly cursor: SharedArrayBuffer;
  readonly spare: SharedArrayBuffer;
  readonly spareKept: SharedArrayBuffer;
}

/**
 * Files to be read, each once, by one thread or several: how much of each may be read, how much of its head is kept, and
 * what came of it. All of it is planned before the first is opened, so that it does not depend on who reads what.
 */
export class ReadingList {
  readonly #nodes = wordsColumn();
  readonly #keptFrom = wordsColumn();
  readonly #keepBytes = wordsColumn();
  readonly #probed = bytesColumn();
  readonly #states = bytesColumn();
  readonly #found = bytesColumn();
  /** Of files that may not be read to their end. */
  readonly #allowed = new Map<number, number>();
  readonly #misses = new Map<number, Miss>();
  readonly probes: readonly Matcher[];
  #spare = SharedBudget.of(0);
  #spareKept = SharedBudget.of(0);
  #count = 0;
  #keptBytes = 0;
  #kept: Buffer = Buffer.alloc(0);
  #cursor = new Int32Array(new SharedArrayBuffer(4));

  constructor(probes: readonly Matcher[] = []) {
    this.probes = probes;
  }

  get count(): number {
    return this.#count;
  }

  /** Adds a file; `allowed` is given where it is less than the whole of it. Files of one directory are best added together. */
  add(
    node: Node,
    wish: { readonly keepBytes: number; readonly isProbed: boolean; readonly allowed?: number },
  ): number {
    const index = this.#count;
    this.#count += 1;
    this.#nodes.set(index, node);
    if (wish.allowed !== undefined) this.#allowed.set(index, wish.allowed);
    if (wish.isProbed) this.#probed.set(index, 1);
    const keepBytes = Math.min(wish.keepBytes, MAX_KEPT_BYTES - this.#keptBytes);
    if (keepBytes > 0) {
      this.#keptFrom.set(index, this.#keptBytes);
      this.#keepBytes.set(index, keepBytes);
      this.#keptBytes += keepBytes;
    }
    return index;
  }

  /** Ends the planning. Where a file turns out to be longer, so much may be read and kept beyond what was planned. */
  begin(spareBytes: number, spareKeptBytes = 0): void {
    this.#spare = SharedBudget.of(spareBytes);
    this.#spareKept = SharedBudget.of(spareKeptBytes);
    this.#kept = Buffer.from(new SharedArrayBuffer(this.#keptBytes));
  }

  get spare(): SharedBudget {
    return this.#spare;
  }

  get kept(): Buffer {
    return this.#kept;
  }

  /** The next files for a thread to read, as indexes; undefined when all are taken. */
  take(): { readonly from: number; readonly to: number } | undefined {
    const from = Atomics.add(this.#cursor, 0, STRIDE);
    return from < this.#count ? { from, to: Math.min(this.#count, from + STRIDE) } : undefined;
  }

  node(index: number): Node {
    return this.#nodes.get(index);
  }

  /** Less than its size where not all of it may be read. */
  allowed(index: number, size: number): number {
    return this.#allowed.get(index) ?? size;
  }

  isPartial(index: number): boolean {
    return this.#allowed.has(index);
  }

  isProbed(index: number): boolean {
    return this.#probed.get(index) === 1;
  }

  keepBytes(index: number): number {
    return this.#keepBytes.get(index);
  }

  /** Where the head of a file is kept. */
  keptFrom(index: number): number {
    return this.#keptFrom.get(index);
  }

  /** Records what came of a file. What one that is said to be empty holds is kept though none of it was planned. */
  settle(index: number, head: Buffer, miss: Miss | undefined, isSaidEmpty: boolean): void {
    const keepBytes = this.#keepBytes.get(index);
    head.copy(this.#kept, this.#keptFrom.get(index), 0, keepBytes);
    if (miss !== undefined)
      this.#misses.set(index, isSaidEmpty ? this.#withHead(miss, head) : miss);
    this.#states.set(index, miss === undefined ? STATE.whole : STATE.missed);
  }

  #withHead(miss: Miss, head: Buffer): Miss {
    const length = this.#spareKept.takeUpTo(head.length);
    return length === 0 ? miss : { ...miss, head: Uint8Array.from(head.subarray(0, length)) };
  }

  setFound(index: number, probe: number, found: Found): void {
    this.#found.set(index * this.probes.length + probe, found);
  }

  found(index: number, probe: number): number {
    return this.#found.get(index * this.probes.length + probe);
  }

  isWhole(index: number): boolean {
    return this.#states.get(index) === STATE.whole;
  }

  miss(index: number): Miss | undefined {
    return this.#misses.get(index);
  }

  /** How many files nobody has read. */
  waiting(): number {
    let waiting = 0;
    for (let index = 0; index < this.#count; index += 1)
      if (this.#states.get(index) === STATE.waiting) waiting += 1;
    return waiting;
  }

  get misses(): ReadonlyMap<number, Miss> {
    return this.#misses;
  }

  /** Takes in why another thread could not read some of the files. */
  addMisses(misses: ReadonlyMap<number, Miss>): void {
    for (const [index, miss] of misses) this.#misses.set(index, miss);
  }

  share(): SharedReadingList {
    return {
      count: this.#count,
      columns: this.#columns().map((column) =>
        column.share(column === this.#found ? this.#count * this.probes.length : this.#count),
      ),
      allowed: this.#allowed,
      misses: this.#misses,
      probes: this.probes,
      // Made by `begin` and above.
      kept: this.#kept.buffer as unknown as SharedArrayBuffer,
      cursor: this.#cursor.buffer,
      spare: this.#spare.memory,
      spareKept: this.#spareKept.memory,
    };
  }

  static of(shared: SharedReadingList): ReadingList {
    const list = new ReadingList(shared.probes);
    list.#count = shared.count;
    for (const [index, column] of list.#columns().entries())
      column.adopt(shared.columns[index] ?? []);
    for (const [index, allowed] of shared.allowed) list.#allowed.set(index, allowed);
    list.addMisses(shared.misses);
    list.#kept = Buffer.from(shared.kept);
    list.#cursor = new Int32Array(shared.cursor);
    list.#spare = new SharedBudget(shared.spare);
    list.#spareKept = new SharedBudget(shared.spareKept);
    return list;
  }

  #columns() {
    return [
      this.#nodes,
      this.#keptFrom,
      this.#keepBytes,
      this.#probed,
      this.#states,
      this.#found,
    ] as const;
  }
}
