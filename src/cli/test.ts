import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { cut } from "../report/bounds.ts";
import { paintOf } from "../report/paint.ts";
import {
  controlsText,
  scenarioLine,
  suiteText,
  unprovenSubGoals,
  type ControlReport,
  type SuiteReport,
} from "../report/suite-report.ts";
import { DEADLINES } from "../suite/attempt.ts";
import { runControls } from "../suite/controls.ts";
import { loadSuite } from "../suite/load.ts";
import { chosenScenarios, runSuite } from "../suite/run-suite.ts";
import type { ScenarioOptions } from "../suite/run-scenario.ts";
import type { Suite, SuiteAgent } from "../suite/scenario.ts";
import { SuiteSeal } from "../suite/suite-seal.ts";
import type { Signer } from "../evidence/signer.ts";
import type { EvidenceSealer } from "../evidence/statement.ts";
import { clockOf, newRunId } from "../run/new-run.ts";
import { openStateFolder, stateCandidates } from "../store/state-folder.ts";
import type { Command, CommandContext } from "./command.ts";
import { EXIT, exitUnder } from "./exit.ts";
import { parseOptions, usage, type Parsed } from "./options.ts";
import { refuseUnwritable } from "./publish.ts";
import { askedReports, concluded, REPORT_OPTIONS, type AskedReports } from "./reports.ts";
import { sealingOf } from "./run-options.ts";
import { hideDeclared, SECRET_OPTION } from "./secrets.ts";
import { sweepState } from "./sweep.ts";

/** Characters of the names that are shown while they run. */
const MAX_LIVE_NAMES = 60;

const OPTIONS = {
  scenario: { value: "NAME", multiple: true, help: "run this scenario alone" },
  endpoint: { value: "URL", help: "an agent behind HTTP, in place of every agent of the suite" },
  parallel: { value: "N", help: "scenarios at the same time (default 1)" },
  retries: {
    value: "N",
    help: "tries after the infrastructure failed (default 1); the agent's own failure stays",
  },
  timeout: { value: "SECONDS", help: "the agent's time where a scenario gives none (default 600)" },
  controls: { help: "run what proves the scenarios: nothing, gold and violating runs" },
  save: { value: "FILE", help: "seal the evidence of all scenarios into one bundle" },
  key: { value: "FILE", help: "the private key (PEM) to sign the bundle with" },
  sealer: {
    value: "SIDE",
    help: "guest (default): the agents could reach the key; host: they cannot",
  },
  from: {
    value: "FILE",
    help: "run nothing: tell what a sealed suite run came to, with what was judged since",
  },
  secret: SECRET_OPTION,
  json: { help: "print one JSON object, and nothing else, on standard output" },
  ...REPORT_OPTIONS,
};

export const testCommand: Command = {
  name: "test",
  summary: "Run a suite of scenarios, each in a fresh world.",
  usage: ["upheld test [DIR] [OPTIONS] [-- COMMAND...]", "upheld test --from FILE [--json]"],
  options: OPTIONS,
  examples: [
    ["the suite in this directory", "upheld test"],
    ["another agent, four at a time", "upheld test suite --parallel 4 -- python {suite}/agent.py"],
    ["keep the evidence", "upheld test suite --save suite.upheld"],
    ["what it came to, once it is judged", "upheld test --from suite.upheld"],
    ["do the scenarios tell right from wrong?", "upheld test suite --controls"],
  ],
  async run(args, context) {
    const { terminal, environment, interruption } = context;
    const parsed = parseOptions(OPTIONS, args);
    const from = parsed.one("from");
    if (from !== undefined) return tellStored(from, parsed, context);
    const save = savingOf(parsed);
    await refuseUnwritable(save.path);
    const loaded = await loadSuite(directoryOf(parsed));
    const suite = { ...loaded, scenarios: chosenScenarios(loaded, parsed.many("scenario")) };
    const agent = agentOf(parsed);
    const reports = askedReports(parsed, environment);
    const parallel = wholeNumber(parsed, "parallel", 1, 1, availableParallelism() * 16);
    const candidates = stateCandidates(environment);
    await sweepState(candidates, terminal);
    const options: ScenarioOptions = {
      suite: suite.folder,
      state: openStateFolder(candidates, [suite.folder]),
      deadlines: {
        ...DEADLINES,
        agentMs: wholeNumber(parsed, "timeout", DEADLINES.agentMs / 1000, 1, 86_400) * 1000,
      },
      retries: wholeNumber(parsed, "retries", 1, 0, 100),
      environment,
      signal: interruption.signal,
      secrets: hideDeclared(parsed, context),
    };
    if (parsed.flag("controls") && reports.reports.length > 0)
      throw usage("--controls writes no --report: a control is no sub-goal");
    if (parsed.flag("controls"))
      return testControls(suite, { ...options, parallel }, parsed, context);
    return testSuite(suite, { ...options, parallel, agent, save, reports }, parsed, context);
  },
};

type Running = ScenarioOptions & { readonly parallel: number };

async function testSuite(
  suite: Suite,
  options: Running & {
    readonly agent: SuiteAgent | undefined;
    readonly save: Saving;
    readonly reports: AskedReports;
  },
  parsed: Parsed,
  context: CommandContext,
): Promise<number> {
  const { terminal, version, interruption } = context;
  const { path, ...who } = options.save;
  const clock = clockOf([]);
  const jobId = newRunId(new Date());
  const producer = { name: "upheld", version };
  const seal =
    path === undefined
      ? undefined
      : new SuiteSeal({ suite, jobId, startedAt: clock(), producer, ...who });
  const live = liveNames(suite.scenarios.length, terminal);
  const told = await runSuite(suite, {
    ...options,
    seal: seal?.sealRun,
    onStart: live.start,
    onEnd: (each) => live.end(each.name, scenarioLine(each, paintOf(false))),
  });
  live.clear();
  const ended = { endedAt: clock(), signal: interruption.signal };
  const report =
    seal === undefined || path === undefined
      ? told
      : { ...told, bundle: await seal.write(path, told.scenarios, ended) };
  return publishSuite(report, options.reports, parsed, context);
}

/** Tells what a sealed suite run came to, with what was judged since. */
async function tellStored(file: string, parsed: Parsed, context: CommandContext): Promise<number> {
  if (parsed.positionals.length > 0 || parsed.rest !== undefined)
    throw usage("--from runs nothing: it takes neither a directory nor a command");
  const reports = askedReports(parsed, context.environment);
  const { readSuite } = await import("./stored-suite.ts");
  const report = await readSuite(file, context.interruption.signal);
  return publishSuite(report, reports, parsed, context);
}

function publishSuite(
  report: SuiteReport,
  reports: AskedReports,
  parsed: Parsed,
  context: CommandContext,
): number {
  const { terminal } = context;
  if (parsed.flag("json")) terminal.out(`${JSON.stringify(report)}\n`);
  else terminal.out(suiteText(report, terminal.colour));
  const subGoals = report.scenarios.flatMap((each) => each.subGoals);
  const exitCode = exitUnder(reports.policy, exitOfSuite(report), subGoals);
  return concluded(exitCode, report.scenarios, reports, context);
}

interface Saving {
  readonly path: string | undefined;
  readonly signer: Signer | undefined;
  readonly sealer: EvidenceSealer["by"] | undefined;
}

function savingOf(parsed: Parsed): Saving {
  const path = parsed.one("save");
  if (path !== undefined && parsed.flag("controls"))
    throw usage("--controls tests the suite itself: it saves nothing");
  return { path, ...sealingOf(parsed) };
}

async function testControls(
  suite: Suite,
  options: Running,
  parsed: Parsed,
  { terminal }: CommandContext,
): Promise<number> {
  const controls = await runControls(suite, options);
  if (parsed.flag("json"))
    terminal.out(`${JSON.stringify({ controls, unproven: unprovenSubGoals(controls) })}\n`);
  else terminal.out(controlsText(controls, terminal.colour));
  return exitOfControls(controls);
}

/** What is not as expected first, then what came to no result, by whose failure it is, then what is not known. */
function exitOfSuite({ scenarios, counts }: SuiteReport): number {
  if (counts.failed > 0) return EXIT.notAsExpected;
  const failures = scenarios.flatMap(({ failure }) => failure ?? []);
  if (failures.some(({ domain }) => domain !== "agent")) return EXIT.infrastructure;
  if (failures.length > 0) return EXIT.agentFailed;
  return counts.undecided > 0 || counts.passed === 0 ? EXIT.undetermined : EXIT.asExpected;
}

function exitOfControls(controls: readonly ControlReport[]): number {
  if (controls.some(({ held }) => held === false)) return EXIT.notAsExpected;
  return controls.length === 0 || controls.some(({ held }) => held === null)
    ? EXIT.undetermined
    : EXIT.asExpected;
}

interface LiveNames {
  readonly start: (name: string) => void;
  readonly end: (name: string, line: string) => void;
  readonly clear: () => void;
}

/** A line of what runs, written over on a terminal; elsewhere a line for each scenario that ended. */
function liveNames(total: number, terminal: CommandContext["terminal"]): LiveNames {
  const running = new Set<string>();
  let ended = 0;
  const clear = (): void => {
    if (terminal.livesOnErr) terminal.err("\r\u001B[K");
  };
  const draw = (): void => {
    if (!terminal.livesOnErr || running.size === 0) return;
    const names = cut([...running].join(", "), MAX_LIVE_NAMES);
    terminal.err(`\r\u001B[K  ${ended} of ${total}   ${names} ...`);
  };
  return {
    start(name) {
      running.add(name);
      draw();
    },
    end(name, line) {
      running.delete(name);
      ended += 1;
      clear();
      terminal.err(`${line}\n`);
      draw();
    },
    clear,
  };
}

function directoryOf({ positionals: [directory, second] }: Parsed): string {
  if (second !== undefined)
    throw usage(`one directory is expected, ${JSON.stringify(second)} is too many`);
  return resolve(directory ?? ".");
}

function agentOf(parsed: Parsed): SuiteAgent | undefined {
  const endpoint = parsed.one("endpoint");
  const { rest } = parsed;
  if (endpoint !== undefined && rest !== undefined)
    throw usage("either --endpoint or a command after --, not both");
  if (rest?.length === 0) throw usage("the agent's command after -- is missing");
  return rest === undefined
    ? endpoint === undefined
      ? undefined
      : { endpoint }
    : { command: rest };
}

function wholeNumber(
  parsed: Parsed,
  name: string,
  fallback: number,
  least: number,
  most: number,
): number {
  const text = parsed.one(name);
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!/^\d{1,6}$/.test(text) || value < least || value > most)
    throw usage(`--${name} ${text}: expected a whole number from ${least} to ${most}`);
  return value;
}
