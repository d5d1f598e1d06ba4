import { Worker } from "node:worker_threads";
import { ERROR_CODES, UpheldError, type ErrorCode } from "../../core/errors.ts";
import type { Touched } from "./meter.ts";
import type { Order, Report, Result, Task, WorkerRoot } from "./protocol.ts";
import type { HelpOrder } from "./second-thread.ts";

/** How long an aborted task may take to say that it stopped, before the caller is told anyway. */
const ABORT_GRACE_MS = 40;

/**
 * What a thread allocates is short-lived or in columns outside its heap: more room for the young only makes it touch more memory.
 */
const THREAD_LIMITS = { maxYoungGenerationSizeMb: 12 } as const;

interface Waiting {
  readonly resolve: (result: Result) => void;
  readonly reject: (reason: unknown) => void;
  readonly onProgress: ((touched: Touched) => void) | undefined;
  readonly signal: AbortSignal | undefined;
  /** Threads that read for this task beside the worker. */
  readonly readers: Worker[];
}

export interface PerformOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (touched: Touched) => void;
}

/** Gives tasks to a worker thread, which is started at the first. The process may end while it idles. */
export class WorkerClient {
  readonly #root: WorkerRoot;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  readonly #ending = new Set<Promise<number>>();
  #next = 1;

  constructor(root: WorkerRoot) {
    this.#root = root;
  }

  /** Rejects with the signal's reason within 50 ms of an abort, and with "internal" where the worker breaks. */
  async perform(task: Task, { signal, onProgress }: PerformOptions): Promise<Result> {
    signal?.throwIfAborted();
    const id = this.#next;
    this.#next += 1;
    const stop = new SharedArrayBuffer(4);
    const readers: Worker[] = [];
    let timer: NodeJS.Timeout | undefined;
    const abort = (): void => {
      Atomics.store(new Int32Array(stop), 0, 1);
      timer = setTimeout(() => {
        this.#waiting.get(id)?.reject(signal?.reason);
      }, ABORT_GRACE_MS);
    };
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return await new Promise<Result>((resolve, reject) => {
        this.#waiting.set(id, { resolve, reject, onProgress, signal, readers });
        const order: Order = { id, task, stop };
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
        this.#start().postMessage(order);
      });
    } finally {
      signal?.removeEventListener("abort", abort);
      clearTimeout(timer);
      this.#waiting.delete(id);
      // Mostly they have ended; one that came too late may still be starting.
      for (const reader of readers) this.#end(reader);
      if (this.#waiting.size === 0) this.#worker?.unref();
    }
  }

  #end(reader: Worker): void {
    const ending = reader.terminate();
    this.#ending.add(ending);
    void ending.finally(() => this.#ending.delete(ending));
  }

  /** Ends the threads. */
  async end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
    await Promise.all(this.#ending);
  }

  #start(): Worker {
    const worker = (this.#worker ??= this.#spawn());
    worker.ref();
    return worker;
  }

  #spawn(): Worker {
    const worker = new Worker(threadUrl("worker"), {
      workerData: this.#root,
      resourceLimits: THREAD_LIMITS,
      name: `upheld ${this.#root.name}`,
    });
    worker.on("message", (report: Report) => {
      this.#settle(report);
    });
    worker.on("error", (error) => {
      this.#fail(
        new UpheldError("internal", "the worker of the local file source broke", { cause: error }),
      );
    });
    worker.on("exit", (code) => {
      if (this.#worker === worker) this.#worker = undefined;
      this.#fail(
        new UpheldError("internal", `the worker of the local file source ended with ${code}`),
      );
    });
    return worker;
  }

  /** However it ends, the worker must not wait for it. */
  #spawnReader(order: HelpOrder): Worker {
    const reader = new Worker(threadUrl("second-reader"), {
      workerData: { ...order, directory: this.#root.directory },
      transferList: [order.port],
      resourceLimits: THREAD_LIMITS,
      name: `upheld ${this.#root.name}, helping`,
    });
    const gone = new Int32Array(order.gone);
    const release = (): void => {
      Atomics.store(gone, 0, 1);
    };
    reader.once("error", release);
    reader.once("exit", release);
    return reader;
  }

  #settle(report: Report): void {
    const waiting = this.#waiting.get(report.id);
    if (waiting === undefined) return;
    switch (report.kind) {
      case "progress":
        waiting.onProgress?.(report.touched);
        return;
      case "help":
        waiting.readers.push(this.#spawnReader(report.order));
        return;
      case "result":
        waiting.resolve(report.result);
        return;
      case "aborted":
        waiting.reject(waiting.signal?.reason);
        return;
      case "failed":
        waiting.reject(new UpheldError(codeOf(report.code), report.message));
    }
  }

  #fail(error: UpheldError): void {
    for (const waiting of this.#waiting.values()) waiting.reject(error);
  }
}

function codeOf(text: string): ErrorCode {
  return text in ERROR_CODES ? (text as ErrorCode) : "internal";
}

/** From the sources, as tests run them, the built threads are taken: one cannot be started from TypeScript on every supported Node. */
function threadUrl(name: "worker" | "second-reader"): URL {
  const here = import.meta.url;
  return here.endsWith(".ts")
    ? new URL(`../../../dist/sources/local-files/${name}.js`, here)
    : new URL(`${name}.js`, here);
}
