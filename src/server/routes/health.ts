import { z } from "zod";
import type { Statements } from "../../store/database.ts";
import type { Metrics } from "../metrics.ts";
import { Refusal } from "../problem.ts";
import { NOTHING, route, type Route } from "../route.ts";

const State = z.object({ state: z.string() });

/** Whether the process answers, whether it can do its work, and what it counted. */
export function healthRoutes(statements: Statements, metrics: Metrics): readonly Route[] {
  const plain = { params: NOTHING, query: NOTHING, headers: NOTHING, scope: "anyone" as const };
  return [
    route({
      ...plain,
      method: "GET",
      path: "/health",
      summary: "Whether the process answers.",
      answers: { 200: { description: "It does.", schema: State } },
      handle: () => Promise.resolve(Response.json({ state: "alive" })),
    }),
    route({
      ...plain,
      method: "GET",
      path: "/ready",
      summary: "Whether the database answers, so that work can be taken in.",
      answers: { 200: { description: "It does.", schema: State } },
      async handle() {
        await statements.query("SELECT 1 AS one").catch((cause: unknown) => {
          throw new Refusal("unavailable", "the database does not answer", {
            retryAfterSeconds: 5,
            cause,
          });
        });
        return Response.json({ state: "ready" });
      },
    }),
    route({
      ...plain,
      method: "GET",
      path: "/metrics",
      summary: "What was counted, as Prometheus reads it.",
      answers: { 200: { description: "The counters.", mediaType: "text/plain" } },
      async handle() {
        const text = await metrics.text();
        return new Response(text, { headers: { "Content-Type": metrics.mediaType } });
      },
    }),
  ];
}
