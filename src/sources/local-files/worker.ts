import { parentPort, workerData } from "node:worker_threads";
import { isUpheldError } from "../../core/errors.ts";
import { Aborted, Meter } from "./meter.ts";
import type { Order, Report, WorkerRoot } from "./protocol.ts";
import { LocalFileService } from "./service.ts";

const port = parentPort;
if (port !== null) {
  // Given by the source that starts this thread.
  const service = new LocalFileService(workerData as WorkerRoot);
  port.on("message", (order: Order) => {
    port.postMessage(
      carryOut(service, order, (report) => {
        port.postMessage(report);
      }),
    );
  });
}

function carryOut(
  service: LocalFileService,
  { id, task, stop }: Order,
  report: (report: Report) => void,
): Report {
  const meter = new Meter(new Int32Array(stop), (touched) => {
    report({ id, kind: "progress", touched: { ...touched } });
  });
  try {
    return { id, kind: "result", result: service.perform(task, meter) };
  } catch (error) {
    if (error instanceof Aborted) return { id, kind: "aborted", touched: { ...meter.touched } };
    const message =
      error instanceof Error
        ? isUpheldError(error)
          ? error.message
          : (error.stack ?? error.message)
        : String(error);
    return { id, kind: "failed", code: isUpheldError(error) ? error.code : "internal", message };
  }
}
