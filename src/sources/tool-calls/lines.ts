const NEWLINE = 0x0a;

/**
 * Splits bytes into lines as they come. Of a line beyond the limit only the head is kept, and `isCut` is true. What the
 * callback gets is valid only during the call.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  readonly #onLine: (line: Uint8Array, isCut: boolean) => void;
  #pieces: Uint8Array[] = [];
  #size = 0;

  constructor(maxBytes: number, onLine: (line: Uint8Array, isCut: boolean) => void) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
  }

  push(chunk: Uint8Array): void {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      this.#finish(chunk.subarray(from, at));
      from = at + 1;
    }
    if (from < chunk.length) this.#hold(chunk.subarray(from));
  }

  /** What stands after the last line break is a line too. */
  end(): void {
    if (this.#size > 0) this.#finish(new Uint8Array());
  }

  #finish(rest: Uint8Array): void {
    if (this.#size === 0 && rest.length <= this.#maxBytes) {
      this.#onLine(rest, false);
      return;
    }
    this.#hold(rest);
    const isCut = this.#size > this.#maxBytes;
    this.#onLine(Buffer.concat(this.#pieces), isCut);
    this.#pieces = [];
    this.#size = 0;
  }

  #hold(piece: Uint8Array): void {
    const room = this.#maxBytes - this.#size;
    // The chunk's memory is used again by whoever gave it.
    if (room > 0) this.#pieces.push(new Uint8Array(piece.subarray(0, room)));
    this.#size += piece.length;
  }
}
