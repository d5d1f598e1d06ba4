import { z } from "zod";
import { Digest } from "../../core/ids.ts";
import { DeliveryReceived } from "../../evidence/delivery-answers.ts";
import { Judgment } from "../../judge/judgment.ts";
import type { Statements } from "../../store/database.ts";
import { addJudgment, judgmentsOf } from "../judgments.ts";
import type { Metrics } from "../metrics.ts";
import { Hex, NOTHING, jsonBody, receivedResponse, route, type Route } from "../route.ts";

const MAX_JUDGMENT_BYTES = 1024 * 1024;

const JudgmentList = z.object({ judgments: z.array(Judgment), total: z.int() });

/** Judgments over bundles that were delivered: appended and looked at, never changed. */
export function judgmentRoutes(statements: Statements, metrics: Metrics): readonly Route[] {
  return [
    route({
      method: "POST",
      path: "/v1/judgments",
      scope: "judge",
      summary: "Appends a judgment over a bundle that was delivered.",
      params: NOTHING,
      query: NOTHING,
      headers: NOTHING,
      body: { mediaType: "application/json", maxBytes: MAX_JUDGMENT_BYTES, schema: Judgment },
      answers: {
        200: { description: "It was here; nothing was done.", schema: DeliveryReceived },
        201: { description: "It was new, and is kept.", schema: DeliveryReceived },
      },
      refusals: ["not_found", "judgment_conflict"],
      async handle({ access, body }) {
        const judgment = await jsonBody(Judgment, body);
        const adding = addJudgment(statements, access.project, judgment);
        return receivedResponse(await metrics.counted("judgment", adding));
      },
    }),
    route({
      method: "GET",
      path: "/v1/bundles/{hex}/judgments",
      scope: "read",
      summary: "The judgments over a bundle, oldest first.",
      params: Hex,
      query: NOTHING,
      headers: NOTHING,
      answers: { 200: { description: "The judgments.", schema: JudgmentList } },
      async handle({ access, params }) {
        const bundle = Digest.parse(`sha256:${params.hex}`);
        return Response.json(await judgmentsOf(statements, access.project, bundle));
      },
    }),
  ];
}
