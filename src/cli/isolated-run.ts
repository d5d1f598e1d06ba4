import { UpheldError } from "../core/errors.ts";
import type { RunId } from "../core/ids.ts";
import { isolate, type Isolation } from "../run/isolation/isolate.ts";
import { probeIsolation } from "../run/isolation/probe.ts";
import type { StateFolder } from "../store/state-folder.ts";
import type { AskedRun } from "./run-options.ts";

/** Whether a run is isolated, and why not where that was asked for and cannot be had. */
export interface IsolationChoice {
  readonly isolation?: Isolation;
  readonly reason?: string;
}

/**
 * Lays an overlay over every root where that was asked for. Where it cannot be had, the baseline does instead, and the reason
 * is kept; throws "isolation_unavailable" where nothing but `exact` was wished.
 */
export async function chooseIsolation(
  { isolate: isWished, roots, wishes }: AskedRun,
  state: StateFolder,
  runId: RunId,
): Promise<IsolationChoice> {
  if (!isWished) return {};
  const dirs = roots.map(({ name, directory }) => ({ name, dir: directory }));
  const probe = await probeIsolation(dirs, state.isolation);
  if (probe.ok) return { isolation: await isolate(probe.plan, runId) };
  if (roots.some(({ name }) => wishes.get(name) === "exact"))
    throw new UpheldError("isolation_unavailable", `--isolate cannot be had here: ${probe.reason}`);
  return { reason: `--isolate cannot be had here: ${probe.reason}` };
}
