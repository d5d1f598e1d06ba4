import { UpheldError } from "../../core/errors.ts";

/** What ended a turn before the agent did. */
export type Ending =
  | { readonly kind: "timed_out"; readonly afterMs: number }
  | { readonly kind: "aborted"; readonly reason: unknown };

/** The time and the signal of one turn. */
export interface TurnLimit {
  /** Fulfilled by whichever comes first; never when neither does. */
  readonly passed: Promise<Ending>;
  /** Aborted together with it, for what takes a signal. */
  readonly signal: AbortSignal;
  clear(): void;
}

/** What a timer can hold. */
const MAX_TIMEOUT_MS = 2_147_483_647;

/** Starts the clock of a turn. Throws "argument_invalid" on a time that no timer can hold, and the signal's reason. */
export function limitTurn(
  timeoutMs: number | undefined,
  signal: AbortSignal | undefined,
): TurnLimit {
  signal?.throwIfAborted();
  if (timeoutMs !== undefined && !(timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS))
    throw new UpheldError(
      "argument_invalid",
      `timeoutMs must be from 1 to ${MAX_TIMEOUT_MS}, got ${timeoutMs}`,
    );
  const own = new AbortController();
  const { promise, resolve } = promiseOf<Ending>();
  const end = (ending: Ending): void => {
    resolve(ending);
    own.abort(ending.kind === "aborted" ? ending.reason : ending);
  };
  const onAbort = (): void => end({ kind: "aborted", reason: signal?.reason });
  signal?.addEventListener("abort", onAbort, { once: true });
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => end({ kind: "timed_out", afterMs: timeoutMs }), timeoutMs);
  return {
    passed: promise,
    signal: own.signal,
    clear() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    },
  };
}

/** Node 20 has no `Promise.withResolvers`. */
function promiseOf<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: ((value: T) => void) | undefined;
  const promise = new Promise<T>((given) => {
    resolve = given;
  });
  return { promise, resolve: (value) => resolve?.(value) };
}
