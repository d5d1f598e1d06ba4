import { UpheldError } from "./errors.ts";
import type { GapCode } from "./gap.ts";

export interface Limit {
  readonly unit: string;
  readonly value: number;
  /** The default for the delta of a whole root and its baseline, where it differs. */
  readonly delta?: number;
  /** The gap that tells of it, or what counts it. */
  readonly beyond: GapCode | `count: ${string}`;
}

/** Every limit with its default. `docs/limits.md` is written from this table. */
export const LIMITS = {
  maxFiles: {
    unit: "candidates kept by a scorable",
    value: 1_000,
    delta: 100_000,
    beyond: "file_limit_exceeded",
  },
  maxListedEntries: {
    unit: "names listed by a scorable",
    value: 100_000,
    delta: 2_000_000,
    beyond: "listing_limit_exceeded",
  },
  maxContentBytes: {
    unit: "bytes of content kept of a file",
    value: 1_000_000,
    beyond: "text_not_retained",
  },
  maxReadBytes: {
    unit: "bytes read by an acquisition",
    value: 16_000_000,
    delta: 1_000_000_000,
    beyond: "read_limit_exceeded",
  },
  maxRetainedBytes: {
    unit: "bytes of content kept by an acquisition",
    value: 16_000_000,
    beyond: "text_not_retained",
  },
  maxDigestBytes: {
    unit: "bytes digested by a baseline; beyond it identity and times decide",
    value: 1_000_000_000,
    beyond: "baseline_partial",
  },
  maxPriorFileBytes: {
    unit: "bytes of a file that a baseline keeps as prior content",
    value: 262_144,
    beyond: "prior_content_unknown",
  },
  maxPriorBytes: {
    unit: "bytes of prior content that a baseline keeps",
    value: 67_108_864,
    beyond: "prior_content_unknown",
  },
  maxRows: {
    unit: "changed rows kept by an acquisition",
    value: 100_000,
    beyond: "row_limit_exceeded",
  },
  maxWorldRows: {
    unit: "rows of a table that are sealed of the world at the end of a run",
    value: 40,
    beyond: "count: rowsTotal",
  },
  maxWorldBytes: {
    unit: "bytes of canonical JSON that the world at the end of a run may take in a bundle",
    value: 131_072,
    beyond: "count: omittedTables",
  },
  captureMs: {
    unit: "milliseconds that reading the world at the end of a run may take, for each root",
    value: 60_000,
    beyond: "deadline_passed",
  },
  clockSkewMs: {
    unit: "milliseconds by which a window is widened",
    value: 2_000,
    beyond: "clock_uncertain",
  },
  maxCalls: { unit: "tool calls kept of a run", value: 100_000, beyond: "trace_incomplete" },
  maxCallArgumentBytes: {
    unit: "bytes kept of the arguments of a tool call",
    value: 16_384,
    beyond: "call_truncated",
  },
  maxCallResultBytes: {
    unit: "bytes kept of the result of a tool call",
    value: 16_384,
    beyond: "call_truncated",
  },
  maxCallBytes: {
    unit: "bytes of arguments and results kept of all tool calls of a run",
    value: 33_554_432,
    beyond: "call_truncated",
  },
  maxReplyBytes: {
    unit: "bytes of the agent's output kept as its reply",
    value: 262_144,
    beyond: "count: textTruncated",
  },
} as const satisfies Readonly<Record<string, Limit>>;

export type LimitName = keyof typeof LIMITS;
export type Limits = Readonly<Record<LimitName, number>>;

/** The defaults for one scorable. */
export const DEFAULT_LIMITS: Limits = Object.fromEntries(
  Object.entries(LIMITS).map(([name, limit]) => [name, limit.value]),
) as Limits;

/** Fills in defaults. Throws "argument_invalid" on a limit that is no whole number from 1 (from 0 for `clockSkewMs`). */
export function limitsOf(given: Partial<Limits> = {}, defaults: Limits = DEFAULT_LIMITS): Limits {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(LIMITS, name))
      throw new UpheldError(
        "argument_invalid",
        `${name} is no limit (known: ${Object.keys(LIMITS).join(", ")})`,
      );
    const least = name === "clockSkewMs" ? 0 : 1;
    if (!Number.isSafeInteger(value) || value < least)
      throw new UpheldError(
        "argument_invalid",
        `${name} must be a whole number from ${least}, got ${value}`,
      );
  }
  return { ...defaults, ...given };
}
