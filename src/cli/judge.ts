import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Judge } from "../judge/judge.ts";
import { atMost, budgetOf } from "../judge/budget.ts";
import { claimsToJudge } from "../judge/claim.ts";
import { judgeBundle, type JudgingOptions } from "../judge/judge-bundle.ts";
import { appendJudgments } from "../judge/judgment-file.ts";
import type { Judgment } from "../judge/judgment.ts";
import { judgeByPanel, panelIdentity } from "../judge/panel.ts";
import { systemClock } from "../run/clock.ts";
import { readClaimsFile } from "./claims-file.ts";
import type { Command, CommandContext } from "./command.ts";
import { exitUnder } from "./exit.ts";
import {
  exitOfJudging,
  groupsOfJudging,
  judgingJson,
  judgingText,
  type JudgedBundle,
  type Judging,
} from "./judge-report.ts";
import {
  budgetLimitOf,
  concurrencyOf,
  JUDGE_OPTIONS,
  judgeLimitsOf,
  judgesOf,
  priceOf,
} from "./judge-options.ts";
import { readBundlesToJudge, type BrokenBundle, type BundleToJudge } from "./judged-bundle.ts";
import { parseOptions, usage, type Parsed } from "./options.ts";
import { PERSON_OPTIONS, personOf, recordDecisions } from "./person-decisions.ts";
import { askedReports, concluded, REPORT_OPTIONS } from "./reports.ts";
import { progressOn, type Progress } from "./progress.ts";

const OPTIONS = {
  ...JUDGE_OPTIONS,
  ...PERSON_OPTIONS,
  expect: { value: "FILE", help: "claims to judge in place of those that were sealed" },
  json: { help: "print one JSON object" },
  ...REPORT_OPTIONS,
};

export const judgeCommand: Command = {
  name: "judge",
  summary: "Let a judge decide, over sealed evidence, what no code can.",
  usage: [
    "upheld judge BUNDLE... --model API:NAME [--url URL] [--expect FILE] [--json]",
    "upheld judge BUNDLE... --command COMMAND",
    "upheld judge BUNDLE... --person NAME --decide CLAIM=true|false|null... [--because TEXT]",
  ],
  options: OPTIONS,
  examples: [
    ["a model", "upheld judge run.upheld --model anthropic:claude-sonnet-4-5"],
    [
      "one on this machine",
      "upheld judge run.upheld --model llama3 --url http://127.0.0.1:11434/v1",
    ],
    ["a program of yours", "upheld judge run.upheld --command 'python3 judge.py'"],
  ],
  async run(args, context) {
    const parsed = parseOptions(OPTIONS, args);
    const reports = askedReports(parsed, context.environment);
    const told = await judging(parsed, context);
    if (parsed.flag("json")) context.terminal.out(`${JSON.stringify(judgingJson(told))}\n`);
    else context.terminal.out(judgingText(told, context.terminal.colour));
    const groups = groupsOfJudging(told.bundles);
    const subGoals = groups.flatMap((each) => each.subGoals);
    const exitCode = exitUnder(reports.policy, exitOfJudging(told.bundles), subGoals);
    return concluded(exitCode, groups, reports, context);
  },
};

async function judging(parsed: Parsed, context: CommandContext): Promise<Judging> {
  const paths = bundlesOf(parsed);
  const person = personOf(parsed);
  const judges = person === undefined ? await judgesOf(parsed, context.environment) : [];
  const expect = parsed.one("expect");
  const claims = expect === undefined ? undefined : readClaimsFile(expect);
  const { signal } = context.interruption;
  const read = await Promise.all(paths.map((path) => readBundlesToJudge(path, claims, signal)));
  const bundles = read.flat();
  refuseNothingToJudge(bundles);
  if (person !== undefined) return recordDecisions(bundles, person);
  const [only] = judges;
  const identity =
    only !== undefined && judges.length === 1
      ? only.identity
      : panelIdentity(judges.map(({ identity: each }) => each));
  return { judge: identity, bundles: await judgeAll(bundles, { judges, parsed, context }) };
}

/** The bundles that a command names. Throws "argument_invalid" where there is none. */
export function bundlesOf({ positionals, rest }: Parsed): readonly string[] {
  if (rest !== undefined) throw usage('this command takes no "--"');
  if (positionals.length === 0) throw usage("a bundle is missing");
  return [...new Set(positionals)];
}

interface Work {
  readonly judges: readonly Judge[];
  readonly parsed: Parsed;
  readonly context: CommandContext;
}

async function judgeAll(
  bundles: readonly (BundleToJudge | BrokenBundle)[],
  work: Work,
): Promise<readonly JudgedBundle[]> {
  const { parsed, context } = work;
  const { signal } = context.interruption;
  const limit = budgetLimitOf(parsed);
  const gate = atMost(concurrencyOf(parsed));
  const judges = work.judges.map((judge): Judge => ({
    identity: judge.identity,
    ask: (prompt, options) => gate(() => judge.ask(prompt, options)),
  }));
  const progress = progressOn(context.terminal);
  const means = {
    signal,
    limits: judgeLimitsOf(parsed),
    newId: randomUUID,
    newNonce: () => randomBytes(16).toString("hex"),
    milliseconds: () => performance.now(),
    wait: (milliseconds: number, until: AbortSignal) =>
      sleep(milliseconds, undefined, { signal: until }),
    price: priceOf(parsed),
    now: systemClock,
    budget: limit === undefined ? undefined : budgetOf(limit),
  };
  const count = { done: 0 };
  const append = appender();
  const judged = await Promise.all(
    bundles.map(async (bundle) =>
      "fault" in bundle ? bundle : judgeOne(bundle, judges, { means, progress, count, append }),
    ),
  );
  progress.clear();
  return judged;
}

function refuseNothingToJudge(bundles: readonly (BundleToJudge | BrokenBundle)[]): void {
  const readable = bundles.flatMap((each) => ("fault" in each ? [] : [each.claims]));
  const some = readable.some((claims) => claims !== undefined && claimsToJudge(claims).length > 0);
  if (readable.length > 0 && !some)
    throw usage("there is no claim for a judge: give --expect FILE with a sub-goal that is judged");
}

async function judgeOne(
  bundle: BundleToJudge,
  judges: readonly Judge[],
  {
    means,
    progress,
    count,
    append,
  }: {
    readonly append: typeof appendJudgments;
    readonly means: Omit<JudgingOptions, "record" | "earlier">;
    readonly progress: Progress;
    readonly count: { done: number };
  },
): Promise<JudgedBundle> {
  const { evidence, claims, judgmentFile, stored } = bundle;
  const made: Judgment[] = [];
  const options: JudgingOptions = {
    ...means,
    earlier: stored.judgments,
    record: async (judgments) => {
      await append(judgmentFile, judgments);
      made.push(...judgments);
      count.done += judgments.length;
      progress.update("judged", count.done);
    },
  };
  const asked = claims === undefined ? [] : claimsToJudge(claims);
  const [only, ...others] = judges;
  const judged =
    only !== undefined && others.length === 0
      ? await judgeBundle(evidence, asked, only, options)
      : await judgeByPanel(evidence, asked, judges, options);
  return { bundle, judged, made };
}

/** Appends to one file never overlap: the scenarios of a suite share one. */
function appender(): typeof appendJudgments {
  const last = new Map<string, Promise<void>>();
  return (path, judgments) => {
    const before = last.get(path) ?? Promise.resolve();
    const next = before.then(() => appendJudgments(path, judgments));
    last.set(
      path,
      next.catch(() => undefined),
    );
    return next;
  };
}
