import { wordsColumn } from "./column.ts";
import type { Node } from "./manifest.ts";

/** Entries of a manifest in the order in which they were added: 4 bytes each, and never copied. */
export class NodeList {
  readonly #nodes = wordsColumn();
  #count = 0;

  add(node: Node): void {
    this.#nodes.set(this.#count, node);
    this.#count += 1;
  }

  *[Symbol.iterator](): Generator<Node, undefined> {
    for (let at = 0; at < this.#count; at += 1) yield this.#nodes.get(at);
    return undefined;
  }
}
