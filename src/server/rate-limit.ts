import { Refusal } from "./problem.ts";

/** How many requests a project may send: so many a second, and so many at once after a pause. */
export interface RateLimit {
  /** Counts one request. Throws the refusal "rate_limited", with the time after which to try again. */
  take(project: string): void;
}

interface Bucket {
  readonly tokens: number;
  readonly at: number;
}

/** A limit that this process holds; several collectors allow the sum of theirs. */
export function rateLimit(
  options: { readonly perSecond: number; readonly burst: number },
  nowMs: () => number,
): RateLimit {
  const buckets = new Map<string, Bucket>();
  return {
    take(project) {
      const now = nowMs();
      const last = buckets.get(project) ?? { tokens: options.burst, at: now };
      const refilled = last.tokens + ((now - last.at) / 1_000) * options.perSecond;
      const tokens = Math.min(options.burst, refilled);
      if (tokens < 1)
        throw new Refusal("rate_limited", "this project sends more requests than it may", {
          retryAfterSeconds: Math.ceil((1 - tokens) / options.perSecond),
        });
      buckets.set(project, { tokens: tokens - 1, at: now });
    },
  };
}
