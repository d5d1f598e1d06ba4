import { randomUUID } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import { leavesOf } from "../core/condition.ts";
import { NonReplayableObservationError, UpheldError, isUpheldError } from "../core/errors.ts";
import { expectationFingerprint, type ExpectationFile } from "../core/expectation.ts";
import { ScoreId } from "../core/ids.ts";
import { parseObservation, type Observation } from "../core/observation.ts";
import type { ScoringContext } from "../core/scorer.ts";
import { parseStrictJsonBytes } from "../core/strict-json.ts";
import { BUNDLE_FAULTS } from "../evidence/faults.ts";
import { verifyBundle } from "../evidence/verify.ts";
import type { ReportedGroup } from "../report/outcome.ts";
import {
  runReport,
  type ReportedRun,
  type RunReport,
  type ScoredSubGoal,
} from "../report/run-report.ts";
import { decisionText } from "../report/text.ts";
import { systemClock } from "../run/clock.ts";
import { contextOfObservations, replay } from "../scorers/replay.ts";
import { scoreOf } from "../scorers/score.ts";
import { conditionOf, expectationOf } from "../scorers/sub-goal.ts";
import { nodeHasher } from "../store/hasher.ts";
import { openBundle } from "../store/open-bundle.ts";
import { readRunRecord } from "../evidence/record/read-run.ts";
import { readClaimsFile } from "./claims-file.ts";
import type { Command } from "./command.ts";
import { exitOfSubGoals, exitUnder } from "./exit.ts";
import { onlyArgument, parseOptions, usage } from "./options.ts";
import { printJson } from "./publish.ts";
import { askedReports, concluded, REPORT_OPTIONS } from "./reports.ts";
import { hideDeclared, SECRET_OPTION } from "./secrets.ts";

const OPTIONS = {
  expect: { value: "FILE", help: "the claims to decide over what is stored (YAML or JSON)" },
  json: { help: "print one JSON object" },
  ...REPORT_OPTIONS,
  secret: SECRET_OPTION,
};

export const scoreCommand: Command = {
  name: "score",
  summary: "Decide claims over stored evidence: a new criterion, the old run.",
  usage: ["upheld score FILE --expect FILE [--json]"],
  options: OPTIONS,
  examples: [
    ["ask a sealed run another question", "upheld score run.upheld --expect other.yaml"],
    ["over one observation", "upheld score observation.json --expect other.yaml"],
  ],
  async run(args, context) {
    const { terminal, interruption } = context;
    const parsed = parseOptions(OPTIONS, args);
    hideDeclared(parsed, context);
    const file = onlyArgument(parsed, "a bundle or an observation");
    const expect = parsed.one("expect");
    if (expect === undefined)
      throw usage("--expect FILE is missing: which claims are to be decided?");
    const reports = askedReports(parsed, context.environment);
    const claims = readClaimsFile(expect);
    const stored = await readStored(file, claims, interruption.signal);
    const report = runReport({ ...stored, subGoals: scored(claims, stored) });
    if (parsed.flag("json")) printJson(report, terminal);
    else terminal.out(decisionText(report, terminal.colour));
    const { subGoals } = report;
    const held = subGoals.map((each) => each.held);
    const exitCode = exitUnder(reports.policy, exitOfSubGoals(held, undefined), subGoals);
    return concluded(exitCode, [groupOfStored(file, report)], reports, context);
  },
};

/** The agent's own failure is no part of a new question. */
function groupOfStored(file: string, { run, subGoals, notSeen }: RunReport): ReportedGroup {
  return { name: basename(file), run, subGoals, notSeen };
}

/** Evidence that was stored, and what it is known to be whole about. */
interface Stored {
  readonly run: ReportedRun | null;
  readonly deltas: readonly Observation[];
  readonly observations: readonly Observation[];
  readonly context: ScoringContext;
}

function scored(claims: ExpectationFile, stored: Stored): readonly ScoredSubGoal[] {
  const expectation = expectationFingerprint(expectationOf(claims));
  const stamp = { newId: () => ScoreId.parse(randomUUID()), now: systemClock };
  const all = [...stored.deltas, ...stored.observations];
  return claims.subGoals.map((subGoal) => {
    const condition = conditionOf(subGoal);
    const decision = inSubGoal(subGoal.name, () => replay(condition, all, stored.context));
    return { subGoal, score: scoreOf(condition, decision, expectation, stamp) };
  });
}

/** Says of which sub-goal it is that the evidence does not cover it. */
function inSubGoal<T>(name: string, decide: () => T): T {
  try {
    return decide();
  } catch (cause) {
    if (!isUpheldError(cause) || cause.code !== "not_replayable") throw cause;
    throw new NonReplayableObservationError(
      `${name} cannot be decided over what is stored: ${cause.message}`,
      { cause },
    );
  }
}

async function readStored(
  file: string,
  claims: ExpectationFile,
  signal: AbortSignal,
): Promise<Stored> {
  if (isJson(file)) return readObservations(file, claims);
  await using bundle = await openBundle(file);
  const answer = await verifyBundle(bundle, { hasher: nodeHasher, signal });
  if (!answer.ok)
    throw new UpheldError(
      "bundle_invalid",
      `${file} is not intact: ${answer.reason} at ${answer.at}. ${BUNDLE_FAULTS[answer.reason]}`,
    );
  const { run, roots, deltas, observations } = await readRunRecord(bundle, answer.statement, {
    hasher: nodeHasher,
  });
  const { conversation, calls } = contextOfObservations([...deltas, ...observations]);
  return { run, deltas, observations, context: { roots, conversation, calls } };
}

/** A bundle can have any name; an observation ends in .json. */
function isJson(file: string): boolean {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false;
  return file.endsWith(".json");
}

function readObservations(file: string, claims: ExpectationFile): Stored {
  const value = parseStrictJsonBytes(readFileSync(file));
  const observations = (Array.isArray(value) ? value : [value]).map(parseObservation);
  refuseWholeRun(claims);
  return { run: null, deltas: [], observations, context: contextOfObservations(observations) };
}

/** That nothing else changed is a claim about every root of the run, and some observations do not say which there were. */
function refuseWholeRun(claims: ExpectationFile): void {
  for (const goal of claims.subGoals)
    for (const { kind } of leavesOf(conditionOf(goal)))
      if (kind === "changed_only")
        throw new NonReplayableObservationError(
          `${goal.name} is about every root of the run, which single observations do not name: score the bundle`,
        );
}
