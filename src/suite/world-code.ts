import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ReceiptFailure } from "../evidence/receipt.ts";
import { runCheck } from "./check.ts";
import type { FreshWorld, Home } from "./fresh-world.ts";
import { collectionsIn } from "./given-world.ts";
import type { CheckFile, Scenario } from "./scenario.ts";

/** Milliseconds of the functions that prepare a world, and that say whether it is ready. */
export interface WorldDeadlines {
  readonly setupMs: number;
  readonly readyMs: number;
}

interface Stage {
  readonly name: "setup" | "ready";
  readonly file: CheckFile | undefined;
  readonly timeoutMs: number;
}

/**
 * Runs the functions of another harness that prepare a world, over its collections in `state.json`; where that is missing, the
 * suite's is copied first. Gives the failure that keeps the world from being ready. Rejects with the signal's reason.
 */
export async function runWorldCode(
  { worldCode }: Scenario,
  home: Home,
  { directory }: FreshWorld,
  how: { readonly deadlines: WorldDeadlines; readonly signal?: AbortSignal | undefined },
): Promise<ReceiptFailure | undefined> {
  const path = join(directory, "state.json");
  if (worldCode.setup !== undefined) copyMissing(join(home.suite, "state.json"), path);
  const { setupMs, readyMs } = how.deadlines;
  const stages: readonly Stage[] = [
    { name: "setup", file: worldCode.setup, timeoutMs: setupMs },
    { name: "ready", file: worldCode.ready, timeoutMs: readyMs },
  ];
  for (const stage of stages) {
    const failure = await runStage(stage, path, { home, signal: how.signal });
    if (failure !== undefined) return failure;
  }
  return undefined;
}

async function runStage(
  { name, file, timeoutMs }: Stage,
  path: string,
  { home, signal }: { readonly home: Home; readonly signal: AbortSignal | undefined },
): Promise<ReceiptFailure | undefined> {
  if (file === undefined) return undefined;
  const state = existsSync(path) ? collectionsIn(readFileSync(path, "utf8")) : {};
  const world = { files: {}, tables: {}, state, changes: [], reply: "" };
  const plan = { file, function: name, world, calls: [], runId: home.runId, timeoutMs };
  const answer = await runCheck(plan, signal);
  if (answer.value !== "held") {
    const code = answer.value === "broken" ? `${name}_crashed` : `${name}_failed`;
    return { domain: "environment", stage: name, code, message: `${name}.py: ${answer.reason}` };
  }
  if (answer.state !== undefined) writeFileSync(path, JSON.stringify(answer.state));
  return undefined;
}

function copyMissing(from: string, to: string): void {
  if (!existsSync(to) && existsSync(from)) copyFileSync(from, to);
}
