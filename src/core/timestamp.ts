import { z } from "zod";

/** RFC 3339 in UTC with nine digits of fraction: "2026-11-30T18:48:15.123456789Z". Compares right as text in the years 0 to 9999; for other years compare `nanosecondsOf`. */
export const Timestamp = z
  .string()
  .regex(
    /^-?\d{4,6}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{9}Z$/,
    "expected RFC 3339 in UTC with nanoseconds",
  )
  .brand("Timestamp");
export type Timestamp = z.infer<typeof Timestamp>;

const NS_PER_SECOND = 1_000_000_000n;

/** The last nanosecond that a timestamp can name, in the year 275760; the first lies as far before the epoch. */
const FARTHEST_NS = 8_640_000_000_000_000n * 1_000_000n;

/** Nanoseconds since the epoch, which may be negative, as text. Beyond what a date can hold, the nearest that it can. */
export function timestampOf(nanoseconds: bigint): Timestamp {
  const near = clamped(nanoseconds);
  let seconds = near / NS_PER_SECOND;
  let fraction = near % NS_PER_SECOND;
  if (fraction < 0n) {
    seconds -= 1n;
    fraction += NS_PER_SECOND;
  }
  const whole = new Date(Number(seconds) * 1000).toISOString().slice(0, -5).replace(/^[+]/, "");
  return Timestamp.parse(`${whole}.${fraction.toString().padStart(9, "0")}Z`);
}

function clamped(nanoseconds: bigint): bigint {
  if (nanoseconds > FARTHEST_NS) return FARTHEST_NS;
  return nanoseconds < -FARTHEST_NS ? -FARTHEST_NS : nanoseconds;
}

/** The nanoseconds since the epoch that a timestamp names. */
export function nanosecondsOf(timestamp: Timestamp): bigint {
  const dot = timestamp.lastIndexOf(".");
  const year = /^-?\d+/.exec(timestamp)?.[0] ?? "";
  const date =
    year.replace("-", "").length > 4 && !year.startsWith("-")
      ? `+${timestamp.slice(0, dot)}`
      : timestamp.slice(0, dot);
  const milliseconds = Date.parse(`${date}Z`);
  return BigInt(milliseconds) * 1_000_000n + BigInt(timestamp.slice(dot + 1, -1));
}
