import { parentPort, workerData, type MessagePort } from "node:worker_threads";
import { isUpheldError } from "../../core/errors.ts";
import { Aborted, Meter } from "./meter.ts";
import type { Order, Report, WorkerRoot } from "./protocol.ts";
import type { HelpOrder } from "./second-thread.ts";
import { TaskRunner } from "./task-runner.ts";

const port = parentPort;
if (port !== null) {
  // Given by the source that starts this thread.
  const runner = new TaskRunner(workerData as WorkerRoot);
  port.on("message", (order: Order) => {
    port.postMessage(
      carryOut(runner, order, (report, transfer) => {
        port.postMessage(report, transfer);
      }),
    );
  });
}

function carryOut(
  runner: TaskRunner,
  { id, task, stop }: Order,
  report: (report: Report, transfer?: readonly MessagePort[]) => void,
): Report {
  const meter = new Meter(new Int32Array(stop), (touched) => {
    report({ id, kind: "progress", touched });
  });
  const askForHelp = (help: HelpOrder): void => {
    report({ id, kind: "help", order: help }, [help.port]);
  };
  try {
    return { id, kind: "result", result: runner.perform(task, meter, askForHelp) };
  } catch (error) {
    if (error instanceof Aborted) return { id, kind: "aborted", touched: meter.touched };
    const message =
      error instanceof Error
        ? isUpheldError(error)
          ? error.message
          : (error.stack ?? error.message)
        : String(error);
    return { id, kind: "failed", code: isUpheldError(error) ? error.code : "internal", message };
  }
}
