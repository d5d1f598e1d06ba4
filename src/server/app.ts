import { Hono, type Context } from "hono";
import { z } from "zod";
import { isUpheldError } from "../core/errors.ts";
import { issuesOf } from "../core/issues.ts";
import type { Statements } from "../store/database.ts";
import { LOCAL_ACCESS, accessOf, type Access } from "./auth.ts";
import type { Metrics } from "./metrics.ts";
import { openApiDocument } from "./openapi.ts";
import { Refusal, problemResponse, type ProblemCode } from "./problem.ts";
import type { RateLimit } from "./rate-limit.ts";
import type { Route } from "./route.ts";

/** What the application needs from the outside. */
export interface AppParts {
  readonly statements: Statements;
  readonly routes: readonly Route[];
  readonly metrics: Metrics;
  readonly rateLimit: RateLimit;
  readonly version: string;
  /** True where only this machine reaches the collector and nobody was given a token: then none is asked for. */
  readonly isOpen: () => boolean;
  /** Told of every failure that is not a refusal; the client is told nothing of it. */
  readonly onFailure: (error: unknown) => void;
}

/** What is delivered may hold anything: no browser guesses what it is, keeps it, or runs it. */
const SAFE_HEADERS = [
  ["X-Content-Type-Options", "nosniff"],
  ["Cache-Control", "no-store"],
  ["Content-Security-Policy", "default-src 'none'; sandbox"],
  ["Referrer-Policy", "no-referrer"],
] as const;

/** The collector as a function from requests to answers. It keeps nothing between two of them. */
export function collectorApp(parts: AppParts): Hono {
  const app = new Hono();
  app.use(async (context, next) => {
    await next();
    for (const [name, value] of SAFE_HEADERS) context.header(name, value);
  });
  const document = openApiDocument(parts.routes, parts.version);
  app.get("/v1/openapi.json", (context) => context.json(document));
  for (const each of parts.routes)
    app.on(each.method, honoPath(each.path), (context) => answer(each, context, parts));
  app.notFound(() => problemResponse(new Refusal("not_found", "there is no such address")));
  app.onError((error) => refusalOf(error, parts));
  return app;
}

async function answer(each: Route, context: Context, parts: AppParts): Promise<Response> {
  const done = parts.metrics.started(each.method, each.path);
  const response = await handled(each, context, parts);
  done(response.status);
  return response;
}

async function handled(each: Route, context: Context, parts: AppParts): Promise<Response> {
  try {
    const access = await admitted(each, context, parts);
    parts.rateLimit.take(access.project);
    return await each.handle({
      access,
      params: context.req.param(),
      query: context.req.query(),
      headers: context.req.header(),
      signal: context.req.raw.signal,
      body: bodyOf(each, context.req.raw),
    });
  } catch (error) {
    return refusalOf(error, parts);
  }
}

function refusalOf(error: unknown, parts: AppParts): Response {
  if (error instanceof Refusal) {
    if (error.cause !== undefined) parts.onFailure(error.cause);
    return problemResponse(error);
  }
  if (error instanceof z.ZodError)
    return problemResponse(new Refusal("request_invalid", issuesOf(error)));
  parts.onFailure(error);
  if (isUpheldError(error) && isOutage(error.code))
    return problemResponse(
      new Refusal("unavailable", "the collector's storage cannot be used now", {
        retryAfterSeconds: 5,
      }),
    );
  return problemResponse(new Refusal("internal", "the collector failed; nothing was kept"));
}

function isOutage(code: string): boolean {
  return code === "database_unavailable" || code === "storage_unavailable";
}

const NOBODY: Access = { project: LOCAL_ACCESS.project, scopes: new Set() };

/** Who asks; throws the refusal where that one may not. */
async function admitted(each: Route, context: Context, parts: AppParts): Promise<Access> {
  if (each.scope === "anyone") return NOBODY;
  const access = await accessOfRequest(context, parts);
  if (!access.scopes.has(each.scope))
    throw new Refusal("forbidden", `this token may not ${each.scope}`);
  return access;
}

async function accessOfRequest(context: Context, parts: AppParts): Promise<Access> {
  const header = context.req.header("authorization");
  if (header === undefined) {
    if (parts.isOpen() && isFromThisMachine(context)) return LOCAL_ACCESS;
    throw new Refusal("unauthorized", "a token is needed: Authorization: Bearer upk_...");
  }
  const [, token] = /^Bearer ([^\s]+)$/i.exec(header) ?? [];
  const access = token === undefined ? undefined : await accessOf(parts.statements, token);
  if (access === undefined)
    throw new Refusal("unauthorized", "this token is not known, has expired or was revoked");
  return access;
}

/** A page of elsewhere that a browser of this machine shows can send requests too: it names its origin, or another host. */
function isFromThisMachine(context: Context): boolean {
  const host = context.req.header("host") ?? "";
  const origin = context.req.header("origin");
  return isLoopback(`http://${host}`) && (origin === undefined || origin === `http://${host}`);
}

function isLoopback(address: string): boolean {
  const name = URL.canParse(address) ? new URL(address).hostname : "";
  return name === "localhost" || name === "[::1]" || /^127(\.\d{1,3}){3}$/.test(name);
}

async function* bodyOf(each: Route, request: Request): AsyncGenerator<Uint8Array> {
  const { body } = request;
  if (body === null) return;
  const { maxBytes = 0, beyond = "too_large" } = each.body ?? {};
  const announced = Number(request.headers.get("content-length") ?? 0);
  if (announced > maxBytes) throw tooLarge(beyond, maxBytes);
  let sizeBytes = 0;
  for await (const chunk of body) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) throw tooLarge(beyond, maxBytes);
    yield chunk;
  }
}

function tooLarge(code: ProblemCode, maxBytes: number): Refusal {
  return new Refusal(code, `the body may have ${maxBytes} bytes at most`);
}

function honoPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}
