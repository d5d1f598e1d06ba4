import { z } from "zod";

/** RFC 3339 in UTC with nine digits of fraction: "2026-11-30T18:48:15.123456789Z". Compares right as text within one century of years. */
export const Timestamp = z
  .string()
  .regex(
    /^-?\d{4,6}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{9}Z$/,
    "expected RFC 3339 in UTC with nanoseconds",
  )
  .brand("Timestamp");
export type Timestamp = z.infer<typeof Timestamp>;

const NS_PER_SECOND = 1_000_000_000n;

/** Nanoseconds since the epoch, which may be negative, as text. Throws "RangeError" beyond the years that a date can hold. */
export function timestampOf(nanoseconds: bigint): Timestamp {
  let seconds = nanoseconds / NS_PER_SECOND;
  let fraction = nanoseconds % NS_PER_SECOND;
  if (fraction < 0n) {
    seconds -= 1n;
    fraction += NS_PER_SECOND;
  }
  const whole = new Date(Number(seconds) * 1000).toISOString().slice(0, -5).replace(/^[+]/, "");
  return Timestamp.parse(`${whole}.${fraction.toString().padStart(9, "0")}Z`);
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
