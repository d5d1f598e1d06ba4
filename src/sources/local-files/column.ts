/** How many values a block holds. Blocks keep a growing column from being copied. */
const BLOCK_BITS = 15;
const BLOCK = 1 << BLOCK_BITS;
const MASK = BLOCK - 1;

type NumberArray = Uint8Array | Uint32Array | Float64Array;

/** Copies stored bytes into blocks one after another. Returns how many were used; throws "RangeError" where there are too few. */
function fillBlocks(blocks: Iterable<Uint8Array>, body: Buffer): number {
  let at = 0;
  for (const block of blocks) {
    if (at + block.length > body.length) throw new RangeError("a stored column was cut");
    block.set(body.subarray(at, at + block.length));
    at += block.length;
  }
  return at;
}

/** A growing list of numbers of one width. Absent values read as 0. */
export class NumberColumn {
  readonly #blocks: NumberArray[] = [];
  readonly #make: (length: number) => NumberArray;

  constructor(make: (length: number) => NumberArray) {
    this.#make = make;
  }

  get(index: number): number {
    return this.#blocks[index >> BLOCK_BITS]?.[index & MASK] ?? 0;
  }

  set(index: number, value: number): void {
    const at = index >> BLOCK_BITS;
    const block = (this.#blocks[at] ??= this.#make(BLOCK));
    block[index & MASK] = value;
  }

  /** The blocks' bytes, in order, for hashing and storing. */
  *bytes(count: number): Generator<Uint8Array> {
    for (let at = 0; at << BLOCK_BITS < count; at += 1) {
      const block = this.#blocks[at] ?? this.#make(BLOCK);
      this.#blocks[at] = block;
      const used = Math.min(BLOCK, count - (at << BLOCK_BITS));
      yield new Uint8Array(block.buffer, block.byteOffset, used * block.BYTES_PER_ELEMENT);
    }
  }

  fill(count: number, body: Buffer): number {
    return fillBlocks(this.bytes(count), body);
  }
}

export const bytesColumn = (): NumberColumn => new NumberColumn((length) => new Uint8Array(length));
export const wordsColumn = (): NumberColumn =>
  new NumberColumn((length) => new Uint32Array(length));
export const floatsColumn = (): NumberColumn =>
  new NumberColumn((length) => new Float64Array(length));

/** A growing list of 64-bit values: identities and times in nanoseconds. */
export class BigColumn {
  readonly #blocks: BigInt64Array[] = [];

  get(index: number): bigint {
    return this.#blocks[index >> BLOCK_BITS]?.[index & MASK] ?? 0n;
  }

  set(index: number, value: bigint): void {
    const at = index >> BLOCK_BITS;
    const block = (this.#blocks[at] ??= new BigInt64Array(BLOCK));
    block[index & MASK] = value;
  }

  *bytes(count: number): Generator<Uint8Array> {
    for (let at = 0; at << BLOCK_BITS < count; at += 1) {
      const block = (this.#blocks[at] ??= new BigInt64Array(BLOCK));
      const used = Math.min(BLOCK, count - (at << BLOCK_BITS));
      yield new Uint8Array(block.buffer, 0, used * 8);
    }
  }

  fill(count: number, body: Buffer): number {
    return fillBlocks(this.bytes(count), body);
  }
}

/** A growing list of SHA-256 digests, 32 bytes each. */
export class DigestColumn {
  readonly #blocks: Buffer[] = [];

  get(index: number): Buffer | undefined {
    const block = this.#blocks[index >> BLOCK_BITS];
    const from = (index & MASK) * 32;
    return block?.subarray(from, from + 32);
  }

  set(index: number, digest: Uint8Array): void {
    const at = index >> BLOCK_BITS;
    const block = (this.#blocks[at] ??= Buffer.alloc(BLOCK * 32));
    block.set(digest, (index & MASK) * 32);
  }

  setHex(index: number, hex: string): void {
    const at = index >> BLOCK_BITS;
    const block = (this.#blocks[at] ??= Buffer.alloc(BLOCK * 32));
    block.write(hex, (index & MASK) * 32, 32, "hex");
  }

  *bytes(count: number): Generator<Uint8Array> {
    for (let at = 0; at << BLOCK_BITS < count; at += 1) {
      const block = (this.#blocks[at] ??= Buffer.alloc(BLOCK * 32));
      yield block.subarray(0, Math.min(BLOCK, count - (at << BLOCK_BITS)) * 32);
    }
  }

  fill(count: number, body: Buffer): number {
    return fillBlocks(this.bytes(count), body);
  }
}

/** The names of all entries, end to end. */
export class NameColumn {
  #bytes = Buffer.allocUnsafe(1 << 16);
  #used = 0;
  readonly #ends = wordsColumn();

  get(index: number): string {
    const from = index === 0 ? 0 : this.#ends.get(index - 1);
    return this.#bytes.toString("latin1", from, this.#ends.get(index));
  }

  /** Names are added in the order of their indexes. */
  add(index: number, name: string): void {
    const end = this.#used + name.length;
    if (end > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(end, Math.ceil(this.#bytes.length * 1.5)));
      this.#bytes.copy(larger, 0, 0, this.#used);
      this.#bytes = larger;
    }
    this.#bytes.write(name, this.#used, "latin1");
    this.#used = end;
    this.#ends.set(index, end);
  }

  *bytes(count: number): Generator<Uint8Array> {
    yield* this.#ends.bytes(count);
    yield this.#bytes.subarray(0, this.#used);
  }

  get usedBytes(): number {
    return this.#used;
  }

  fill(count: number, nameBytes: number, body: Buffer): number {
    const ends = this.#ends.fill(count, body);
    if (ends + nameBytes > body.length) throw new RangeError("the stored names were cut");
    this.#bytes = Buffer.from(body.subarray(ends, ends + nameBytes));
    this.#used = nameBytes;
    return ends + nameBytes;
  }
}
