import { z } from "zod";
import type { Received } from "./artifacts.ts";
import type { Access, Scope } from "./auth.ts";
import { isUpheldError } from "../core/errors.ts";
import { parseStrictJsonBytes } from "../core/strict-json.ts";
import { Refusal, type ProblemCode } from "./problem.ts";

/** The parts of a request that a route names, read and of the stated form. */
export interface RouteRequest<Params, Query, Headers> {
  readonly access: Access;
  readonly params: Params;
  readonly query: Query;
  readonly headers: Headers;
  readonly signal: AbortSignal;
  /** The bytes of the body as they come, counted and bounded; an empty stream where there is none. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** What a route takes as its body: bytes as they are, or JSON that the route reads from its bytes. */
export interface RouteBody {
  readonly mediaType: string;
  readonly maxBytes: number;
  /** The refusal of a larger one. Default "too_large". */
  readonly beyond?: ProblemCode;
  readonly schema?: z.ZodType;
}

/** An answer of a route, by its status. */
export interface RouteAnswer {
  readonly description: string;
  readonly mediaType?: string;
  readonly schema?: z.ZodType;
}

interface RouteShape {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  /** As OpenAPI writes it, "/v1/runs/{id}". It names no project: that is the token's, always. */
  readonly path: `/${string}`;
  /** What a token has to allow; "anyone" needs none. */
  readonly scope: Scope | "anyone";
  readonly summary: string;
  readonly body?: RouteBody;
  readonly answers: Readonly<Record<number, RouteAnswer>>;
  /** What it refuses, besides what every route does. */
  readonly refusals?: readonly ProblemCode[];
}

/** A route with what the handler wants parsed. */
export interface RouteDefinition<
  P extends z.ZodType,
  Q extends z.ZodType,
  H extends z.ZodType,
> extends RouteShape {
  readonly params: P;
  readonly query: Q;
  /** Names in lower case. */
  readonly headers: H;
  handle(request: RouteRequest<z.infer<P>, z.infer<Q>, z.infer<H>>): Promise<Response>;
}

/** A route as the application and the OpenAPI document see it. */
export interface Route extends RouteShape {
  readonly params: z.ZodType;
  readonly query: z.ZodType;
  readonly headers: z.ZodType;
  handle(request: RouteRequest<unknown, unknown, unknown>): Promise<Response>;
}

/** Makes a route; what its handler gets has passed its schemas. */
export function route<P extends z.ZodType, Q extends z.ZodType, H extends z.ZodType>(
  definition: RouteDefinition<P, Q, H>,
): Route {
  return {
    ...definition,
    handle: (request) =>
      definition.handle({
        ...request,
        params: definition.params.parse(request.params),
        query: definition.query.parse(request.query),
        headers: definition.headers.parse(request.headers),
      }),
  };
}

/** All bytes of a bounded body. */
export async function wholeBody(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A JSON body of the stated form. Throws the refusal "request_invalid" where it is another. */
export async function jsonBody<S extends z.ZodType>(
  schema: S,
  body: AsyncIterable<Uint8Array>,
): Promise<z.infer<S>> {
  const bytes = await wholeBody(body);
  try {
    return schema.parse(parseStrictJsonBytes(bytes));
  } catch (error) {
    if (isUpheldError(error)) throw new Refusal("request_invalid", error.message);
    throw error;
  }
}

/** For a route that reads no parameters, no query or no headers. */
export const NOTHING = z.object({});

/** For a route that names something by the hex digits of its digest. */
export const Hex = z.object({ hex: z.string().regex(/^[0-9a-f]{64}$/, "expected 64 hex digits") });

/** The answer to something that was taken in: 201 where it was new, 200 where it was here. */
export function receivedResponse({ taken, digest }: Received): Response {
  return Response.json({ status: taken, digest }, { status: taken === "stored" ? 201 : 200 });
}
