import { UpheldError } from "../core/errors.ts";

/** Bytes of one HTTP answer that are read. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

/**
 * The address of a model's API. Throws "argument_invalid" on what is not https, unless it is this machine: evidence and keys go
 * through it. Credentials and a query in it are refused too.
 */
export function parseModelUrl(text: string): URL {
  if (!URL.canParse(text))
    throw new UpheldError("argument_invalid", "the address of the model is no URL");
  const url = new URL(text);
  if (url.username !== "" || url.password !== "")
    throw new UpheldError(
      "argument_invalid",
      "the address of the model holds credentials: name an environment variable with --key-env",
    );
  if (url.search !== "" || url.hash !== "")
    throw new UpheldError("argument_invalid", "the address of the model ends with its path");
  if (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname)))
    return url;
  throw new UpheldError(
    "argument_invalid",
    `the address of the model must be https, or http on this machine, got ${url.protocol}//${url.host}`,
  );
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

/** `fetch` that follows no redirect, which would carry the key elsewhere, and reads no more than it has to. */
export async function plainFetch(
  input: string | URL | Request,
  init?: RequestInit,
): Promise<Response> {
  const response = await fetch(input, { ...init, redirect: "manual" });
  if (response.body === null) return response;
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(bounded()), { status, statusText, headers });
}

function bounded(): TransformStream<Uint8Array, Uint8Array> {
  let seen = 0;
  return new TransformStream({
    transform(chunk, controller) {
      seen += chunk.length;
      if (seen > MAX_BODY_BYTES) controller.error(new Error(`more than ${MAX_BODY_BYTES} bytes`));
      else controller.enqueue(chunk);
    },
  });
}

/** The wait that a server asks for, in milliseconds, from `Retry-After` as seconds or as a date. */
export function retryAfterMs(
  headers: Readonly<Record<string, string>> | undefined,
  now: number,
): number | undefined {
  const text = headers?.["retry-after"]?.trim();
  if (text === undefined || text === "") return undefined;
  const milliseconds = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isFinite(milliseconds) ? Math.max(0, milliseconds) : undefined;
}
