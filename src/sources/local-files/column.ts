/** How many values a block holds. Blocks keep a growing column from being copied. */
const BLOCK_BITS = 15;
const BLOCK = 1 << BLOCK_BITS;
const MASK = BLOCK - 1;

type NumberArray = Uint8Array | Uint16Array | Uint32Array | Float64Array;
type Memory = SharedArrayBuffer;
type Over<A> = (memory: Memory) => A;

/** The memory of a column, which several threads may look at. */
export type SharedColumn = readonly Memory[];

/** Blocks of equal length in shared memory, made when they are first needed. */
class Blocks<A extends NumberArray | BigInt64Array> {
  readonly #width: number;
  readonly #over: Over<A>;
  readonly list: A[] = [];

  /** `width` is how many bytes a value has, `over` makes an array over a block's memory. */
  constructor(width: number, over: Over<A>) {
    this.#width = width;
    this.#over = over;
  }

  /** The block of an index, for writing. */
  at(index: number): A {
    return (this.list[index >> BLOCK_BITS] ??= this.#make());
  }

  /** The blocks' bytes, in order, for hashing and storing. */
  *bytes(count: number): Generator<Uint8Array> {
    for (let from = 0; from < count; from += BLOCK)
      yield new Uint8Array(this.at(from).buffer, 0, Math.min(BLOCK, count - from) * this.#width);
  }

  /** Copies stored bytes in. Returns how many were used; throws "RangeError" where there are too few. */
  fill(count: number, body: Buffer): number {
    let at = 0;
    for (const block of this.bytes(count)) {
      if (at + block.length > body.length) throw new RangeError("a stored column was cut");
      block.set(body.subarray(at, at + block.length));
      at += block.length;
    }
    return at;
  }

  /** All memory up to a count. What is written there later is seen by every thread. */
  share(count: number): SharedColumn {
    const shared: Memory[] = [];
    // Made by `#make`.
    for (let from = 0; from < count; from += BLOCK) shared.push(this.at(from).buffer as Memory);
    return shared;
  }

  adopt(shared: SharedColumn): void {
    for (const [index, memory] of shared.entries()) this.list[index] = this.#over(memory);
  }

  #make(): A {
    return this.#over(new SharedArrayBuffer(BLOCK * this.#width));
  }
}

/** A growing list of numbers of one width. Absent values read as 0. */
export class NumberColumn {
  readonly #blocks: Blocks<NumberArray>;

  constructor(width: number, over: Over<NumberArray>) {
    this.#blocks = new Blocks(width, over);
  }

  get(index: number): number {
    return this.#blocks.list[index >> BLOCK_BITS]?.[index & MASK] ?? 0;
  }

  set(index: number, value: number): void {
    this.#blocks.at(index)[index & MASK] = value;
  }

  bytes(count: number): Iterable<Uint8Array> {
    return this.#blocks.bytes(count);
  }

  fill(count: number, body: Buffer): number {
    return this.#blocks.fill(count, body);
  }

  share(count: number): SharedColumn {
    return this.#blocks.share(count);
  }

  adopt(shared: SharedColumn): void {
    this.#blocks.adopt(shared);
  }
}

export const bytesColumn = (): NumberColumn =>
  new NumberColumn(1, (memory) => new Uint8Array(memory));
export const shortsColumn = (): NumberColumn =>
  new NumberColumn(2, (memory) => new Uint16Array(memory));
export const wordsColumn = (): NumberColumn =>
  new NumberColumn(4, (memory) => new Uint32Array(memory));
export const floatsColumn = (): NumberColumn =>
  new NumberColumn(8, (memory) => new Float64Array(memory));

/** A growing list of 64-bit values: identities and times in nanoseconds. */
export class BigColumn {
  readonly #blocks = new Blocks(8, (memory) => new BigInt64Array(memory));

  get(index: number): bigint {
    return this.#blocks.list[index >> BLOCK_BITS]?.[index & MASK] ?? 0n;
  }

  set(index: number, value: bigint): void {
    this.#blocks.at(index)[index & MASK] = value;
  }

  bytes(count: number): Iterable<Uint8Array> {
    return this.#blocks.bytes(count);
  }

  fill(count: number, body: Buffer): number {
    return this.#blocks.fill(count, body);
  }

  share(count: number): SharedColumn {
    return this.#blocks.share(count);
  }

  adopt(shared: SharedColumn): void {
    this.#blocks.adopt(shared);
  }
}

const DIGEST_BYTES = 32;

/** A growing list of SHA-256 digests. */
export class DigestColumn {
  readonly #blocks = new Blocks(DIGEST_BYTES, (memory) => Buffer.from(memory));

  get(index: number): Buffer | undefined {
    const from = (index & MASK) * DIGEST_BYTES;
    return this.#blocks.list[index >> BLOCK_BITS]?.subarray(from, from + DIGEST_BYTES);
  }

  setHex(index: number, hex: string): void {
    this.#blocks.at(index).write(hex, (index & MASK) * DIGEST_BYTES, DIGEST_BYTES, "hex");
  }

  bytes(count: number): Iterable<Uint8Array> {
    return this.#blocks.bytes(count);
  }

  fill(count: number, body: Buffer): number {
    return this.#blocks.fill(count, body);
  }

  share(count: number): SharedColumn {
    return this.#blocks.share(count);
  }

  adopt(shared: SharedColumn): void {
    this.#blocks.adopt(shared);
  }
}
