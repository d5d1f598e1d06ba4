/** What an acquisition touched. The figures stand in its evidence, and tests hold them against the limits. */
export interface Touched {
  listed: number;
  readBytes: number;
  opened: number;
}

/** Thrown inside the worker at the first entry or chunk after the caller gave up. */
export class Aborted extends Error {
  constructor() {
    super("aborted");
    this.name = "Aborted";
  }
}

/** Counts what is touched and stops when told to: asked at each entry and each chunk. */
export class Meter {
  readonly touched: Touched = { listed: 0, readBytes: 0, opened: 0 };
  readonly #stop: Int32Array;
  readonly #report: ((touched: Touched) => void) | undefined;
  #until = 0;

  /** `stop` becomes non-zero when the work is to end. `report` is told the figures now and then. */
  constructor(stop: Int32Array, report?: (touched: Touched) => void) {
    this.#stop = stop;
    this.#report = report;
  }

  /** Before each unit of work. Throws `Aborted`. */
  tick(): void {
    if (Atomics.load(this.#stop, 0) !== 0) throw new Aborted();
    if (this.#report === undefined) return;
    this.#until += 1;
    if (this.#until < 4096) return;
    this.#until = 0;
    this.#report(this.touched);
  }

  listed(): void {
    this.tick();
    this.touched.listed += 1;
  }

  opened(): void {
    this.touched.opened += 1;
  }

  read(bytes: number): void {
    this.touched.readBytes += bytes;
    this.tick();
  }
}

/** An amount that can be used up. Meeting it exactly is not exceeding it. */
export class Budget {
  #left: number;

  constructor(amount: number) {
    this.#left = amount;
  }

  get left(): number {
    return this.#left;
  }

  spend(amount: number): void {
    this.#left -= amount;
  }

  /** Takes the amount if it is there. */
  take(amount: number): boolean {
    if (amount > this.#left) return false;
    this.#left -= amount;
    return true;
  }
}
