import type { RunReport } from "./run-report.ts";

/** Changes that are written at a time. */
const BATCH = 128;

/**
 * A report as one JSON object, in pieces to be written one after another: a delta can be of a hundred thousand changes, and
 * its text need not be in memory as a whole. Joined they are what `JSON.stringify` gives.
 */
export function* jsonPieces({ run, delta, ...rest }: RunReport): Generator<string, undefined> {
  yield `{"run":${JSON.stringify(run)},"delta":[`;
  for (let at = 0; at < delta.length; at += BATCH) {
    const changes = JSON.stringify(delta.slice(at, at + BATCH)).slice(1, -1);
    yield at === 0 ? changes : `,${changes}`;
  }
  yield `],${JSON.stringify(rest).slice(1)}`;
  return undefined;
}
