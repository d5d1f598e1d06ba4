import { randomBytes } from "node:crypto";
import { AttemptId, RunId } from "../core/ids.ts";
import { timestampOf, type Timestamp } from "../core/timestamp.ts";
import type { Clock } from "./clock.ts";
import { fileSystemNow } from "../sources/local-files/filesystem.ts";

/** A name for a run that sorts by time: "20261130-191200-3f9a2c". */
export function newRunId(now: Date): RunId {
  const [day = "", time = ""] = now.toISOString().replaceAll(/[-:]/g, "").split(/[T.]/);
  return RunId.parse(`${day}-${time}-${randomBytes(3).toString("hex")}`);
}

/** An attempt of a run; they count from 1. */
export function attemptOf(runId: RunId, number: number = 1): AttemptId {
  return AttemptId.parse(`${runId}.${number}`);
}

/** The clock that stamps the files of the first root, so that no other clock can disagree; else the machine's. */
export function clockOf(roots: readonly { readonly directory: string }[]): Clock {
  const [first] = roots;
  return (): Timestamp => {
    const stamped = first === undefined ? undefined : fileSystemNow(first.directory);
    return timestampOf(stamped ?? BigInt(Date.now()) * 1_000_000n);
  };
}
