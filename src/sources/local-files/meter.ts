/** What an acquisition touched. The figures stand in its evidence, and tests hold them against the limits. */
export interface Touched {
  readonly listed: number;
  readonly readBytes: number;
  readonly opened: number;
}

/** Thrown inside a worker at the first entry or chunk after the caller gave up. */
export class Aborted extends Error {
  constructor() {
    super("aborted");
    this.name = "Aborted";
  }
}

/** What the threads of one acquisition have in common: the flag that stops them, and what each of them touched. */
export interface SharedMeter {
  readonly stop: SharedArrayBuffer;
  readonly counts: SharedArrayBuffer;
}

const LISTED = 0;
const READ_BYTES = 1;
const OPENED = 2;
const COUNTS = 3;

/** Counts what is touched and stops when told to: asked at each entry and each chunk. */
export class Meter {
  readonly #stop: Int32Array;
  readonly #report: ((touched: Touched) => void) | undefined;
  /** Written by this thread alone. */
  readonly #own: Float64Array;
  /** Those of the threads that help. */
  readonly #others: Float64Array[] = [];
  #until = 0;

  /** `stop` becomes non-zero when the work is to end. `report` is told the figures now and then. */
  constructor(
    stop: Int32Array,
    report?: (touched: Touched) => void,
    counts: Float64Array = new Float64Array(COUNTS),
  ) {
    this.#stop = stop;
    this.#report = report;
    this.#own = counts;
  }

  /** The meter of a thread that helps. */
  static of({ stop, counts }: SharedMeter): Meter {
    return new Meter(new Int32Array(stop), undefined, new Float64Array(counts));
  }

  /** Takes in what a thread that helps will touch. Undefined where the flag is of this thread alone. */
  share(): SharedMeter | undefined {
    const stop = this.#stop.buffer;
    if (!(stop instanceof SharedArrayBuffer)) return undefined;
    const counts = new SharedArrayBuffer(COUNTS * Float64Array.BYTES_PER_ELEMENT);
    this.#others.push(new Float64Array(counts));
    return { stop, counts };
  }

  /** By all threads; exact once those that help have ended. */
  get touched(): Touched {
    const sum = (at: number): number =>
      this.#others.reduce((total, counts) => total + (counts[at] ?? 0), this.#own[at] ?? 0);
    return { listed: sum(LISTED), readBytes: sum(READ_BYTES), opened: sum(OPENED) };
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
    this.#add(LISTED, 1);
  }

  opened(): void {
    this.#add(OPENED, 1);
  }

  read(bytes: number): void {
    this.#add(READ_BYTES, bytes);
    this.tick();
  }

  #add(at: number, amount: number): void {
    this.#own[at] = (this.#own[at] ?? 0) + amount;
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

  /** Takes the amount if it is there. */
  take(amount: number): boolean {
    if (amount > this.#left) return false;
    this.#left -= amount;
    return true;
  }
}

/** An amount that several threads use up together, never more than it was. */
export class SharedBudget {
  readonly memory: SharedArrayBuffer;
  readonly #left: BigInt64Array;

  constructor(memory: SharedArrayBuffer) {
    this.memory = memory;
    this.#left = new BigInt64Array(memory);
  }

  static of(amount: number): SharedBudget {
    const budget = new SharedBudget(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT));
    budget.giveBack(Math.max(0, Math.min(amount, Number.MAX_SAFE_INTEGER)));
    return budget;
  }

  get left(): number {
    return Number(Atomics.load(this.#left, 0));
  }

  /** Takes as much of the amount as is there. */
  takeUpTo(amount: number): number {
    const wanted = BigInt(Math.max(0, amount));
    for (;;) {
      const left = Atomics.load(this.#left, 0);
      const taken = left < wanted ? left : wanted;
      if (taken === 0n) return 0;
      if (Atomics.compareExchange(this.#left, 0, left, left - taken) === left) return Number(taken);
    }
  }

  giveBack(amount: number): void {
    if (amount > 0) Atomics.add(this.#left, 0, BigInt(amount));
  }
}
