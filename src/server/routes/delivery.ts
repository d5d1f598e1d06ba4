import { z } from "zod";
import { announcedArtifact } from "../../evidence/announced-artifact.ts";
import { ARTIFACT_HEADERS, DeliveryReceived } from "../../evidence/delivery-answers.ts";
import { MAX_RECEIPT_BYTES, Receipt } from "../../evidence/receipt.ts";
import { refused, takeArtifact, type ArtifactShelf } from "../artifacts.ts";
import type { Metrics } from "../metrics.ts";
import { takeReceipt } from "../receipts.ts";
import { Hex, NOTHING, receivedResponse, route, wholeBody, type Route } from "../route.ts";

/** Absent ones are told of by their own code, so each is optional here. */
const ArtifactHeaders = z.looseObject(
  Object.fromEntries(
    Object.values(ARTIFACT_HEADERS).map((header) => [header, z.string().optional()]),
  ),
);

const ANSWERS = {
  200: { description: "It was here; nothing was done.", schema: DeliveryReceived },
  201: { description: "It was new, and is kept.", schema: DeliveryReceived },
};

/** What is delivered: artifacts, then the receipts that name them. */
export function deliveryRoutes(shelf: ArtifactShelf, metrics: Metrics): readonly Route[] {
  return [
    route({
      method: "PUT",
      path: "/v1/artifacts/{hex}",
      scope: "ingest",
      summary: "Delivers an artifact under the SHA-256 of its bytes.",
      params: Hex,
      query: NOTHING,
      headers: ArtifactHeaders,
      body: {
        mediaType: "application/octet-stream",
        maxBytes: shelf.policy.maxArtifactBytes,
        beyond: "artifact_too_large",
      },
      answers: ANSWERS,
      refusals: [
        "header_invalid",
        "artifact_conflict",
        "attempt_superseded",
        "artifact_too_large",
        "budget_spent",
        "hard_cap_reached",
        "kind_unknown",
        "level_forbids",
        "digest_mismatch",
        "origin_mismatch",
      ],
      async handle({ access, params, headers, body }) {
        const announced = announcedArtifact(headers, params.hex);
        if (announced === null) throw refused("header_invalid");
        const taking = takeArtifact(shelf, access.project, announced, body);
        return receivedResponse(await metrics.counted("artifact", taking));
      },
    }),
    route({
      method: "POST",
      path: "/v1/receipts",
      scope: "ingest",
      summary: "Delivers a receipt, after the evidence that it names.",
      params: NOTHING,
      query: NOTHING,
      headers: NOTHING,
      body: {
        mediaType: "application/json",
        maxBytes: MAX_RECEIPT_BYTES,
        beyond: "receipt_too_large",
        schema: Receipt,
      },
      answers: ANSWERS,
      refusals: [
        "receipt_conflict",
        "attempt_superseded",
        "receipt_too_large",
        "receipt_invalid",
        "evidence_missing",
      ],
      async handle({ access, body }) {
        const bytes = await wholeBody(body);
        const taking = takeReceipt(shelf.statements, access.project, bytes);
        return receivedResponse(await metrics.counted("receipt", taking));
      },
    }),
  ];
}
