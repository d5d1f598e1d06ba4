import { BigColumn, wordsColumn, type SharedColumn } from "./column.ts";

/** How many values are given out at a time as bytes. */
const BATCH = 1 << 15;

interface Column<V> {
  get(index: number): V;
  set(index: number, value: V): void;
  bytes(count: number): Iterable<Uint8Array>;
  fill(count: number, body: Buffer): number;
  share(count: number): SharedColumn;
  adopt(shared: SharedColumn): void;
}

/** How values of one width are kept: `apart` is its own inverse, and 0 for two that are the same. */
interface Kind<V> {
  readonly make: () => Column<V>;
  readonly apart: (left: V, right: V) => V;
  readonly zero: V;
}

/** A column on its way to another thread. */
export interface SharedUsual<V> {
  readonly usual: V | undefined;
  readonly memory: SharedColumn;
}

/**
 * A growing list of values that are mostly one, such as the owner of the entries of a tree. The first that is set is the
 * usual one: it is never written, and memory that is not written is not used. What was never set reads as the usual value too.
 */
export class UsualColumn<V> {
  readonly #kind: Kind<V>;
  readonly #column: Column<V>;
  #usual: V | undefined;

  constructor(kind: Kind<V>) {
    this.#kind = kind;
    this.#column = kind.make();
  }

  get(index: number): V {
    const stored = this.#column.get(index);
    const usual = this.#usual ?? this.#kind.zero;
    return stored === this.#kind.zero ? usual : this.#kind.apart(stored, usual);
  }

  set(index: number, value: V): void {
    this.#usual ??= value;
    const stored = this.#kind.apart(value, this.#usual);
    if (this.#column.get(index) !== stored) this.#column.set(index, stored);
  }

  /** The values as they are, whatever the usual one is. What is given out is only good until the next. */
  *bytes(count: number): Generator<Uint8Array> {
    const plain = this.#kind.make();
    for (let from = 0; from < count; from += BATCH) {
      const length = Math.min(BATCH, count - from);
      for (let at = 0; at < length; at += 1) plain.set(at, this.get(from + at));
      yield* plain.bytes(length);
    }
  }

  /** Takes over stored values. Returns how many bytes were used; throws "RangeError" where there are too few. */
  fill(count: number, body: Buffer): number {
    const plain = this.#kind.make();
    const used = plain.fill(count, body);
    for (let at = 0; at < count; at += 1) this.set(at, plain.get(at));
    return used;
  }

  share(count: number): SharedUsual<V> {
    return { usual: this.#usual, memory: this.#column.share(count) };
  }

  adopt({ usual, memory }: SharedUsual<V>): void {
    this.#usual = usual;
    this.#column.adopt(memory);
  }
}

export const usualWords = (): UsualColumn<number> =>
  new UsualColumn({
    make: wordsColumn,
    apart: (left, right) => (left ^ right) >>> 0,
    zero: 0,
  });
export const usualBigs = (): UsualColumn<bigint> =>
  new UsualColumn({
    make: () => new BigColumn(),
    apart: (left, right) => BigInt.asIntN(64, left ^ right),
    zero: 0n,
  });
