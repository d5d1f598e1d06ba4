import { wordsColumn, type SharedColumn } from "./column.ts";
import type { ByteName } from "./name.ts";

const CHUNK_BITS = 18;
const CHUNK_BYTES = 1 << CHUNK_BITS;

export interface SharedNames {
  readonly ends: SharedColumn;
  readonly chunks: SharedColumn;
  readonly usedBytes: number;
}

/** The names of all entries, end to end, in chunks of shared memory. */
export class NameColumn {
  readonly #ends = wordsColumn();
  readonly #chunks: Buffer[] = [];
  #used = 0;

  get(index: number): ByteName {
    const from = index === 0 ? 0 : this.#ends.get(index - 1);
    const to = this.#ends.get(index);
    const chunk = this.#chunks[from >> CHUNK_BITS];
    const start = from & (CHUNK_BYTES - 1);
    if (start + to - from <= CHUNK_BYTES)
      return chunk?.toString("latin1", start, start + to - from) ?? "";
    const next = this.#chunks[(from >> CHUNK_BITS) + 1];
    const rest = start + to - from - CHUNK_BYTES;
    return `${chunk?.toString("latin1", start) ?? ""}${next?.toString("latin1", 0, rest) ?? ""}`;
  }

  /** Names are added in the order of their indexes. */
  add(index: number, name: ByteName): void {
    const start = this.#used & (CHUNK_BYTES - 1);
    const written = this.#chunk(this.#used).write(name, start, "latin1");
    this.#used += written;
    if (written < name.length)
      this.#used += this.#chunk(this.#used).write(name.slice(written), 0, "latin1");
    this.#ends.set(index, this.#used);
  }

  get usedBytes(): number {
    return this.#used;
  }

  *bytes(count: number): Generator<Uint8Array> {
    yield* this.#ends.bytes(count);
    yield* this.#pieces();
  }

  /** Copies stored names in. Returns how many bytes were used; throws "RangeError" where there are too few. */
  fill(count: number, usedBytes: number, body: Buffer): number {
    let at = this.#ends.fill(count, body);
    if (at + usedBytes > body.length) throw new RangeError("the stored names were cut");
    this.#used = usedBytes;
    for (const piece of this.#pieces()) at += body.copy(piece, 0, at);
    return at;
  }

  share(count: number): SharedNames {
    // Made by `#chunk`.
    const chunks = this.#chunks.map(({ buffer }) => buffer as unknown as SharedArrayBuffer);
    return { ends: this.#ends.share(count), chunks, usedBytes: this.#used };
  }

  adopt({ ends, chunks, usedBytes }: SharedNames): void {
    this.#ends.adopt(ends);
    this.#chunks.push(...chunks.map((memory) => Buffer.from(memory)));
    this.#used = usedBytes;
  }

  *#pieces(): Generator<Buffer> {
    for (let from = 0; from < this.#used; from += CHUNK_BYTES)
      yield this.#chunk(from).subarray(0, Math.min(CHUNK_BYTES, this.#used - from));
  }

  #chunk(at: number): Buffer {
    return (this.#chunks[at >> CHUNK_BITS] ??= Buffer.from(new SharedArrayBuffer(CHUNK_BYTES)));
  }
}
