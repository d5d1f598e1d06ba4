import { timestampOf, type Timestamp } from "../core/timestamp.ts";

/** Tells the time; tests give their own. */
export type Clock = () => Timestamp;

/** The time of this machine, to the millisecond. */
export const systemClock: Clock = () => timestampOf(BigInt(Date.now()) * 1_000_000n);
