import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { counted } from "../report/bounds.ts";
import { openWrites } from "../run/isolation/isolate.ts";
import { sweepTrials } from "../run/isolation/probe.ts";
import { sweepAgents } from "../run/agents/process-group.ts";
import { sweepTemporary } from "../store/bundle-file.ts";
import {
  existingStateFolders,
  sweepRuns,
  type StateFolder,
  type Sweepers,
  type SweptRuns,
} from "../store/state-folder.ts";
import type { Terminal } from "./terminal.ts";

const sweepers: Sweepers = {
  agents: async (runId) => (await sweepAgents(runId)).found,
  isolation: discardIsolation,
  temporary: async (directory) =>
    existsSync(directory) ? (await sweepTemporary(directory)).removed.length : 0,
};

async function discardIsolation({ isolation }: StateFolder, runId: string): Promise<boolean> {
  const folder = join(isolation, runId);
  if (!existsSync(folder)) return false;
  try {
    await openWrites(isolation, runId).discard();
  } catch {
    rmSync(folder, { recursive: true, force: true });
  }
  return true;
}

/** Clears up after runs that were killed, and says on standard error what it found. */
export async function sweepState(candidates: readonly string[], terminal: Terminal): Promise<void> {
  for (const folder of existingStateFolders(candidates)) {
    const swept = await sweepRuns(folder, sweepers);
    await sweepTrials(folder.isolation);
    if (swept.runs.length > 0) terminal.err(`  swept      ${sweptText(swept)}\n`);
  }
}

function sweptText({ runs, agents, isolations, temporaryFiles }: SweptRuns): string {
  return [
    `${counted(runs.length, "run")} without an end`,
    counted(agents, "live process", "live processes"),
    counted(isolations, "isolation layer"),
    counted(temporaryFiles, "temporary file"),
  ].join(", ");
}
