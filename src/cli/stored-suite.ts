import { UpheldError } from "../core/errors.ts";
import { gap, type Gap } from "../core/gap.ts";
import { readRunRecord } from "../evidence/record/read-run.ts";
import { TITLES } from "../evidence/record/part-titles.ts";
import type { ReceiptStatus } from "../evidence/receipt.ts";
import type { SuiteScenario } from "../evidence/suite-statement.ts";
import type { IntactScenario } from "../evidence/verify-suite.ts";
import { claimsToJudge } from "../judge/claim.ts";
import { judgmentFileOf, readJudgments } from "../judge/judgment-file.ts";
import type { Judgment } from "../judge/judgment.ts";
import { settledClaim } from "../judge/settled.ts";
import { reportOfRecord } from "../report/record-report.ts";
import type { ReportedSubGoal } from "../report/run-report.ts";
import { scenarioResult } from "../report/scenario-result.ts";
import { suiteReport, type ScenarioReport, type SuiteReport } from "../report/suite-report.ts";
import { nodeHasher } from "../store/hasher.ts";
import { openBundle, type OpenBundle } from "../store/open-bundle.ts";
import { asJudged } from "./judge-report.ts";
import { isSuite, requireIntact } from "./verified-bundle.ts";

/**
 * What a sealed suite run came to, with what was judged since. It is never stronger than its evidence: a scenario whose evidence is
 * not there did not pass. Throws "bundle_invalid" where the bundle is not intact, or is of one run.
 */
export async function readSuite(file: string, signal: AbortSignal): Promise<SuiteReport> {
  await using bundle = await openBundle(file);
  const answer = await requireIntact(file, bundle, { keys: [], signal });
  if (!isSuite(answer))
    throw new UpheldError("bundle_invalid", `${file} is of one run, not of a suite`);
  const { judgments, unread } = await readJudgments(judgmentFileOf(file));
  const sealed = new Map(answer.scenarios.map((each) => [each.scenario.statement, each]));
  const scenarios: ScenarioReport[] = [];
  for (const each of answer.statement.predicate.scenarios) {
    const intact = each.state === "sealed" ? sealed.get(each.statement) : undefined;
    scenarios.push(
      intact === undefined ? absentReport(each) : await sealedReport(intact, { bundle, judgments }),
    );
  }
  const notes = unread === 0 ? [] : [`${unread} lines of judgments could not be read`];
  return suiteReport(scenarios, notes);
}

async function sealedReport(
  { scenario, statement, withheld }: IntactScenario,
  { bundle, judgments }: { readonly bundle: OpenBundle; readonly judgments: readonly Judgment[] },
): Promise<ScenarioReport> {
  const record = await readRunRecord(bundle, statement, { hasher: nodeHasher });
  const { run, subGoals: sealed, notSeen } = reportOfRecord(record);
  const claims = record.claims === undefined ? [] : claimsToJudge(record.claims);
  const settled = new Map(
    claims.map((claim) => [claim.name, settledClaim(scenario.statement, claim, judgments)]),
  );
  const subGoals = sealed.map((subGoal): ReportedSubGoal => {
    const judged = settled.get(subGoal.name);
    const [first] = judged?.judgments ?? [];
    if (judged === undefined || first === undefined || subGoal.decidedBy === "code") return subGoal;
    const judge = { name: judged.judges.join(", ") };
    return asJudged(subGoal, { outcome: first.outcome, verdict: judged.verdict, judge });
  });
  const missing = decisiveGaps(statement, withheld);
  const { status, failure } = scenarioResult({ run, subGoals });
  return {
    name: scenario.scenarioKey,
    status: missing.length > 0 ? atMostUndecided(status) : status,
    attempts: scenario.scenarioAttempt,
    durationMs: run?.agent?.durationMs ?? 0,
    subGoals,
    ...(failure === undefined ? {} : { failure }),
    ...(run === null ? {} : { run }),
    notSeen: [...notSeen, ...missing],
    bundle: {
      digest: scenario.statement,
      parts: statement.predicate.parts.length,
      sizeBytes: statement.predicate.parts.reduce(
        (sum, part) => sum + ("sizeBytes" in part ? part.sizeBytes : 0),
        0,
      ),
    },
  };
}

/** The parts without which it is not known what all was asked, or what came of it. */
const DECISIVE: readonly string[] = [TITLES.claims, TITLES.grading, TITLES.scores];

function decisiveGaps(
  { predicate }: IntactScenario["statement"],
  withheld: readonly string[],
): readonly Gap[] {
  return predicate.parts
    .filter(({ title }) => DECISIVE.includes(title))
    .flatMap(({ title, state }) => {
      if (state === "omitted") return [gap("text_not_retained", title)];
      return state === "withheld" || withheld.includes(title) ? [gap("part_withheld", title)] : [];
    });
}

function absentReport(scenario: SuiteScenario): ScenarioReport {
  const { scenarioKey, scenarioAttempt } = scenario;
  const named = { name: scenarioKey, attempts: scenarioAttempt, durationMs: 0, subGoals: [] };
  const absent = scenario.state === "absent" ? scenario : undefined;
  const { status, failure, reason = "no evidence" } = absent ?? {};
  const missing = gap("part_withheld", scenarioKey, { detail: reason, remedy: "Run it again." });
  return {
    ...named,
    ...(status === "skipped" ? { attempts: 0, skipped: reason } : {}),
    status: atMostUndecided(status ?? "undecided"),
    ...(failure === undefined ? {} : { failure }),
    notSeen: status === "skipped" || failure !== undefined ? [] : [missing],
  };
}

/** What cannot be seen to have passed did not pass. */
function atMostUndecided(status: ReceiptStatus): ReceiptStatus {
  return status === "passed" ? "undecided" : status;
}
