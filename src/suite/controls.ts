import type { ControlReport, ScenarioReport } from "../report/suite-report.ts";
import { functionAgent } from "../run/agents/function-agent.ts";
import type { ActingAgent } from "./attempt.ts";
import { inParallel } from "./run-suite.ts";
import { runScenario, type ScenarioOptions } from "./run-scenario.ts";
import type { Scenario, Suite } from "./scenario.ts";

const NOTHING: ActingAgent = functionAgent(() => "", { name: "nothing" });

/**
 * Proves the scenarios themselves: an agent that does nothing must not pass, the gold run must, and a violating run must break
 * the sub-goal that names it.
 */
export async function runControls(
  suite: Suite,
  options: ScenarioOptions & {
    readonly parallel: number;
    readonly onEnd?: (control: ControlReport) => void;
  },
): Promise<readonly ControlReport[]> {
  const controls = suite.scenarios
    .filter(({ skip }) => skip === undefined)
    .flatMap((scenario) => controlsOf(scenario).map((control) => ({ scenario, control })));
  return inParallel(
    controls.map(({ scenario, control }) => async () => {
      const report = await runScenario(scenario, control.agent, options);
      // What came to no result proves nothing of the sub-goals.
      const outcome =
        report.failure === undefined
          ? control.judge(report)
          : { held: null, reason: report.failure.message };
      const subGoals = report.failure === undefined ? report.subGoals : [];
      const told: ControlReport = {
        scenario: scenario.name,
        control: control.name,
        ...outcome,
        subGoals: subGoals.map(({ name, held }) => ({ name, held })),
      };
      options.onEnd?.(told);
      return told;
    }),
    options.parallel,
  );
}

type Outcome = Pick<ControlReport, "held" | "reason">;

interface Control {
  readonly name: string;
  readonly agent: ActingAgent;
  readonly judge: (report: ScenarioReport) => Outcome;
}

function controlsOf({ controls }: Scenario): readonly Control[] {
  const { gold, violating } = controls;
  return [
    { name: "nothing", agent: NOTHING, judge: ofNothing },
    ...(gold === undefined ? [] : [{ name: "gold", agent: { command: gold }, judge: ofGold }]),
    ...Object.entries(violating).map(([name, command]) => ({
      name,
      agent: { command },
      judge: (report: ScenarioReport) => ofViolating(report, name),
    })),
  ];
}

function ofNothing(report: ScenarioReport): Outcome {
  if (report.subGoals.some(({ held }) => held === false))
    return { held: true, reason: "an agent that does nothing does not pass" };
  const open = namesOf(report, null);
  return open.length > 0
    ? { held: null, reason: `not decided: ${open.join(", ")}` }
    : { held: false, reason: "every sub-goal holds though nothing was done" };
}

function ofGold(report: ScenarioReport): Outcome {
  const broken = namesOf(report, false);
  if (broken.length > 0) return { held: false, reason: `the gold run breaks ${broken.join(", ")}` };
  const open = namesOf(report, null);
  return open.length > 0
    ? { held: null, reason: `not decided: ${open.join(", ")}` }
    : { held: true, reason: "the gold run holds every sub-goal" };
}

function ofViolating(report: ScenarioReport, name: string): Outcome {
  const held = report.subGoals.find((each) => each.name === name)?.held;
  if (held === false) return { held: true, reason: "the violating run breaks it" };
  return held === true
    ? { held: false, reason: "it holds though a run violates it" }
    : { held: null, reason: "not decided" };
}

function namesOf({ subGoals }: ScenarioReport, held: boolean | null): readonly string[] {
  return subGoals.filter((each) => each.held === held).map(({ name }) => name);
}
