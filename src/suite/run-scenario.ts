import { join } from "node:path";
import type { DeclaredSecret } from "../evidence/declared-secret.ts";
import type { ReceiptFailure } from "../evidence/receipt.ts";
import { newRunId, clockOf } from "../run/new-run.ts";
import { secretsOfDatabases } from "../run/redactor-of-run.ts";
import type { ScenarioReport } from "../report/suite-report.ts";
import { beginRun, endRun, type StateFolder } from "../store/state-folder.ts";
import { runAttempt, type ActingAgent, type Deadlines } from "./attempt.ts";
import { clearWorld, prepareWorld, type Home } from "./fresh-world.ts";
import type { Scenario } from "./scenario.ts";
import type { SealRun } from "./suite-seal.ts";
import { tellAttempt, type Told } from "./tell.ts";
import { runWorldCode } from "./world-code.ts";

/** How scenarios are run. */
export interface ScenarioOptions {
  readonly suite: string;
  readonly state: StateFolder;
  readonly deadlines: Deadlines;
  /** How often a scenario is tried again after the infrastructure failed. */
  readonly retries: number;
  readonly environment: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal | undefined;
  /** Never told. The passwords of the worlds' databases come beside them. */
  readonly secrets: readonly DeclaredSecret[];
  /** Keeps the evidence of each run. */
  readonly seal?: SealRun | undefined;
}

/** Failures that a fresh world can mend. The agent's own, and those of checks, stay. */
const RETRYABLE: ReadonlySet<ReceiptFailure["domain"]> = new Set([
  "environment",
  "infrastructure",
  "connectivity",
]);

/** Runs one scenario to a result, in a fresh world each time it is tried. Rejects with the signal's reason. */
export async function runScenario(
  scenario: Scenario,
  agent: ActingAgent,
  options: ScenarioOptions,
): Promise<ScenarioReport> {
  const { name, skip } = scenario;
  if (skip !== undefined)
    return {
      name,
      status: "skipped",
      attempts: 0,
      durationMs: 0,
      subGoals: [],
      skipped: skip,
      notSeen: [],
    };
  const started = performance.now();
  for (let number = 1; ; number += 1) {
    options.signal?.throwIfAborted();
    const told = await attemptIn(scenario, agent, options, number);
    const { failure } = told;
    if (failure !== undefined && RETRYABLE.has(failure.domain) && number <= options.retries)
      continue;
    return { ...told, name, attempts: number, durationMs: Math.round(performance.now() - started) };
  }
}

async function attemptIn(
  scenario: Scenario,
  agent: ActingAgent,
  options: ScenarioOptions,
  number: number,
): Promise<Told> {
  const { state, suite, deadlines, signal } = options;
  const runId = newRunId(new Date());
  const home: Home = { runId, suite, path: join(state.path, "runs", runId) };
  beginRun(state, { runId, startedAt: clockOf([])() });
  let environment = {};
  try {
    const prepared = await prepareWorld(scenario, home, { setupMs: deadlines.setupMs, signal });
    const named = { scenarioKey: scenario.name, scenarioAttempt: number };
    const telling = { secrets: options.secrets, seal: options.seal, named };
    if ("failure" in prepared) return await tellAttempt(prepared, telling);
    const { world } = prepared;
    environment = world.environment;
    const unready = await runWorldCode(scenario, home, world, options);
    const capturesWorld = options.seal !== undefined;
    const attempt =
      unready === undefined
        ? await runAttempt(
            { ...options, scenario, home, world, agent, number, capturesWorld },
            signal,
          )
        : { failure: unready };
    const secrets = [...options.secrets, ...secretsOfDatabases(world.databases)];
    return await tellAttempt(attempt, { ...telling, secrets });
  } finally {
    await clearWorld(scenario, home, { setupMs: deadlines.setupMs, environment });
    endRun(state, runId);
  }
}
