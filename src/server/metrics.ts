import { Counter, Histogram, Registry, collectDefaultMetrics } from "prom-client";
import { Refusal } from "./problem.ts";

/** What the collector counts, as Prometheus reads it. */
export interface Metrics {
  /** Notes that a request has begun; call the answer with its status once it is answered. */
  started(method: string, path: string): (status: number) => void;
  /** Counts something that is taken in by what becomes of it, once that is known. */
  counted<T extends { readonly taken: string }>(
    what: "artifact" | "receipt" | "judgment",
    taking: Promise<T>,
  ): Promise<T>;
  text(): Promise<string>;
  readonly mediaType: string;
}

export function collectorMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: "upheld_request_duration_seconds",
    help: "Time to answer a request, by route and status.",
    labelNames: ["method", "path", "status"],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry],
  });
  const taken = new Counter({
    name: "upheld_taken_total",
    help: "Artifacts, receipts and judgments that arrived, by what became of them.",
    labelNames: ["what", "outcome"],
    registers: [registry],
  });
  return {
    started(method, path) {
      const end = requests.startTimer({ method, path });
      return (status) => {
        end({ status: String(status) });
      };
    },
    async counted(what, taking) {
      try {
        const done = await taking;
        taken.inc({ what, outcome: done.taken });
        return done;
      } catch (error) {
        taken.inc({ what, outcome: error instanceof Refusal ? error.code : "failed" });
        throw error;
      }
    },
    text: () => registry.metrics(),
    mediaType: registry.contentType,
  };
}
