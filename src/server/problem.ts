import { z } from "zod";
import { DELIVERY_ERRORS } from "../evidence/delivery-answers.ts";

const STATUS_OF_DELIVERY_ERROR = Object.fromEntries(
  Object.entries(DELIVERY_ERRORS).map(([code, { status }]) => [code, status]),
) as { readonly [Code in keyof typeof DELIVERY_ERRORS]: number }; // the same keys

/** Every refusal of the collector, with its status. The list is closed; a client decides by status and code alone. */
export const PROBLEMS = {
  ...STATUS_OF_DELIVERY_ERROR,
  request_invalid: 400,
  not_found: 404,
  judgment_conflict: 409,
  too_large: 413,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
} as const;

export type ProblemCode = keyof typeof PROBLEMS;

/** What a refusal says: a code for programs, a sentence for people. Never a secret, never a path of the machine. */
export const Problem = z.object({
  error: z.object({ code: z.string(), message: z.string() }),
});

/** A refusal on its way out of a handler. */
export class Refusal extends Error {
  readonly code: ProblemCode;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ProblemCode,
    message: string,
    options: { readonly retryAfterSeconds?: number; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = "Refusal";
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** Characters of a refusal's sentence: it may quote what was sent. */
const MAX_MESSAGE = 1_000;

export function problemResponse({ code, message, retryAfterSeconds }: Refusal): Response {
  return Response.json(
    { error: { code, message: message.slice(0, MAX_MESSAGE) } },
    {
      status: PROBLEMS[code],
      headers: retryAfterSeconds === undefined ? {} : { "Retry-After": String(retryAfterSeconds) },
    },
  );
}
