import { UpheldError } from "../core/errors.ts";
import { suiteReport, type ScenarioReport, type SuiteReport } from "../report/suite-report.ts";
import type { ActingAgent } from "./attempt.ts";
import { runScenario, type ScenarioOptions } from "./run-scenario.ts";
import type { Scenario, Suite, SuiteAgent } from "./scenario.ts";

export interface SuiteOptions extends ScenarioOptions {
  /** Scenarios that run at the same time. */
  readonly parallel: number;
  /** In place of every agent of the suite. */
  readonly agent?: SuiteAgent | undefined;
  readonly onStart?: (scenario: string) => void;
  readonly onEnd?: (report: ScenarioReport) => void;
}

/**
 * Runs all scenarios, several at a time, and sums up. Throws "suite_invalid" where a scenario has no agent, before anything is
 * started; rejects with the signal's reason once every agent has ended.
 */
export async function runSuite(suite: Suite, options: SuiteOptions): Promise<SuiteReport> {
  const chosen = suite.scenarios.map((scenario) => ({
    scenario,
    agent: options.agent ?? scenario.agent ?? suite.agent,
  }));
  const without = chosen.filter(({ agent, scenario }) => agent === undefined && !scenario.skip);
  if (without.length > 0)
    throw new UpheldError(
      "suite_invalid",
      without
        .map(
          ({ scenario }) =>
            `scenarios/${scenario.name}: no agent; give one in scenario.yaml, in upheld.config.mjs or after --`,
        )
        .join("\n"),
    );
  const runs = chosen.map(({ scenario, agent }) => async (): Promise<ScenarioReport> => {
    options.onStart?.(scenario.name);
    const report = await runScenario(scenario, agent ?? NO_AGENT, options);
    options.onEnd?.(report);
    return report;
  });
  return suiteReport(await inParallel(runs, options.parallel), suite.notes);
}

/** Of a scenario that is skipped. */
const NO_AGENT: ActingAgent = { command: ["true"] };

/** The results in the order of the work. After a failure nothing new begins, and what runs is waited for. */
export async function inParallel<T>(
  work: readonly (() => Promise<T>)[],
  limit: number,
): Promise<readonly T[]> {
  const results = new Map<number, T>();
  const waiting = [...work.entries()];
  const faults: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (faults.length > 0) return;
      const [index, task] = next;
      try {
        results.set(index, await task());
      } catch (error) {
        faults.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, work.length) }, worker));
  if (faults.length > 0) throw faults[0];
  return [...results].toSorted(([left], [right]) => left - right).map(([, result]) => result);
}

/** The scenarios whose names are given; all where none is. Throws "argument_invalid" on a name that none has. */
export function chosenScenarios(suite: Suite, names: readonly string[]): readonly Scenario[] {
  const unknown = names.filter((name) => !suite.scenarios.some((each) => each.name === name));
  if (unknown.length > 0)
    throw new UpheldError(
      "argument_invalid",
      `no scenario is named ${unknown.join(", ")} (there are: ${suite.scenarios.map(({ name }) => name).join(", ")})`,
    );
  return names.length === 0
    ? suite.scenarios
    : suite.scenarios.filter(({ name }) => names.includes(name));
}
