import { Worker } from "node:worker_threads";
import { UpheldError } from "../../../core/errors.ts";
import type { SqliteResult, SqliteTask } from "./worker.ts";

/** Rejects with the signal's reason at once; the thread and its statement are ended. */
export function inThread(task: SqliteTask, signal: AbortSignal | undefined): Promise<SqliteResult> {
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const worker = new Worker(workerUrl(), { workerData: task, name: "upheld sqlite" });
    const abort = (): void => {
      void worker.terminate();
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", abort, { once: true });
    worker.once("message", resolve);
    worker.once("error", (cause) => {
      reject(new UpheldError("internal", "the thread of the SQLite source broke", { cause }));
    });
    worker.once("exit", () => {
      signal?.removeEventListener("abort", abort);
      reject(new UpheldError("internal", "the thread of the SQLite source ended early"));
    });
  });
}

/** From the sources, as tests run them, the built thread is taken. */
function workerUrl(): URL {
  const here = import.meta.url;
  return here.endsWith(".ts")
    ? new URL("../../../../dist/sources/sql/sqlite/worker.js", here)
    : new URL("worker.js", here);
}
