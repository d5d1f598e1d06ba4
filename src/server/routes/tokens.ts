import { z } from "zod";
import type { Database } from "../../store/database.ts";
import { ListedToken, SCOPES, createToken, listTokens, revokeToken } from "../auth.ts";
import { Refusal } from "../problem.ts";
import { NOTHING, route, jsonBody, type Route } from "../route.ts";

const MAX_BODY_BYTES = 10_000;
const MAX_DAYS = 3_650;

const OneToken = z.object({ id: z.uuid() });
const TokenRequest = z.strictObject({
  label: z.string().min(1).max(200),
  scopes: z.array(z.enum(SCOPES)).min(1),
  expiresInDays: z.int().min(1).max(MAX_DAYS).optional(),
});

/** The tokens of a project: made, listed and revoked by whoever may see to the project. A new one is told once. */
export function tokenRoutes(database: Database): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/tokens",
      scope: "admin",
      summary: "The tokens of the project, never the tokens themselves.",
      params: NOTHING,
      query: NOTHING,
      headers: NOTHING,
      answers: {
        200: { description: "All tokens.", schema: z.object({ tokens: z.array(ListedToken) }) },
      },
      async handle({ access }) {
        return Response.json({ tokens: await listTokens(database, access.project) });
      },
    }),
    route({
      method: "POST",
      path: "/v1/tokens",
      scope: "admin",
      summary: "Makes a token. The answer is the only place where it is ever told.",
      params: NOTHING,
      query: NOTHING,
      headers: NOTHING,
      body: { mediaType: "application/json", maxBytes: MAX_BODY_BYTES, schema: TokenRequest },
      answers: {
        201: {
          description: "The new token.",
          schema: z.object({ id: z.uuid(), token: z.string() }),
        },
      },
      async handle({ access, body }) {
        const asked = await jsonBody(TokenRequest, body);
        const made = await createToken(database, { project: access.project, ...asked });
        return Response.json(made, { status: 201 });
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/tokens/{id}",
      scope: "admin",
      summary: "Ends a token.",
      params: OneToken,
      query: NOTHING,
      headers: NOTHING,
      answers: { 204: { description: "It holds no longer." } },
      refusals: ["not_found"],
      async handle({ access, params }) {
        const ended = await revokeToken(database, access.project, params.id);
        if (!ended) throw new Refusal("not_found", "no token of this project has this id");
        return new Response(null, { status: 204 });
      },
    }),
  ];
}
