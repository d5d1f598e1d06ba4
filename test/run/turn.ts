import { randomUUID } from "node:crypto";
import { AttemptId, RunId } from "../../src/core/ids.ts";
import type { Turn } from "../../src/run/agent.ts";

/** A turn of a run of its own. */
export function turnOf(text: string = "write the file"): Turn {
  return {
    runId: RunId.parse(randomUUID()),
    attemptId: AttemptId.parse(randomUUID()),
    messages: [{ role: "user", text }],
    roots: [],
  };
}
