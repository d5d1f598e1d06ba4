import type { Price } from "./ask.ts";
import type { JudgingBudget } from "./judge-bundle.ts";
import type { Asking } from "./judgment.ts";

/** Bytes of a question that are counted as one token, before it is known. */
const BYTES_PER_TOKEN = 3;
/** What an answer is counted as, before it is known. */
const ANSWER_TOKENS = 1_000;

/** At most so many tokens, or so many US dollars at a price. */
export type BudgetLimit =
  | { readonly tokens: number }
  | { readonly usd: number; readonly price: Price };

/**
 * A budget over all questions of one call: room is taken before a question is asked, by an estimate, and given back or added when
 * the judge says what it used. A judge that says nothing is counted by the estimate.
 */
export function budgetOf(limit: BudgetLimit): JudgingBudget {
  let used = 0;
  const most = "tokens" in limit ? limit.tokens : limit.usd;
  const costOf = (input: number, output: number): number =>
    "tokens" in limit
      ? input + output
      : (input * limit.price.input + output * limit.price.output) / 1_000_000;
  const estimate = (bytes: number): number =>
    costOf(Math.ceil(bytes / BYTES_PER_TOKEN), ANSWER_TOKENS);
  return {
    take(promptBytes) {
      if (used + estimate(promptBytes) > most) return false;
      used += estimate(promptBytes);
      return true;
    },
    settle(promptBytes, { inputTokens, outputTokens }: Asking) {
      if (inputTokens === undefined || outputTokens === undefined) return;
      used += costOf(inputTokens, outputTokens) - estimate(promptBytes);
    },
  };
}

/** Lets only so many pieces of work go on at once; the others wait in order. */
export function atMost(slots: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = slots;
  const waiting: (() => void)[] = [];
  const release = (): void => {
    const next = waiting.shift();
    if (next === undefined) free += 1;
    else next();
  };
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      release();
    }
  };
}
