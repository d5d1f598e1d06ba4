/** When and how often something that was not answered is sent again. */
export interface RetryPolicy {
  /** The longest wait before the second try; it doubles from try to try. Default 1 s. */
  readonly baseMs: number;
  /** The longest wait before any try. Default 15 s. */
  readonly capMs: number;
  /** How often it is sent in all. Default 8. */
  readonly tries: number;
  /** The longest wait that a collector may ask for; longer ones are cut to it. Default 60 s. */
  readonly maxRetryAfterMs: number;
}

export const DEFAULT_RETRY: RetryPolicy = {
  baseMs: 1_000,
  capMs: 15_000,
  tries: 8,
  maxRetryAfterMs: 60_000,
};

/**
 * Milliseconds to wait after the try of this number, from 1: any up to the doubled base (`chance` is from 0 to 1), and never
 * less than what the collector asked for.
 */
export function waitAfter(
  tryNumber: number,
  { chance, retryAfterMs }: { readonly chance: number; readonly retryAfterMs: number | null },
  policy: RetryPolicy = DEFAULT_RETRY,
): number {
  const longest = Math.min(policy.capMs, policy.baseMs * 2 ** (tryNumber - 1));
  const asked = Math.min(policy.maxRetryAfterMs, retryAfterMs ?? 0);
  return Math.max(asked, Math.floor(chance * longest));
}

/** The milliseconds that a `Retry-After` asks for, in seconds or as a date; null where it asks for none that can be understood. */
export function retryAfterOf(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  const date = /^[A-Za-z]{3}, /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) || date < nowMs ? null : date - nowMs;
}
