/**
 * Shares out an amount among sizes, the smallest first, so that one large piece cannot take it from the rest; the first that
 * does not fit gets what is left. Depends only on the sizes and on the order in which it is asked.
 */
export class SmallestFirst {
  /** Everything smaller fits. */
  readonly #edge: number;
  /** What is left for pieces of exactly this size. */
  #left: number;

  /** Sorts the sizes where they are: of a million files a copy is 8 MB. */
  constructor(sizes: Float64Array, amount: number) {
    let left = amount;
    let smaller = amount;
    let edge = Number.POSITIVE_INFINITY;
    let previous = -1;
    // oxlint-disable-next-line unicorn/no-array-sort -- said above
    for (const size of sizes.sort()) {
      if (size !== previous) smaller = left;
      previous = size;
      left -= size;
      if (left < 0) {
        edge = size;
        break;
      }
    }
    this.#edge = edge;
    this.#left = edge === Number.POSITIVE_INFINITY ? left : smaller;
  }

  /** The share of a piece of this size; asked once for each. */
  share(size: number): number {
    if (size < this.#edge) return size;
    if (size > this.#edge) return 0;
    const share = Math.min(size, this.#left);
    this.#left -= share;
    return share;
  }
}
