import { wordsColumn } from "./column.ts";
import type { Node } from "./manifest.ts";

const BLOCK_BYTES = 1 << 20;

/** Kept contents of files, end to end: as one buffer each, a million small files would cost more than 300 MB. */
export class PriorContents {
  readonly #blocks: Buffer[] = [];
  #used = BLOCK_BYTES;
  #end = 0;
  /** The block of a node's content, counted from 1; 0 where none was kept. */
  readonly #places = wordsColumn();
  readonly #offsets = wordsColumn();
  readonly #lengths = wordsColumn();

  add(node: Node, content: Uint8Array): void {
    const block = this.#blockFor(content.length);
    block.set(content, this.#used);
    this.#places.set(node, this.#blocks.length);
    this.#offsets.set(node, this.#used);
    this.#lengths.set(node, content.length);
    this.#used += content.length;
    this.#end = Math.max(this.#end, node + 1);
  }

  get(node: Node): Buffer | undefined {
    const from = this.#offsets.get(node);
    return this.#blocks[this.#places.get(node) - 1]?.subarray(from, from + this.#lengths.get(node));
  }

  /** In the order of the nodes. */
  *[Symbol.iterator](): Generator<readonly [Node, Buffer]> {
    for (let node = 0; node < this.#end; node += 1) {
      const content = this.get(node);
      if (content !== undefined) yield [node, content];
    }
  }

  #blockFor(length: number): Buffer {
    const last = this.#blocks.at(-1);
    if (last !== undefined && this.#used + length <= last.length) return last;
    const block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, length));
    this.#blocks.push(block);
    this.#used = 0;
    return block;
  }
}
