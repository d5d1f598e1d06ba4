import { basename } from "node:path";
import type { ExpectationFile } from "../core/expectation.ts";
import type { RunRecord } from "../evidence/record/run-record.ts";
import type { ClaimJudgment } from "../judge/judge-bundle.ts";
import type { JudgeIdentity, Judgment } from "../judge/judgment.ts";
import { fateOf, judgingCost, judgingCounts, type JudgingCost } from "../judge/summary.ts";
import { count, counted, cut } from "../report/bounds.ts";
import type { ReportedGroup } from "../report/outcome.ts";
import { paintOf, type Paint } from "../report/paint.ts";
import { printable } from "../report/printable.ts";
import { reportOfRecord } from "../report/record-report.ts";
import type { ReportedSubGoal } from "../report/run-report.ts";
import { verdictText } from "../report/verdict-text.ts";
import { EXIT, exitOfSubGoals } from "./exit.ts";
import { brokenText, bundleName, type BrokenBundle, type BundleToJudge } from "./judged-bundle.ts";

/** What came of one bundle. */
export type JudgedBundle =
  | BrokenBundle
  | {
      readonly bundle: BundleToJudge;
      readonly judged: readonly ClaimJudgment[];
      /** What was recorded now, members of a panel too. */
      readonly made: readonly Judgment[];
    };

/** Who judged, and what came of each bundle. */
export interface Judging {
  readonly judge: JudgeIdentity;
  readonly bundles: readonly JudgedBundle[];
}

const MAX_REASON = 400;

/** The exit code: not intact, then not as expected, then a judge that failed, then what is not known. */
export function exitOfJudging(bundles: readonly JudgedBundle[]): number {
  const order = [EXIT.notIntact, EXIT.notAsExpected, EXIT.infrastructure, EXIT.undetermined];
  const codes = new Set(bundles.map(exitOfBundle));
  return order.find((code) => codes.has(code)) ?? EXIT.asExpected;
}

function exitOfBundle(each: JudgedBundle): number {
  if ("fault" in each) return EXIT.notIntact;
  const held = subGoalsOf(each).map((subGoal) => subGoal.held);
  const code = exitOfSubGoals(held, undefined);
  const failed = each.judged.some(({ judgment }) => fateOf(judgment) === "failed");
  return code === EXIT.undetermined && failed ? EXIT.infrastructure : code;
}

/** The sub-goals of a bundle: those of code as they were scored, and those of the judge as it decided. */
function subGoalsOf({
  bundle: { record, claims },
  judged,
}: Exclude<JudgedBundle, BrokenBundle>): readonly ReportedSubGoal[] {
  const byName = new Map(judged.map((each) => [each.claim.name, each.judgment]));
  return openSubGoals(record, claims).map((subGoal) => {
    const judgment = byName.get(subGoal.name);
    if (subGoal.decidedBy === "code" || judgment === undefined) return subGoal;
    return asJudged(subGoal, judgment);
  });
}

/** The sub-goals of each bundle under its name; one that is not intact has none. */
export function groupsOfJudging(bundles: readonly JudgedBundle[]): readonly ReportedGroup[] {
  return bundles.map((each) => {
    if ("fault" in each) {
      const failure = { domain: "evidence", code: each.fault.reason, message: brokenText(each) };
      return { name: basename(each.path), subGoals: [], notSeen: [], failure };
    }
    const { path, scenario, record } = each.bundle;
    const name = scenario === undefined ? basename(path) : `${basename(path)} ${scenario}`;
    return { name, run: record.run, subGoals: subGoalsOf(each), notSeen: [] };
  });
}

/** As they were sealed; of other claims, those that are for a judge. */
function openSubGoals(
  record: RunRecord,
  claims: ExpectationFile | undefined,
): readonly ReportedSubGoal[] {
  if (claims === record.claims) return reportOfRecord(record).subGoals;
  const subGoals = (claims?.subGoals ?? []).filter((subGoal) => "judged" in subGoal);
  return reportOfRecord({
    ...record,
    claims: { schemaVersion: 1, subGoals },
    grading: undefined,
  }).subGoals;
}

/** A sub-goal as a judge decided it. */
export function asJudged(
  subGoal: ReportedSubGoal,
  judgment: Pick<Judgment, "verdict" | "outcome"> & { readonly judge: { readonly name: string } },
): ReportedSubGoal {
  const { verdict, judge } = judgment;
  return {
    ...subGoal,
    verdict,
    method: judge.name,
    held: verdict.value === "undetermined" ? null : verdict.value === "upheld",
    rationale: reasonOf(judgment),
  };
}

function reasonOf({ outcome }: Pick<Judgment, "outcome">): string {
  switch (outcome.kind) {
    case "answered":
      return outcome.reason;
    case "not_asked":
      return "Not put to a judge: evidence that it needs is missing.";
    case "failed":
      return `The judge failed (${outcome.code}): ${outcome.detail}`;
    case "panel": {
      const { members, agreement } = outcome;
      const told = members.map(({ value }) => value).join(", ");
      return agreement === null
        ? told
        : `${told}; ${agreement.agreed} of the ${agreement.decided} that decided agree`;
    }
  }
}

/** What `--json` prints. */
export function judgingJson({ judge, bundles }: Judging): object {
  return {
    judge,
    bundles: bundles.map((each) =>
      "fault" in each
        ? { bundle: each.path, ok: false, fault: each.fault }
        : {
            bundle: each.bundle.path,
            ...(each.bundle.scenario === undefined ? {} : { scenario: each.bundle.scenario }),
            ok: true,
            digest: each.bundle.evidence.bundle,
            judgmentFile: each.bundle.judgmentFile,
            unreadJudgments: each.bundle.stored.unread,
            judgmentsOfOtherBundles: each.bundle.foreign,
            subGoals: subGoalsOf(each),
            judgments: each.judged.map(({ claim, judgment, isNew }) => ({
              claim: claim.name,
              fate: fateOf(judgment),
              isNew,
              judgment: judgment ?? null,
            })),
            counts: judgingCounts(each.judged),
          },
    ),
    counts: judgingCounts(bundles.flatMap((each) => ("fault" in each ? [] : each.judged))),
    cost: judgingCost(bundles.flatMap((each) => ("fault" in each ? [] : each.made))),
  };
}

/** The same for a person. */
export function judgingText({ judge, bundles }: Judging, colour: boolean): string {
  const paint = paintOf(colour);
  const cost = judgingCost(bundles.flatMap((each) => ("fault" in each ? [] : each.made)));
  const lines = [
    `  judge      ${printable(judge.name)} (${judge.kind}), ${costText(cost)}`,
    ...bundles.flatMap((each) => bundleText(each, { paint, named: bundles.length > 1 })),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

function costText({
  questions,
  attempts,
  inputTokens,
  outputTokens,
  costUsd,
}: JudgingCost): string {
  const again = attempts > questions ? [`${count(attempts - questions)} asked again`] : [];
  const tokens = inputTokens + outputTokens;
  return [
    counted(questions, "question"),
    ...again,
    ...(tokens > 0 ? [counted(tokens, "token")] : []),
    ...(costUsd === null ? [] : [`$${costUsd.toFixed(4)}`]),
  ].join(", ");
}

function bundleText(
  each: JudgedBundle,
  { paint, named }: { readonly paint: Paint; readonly named: boolean },
): readonly string[] {
  if ("fault" in each)
    return [`  NOT INTACT ${printable(each.path)}  ${printable(brokenText(each))}`];
  const { bundle, judged } = each;
  const subGoals = subGoalsOf(each);
  const told = verdictText(subGoals.map(withoutReason), paint);
  const lines = told.flatMap((line, index) => {
    const subGoal = subGoals[index];
    return subGoal === undefined ? [line] : [line, ...reasonLine(subGoal, judged)];
  });
  return [
    ...(named ? [`  bundle     ${printable(bundleName(bundle))}  ${bundle.evidence.bundle}`] : []),
    ...lines,
    ...notJudgedText(judged),
    `  judgments  ${printable(bundle.judgmentFile)}  ${newText(judged)}`,
    ...unreadText(bundle),
  ];
}

/** The reason of a judge stands in a line of its own. */
function withoutReason(subGoal: ReportedSubGoal): ReportedSubGoal {
  return subGoal.decidedBy === "code"
    ? subGoal
    : { ...subGoal, rationale: "Nothing of its evidence is missing" };
}

function reasonLine(
  { name, rationale, decidedBy }: ReportedSubGoal,
  judged: readonly ClaimJudgment[],
): readonly string[] {
  const judgment = judged.find(({ claim }) => claim.name === name)?.judgment;
  if (decidedBy === "code" || judgment === undefined) return [];
  if (judgment.outcome.kind === "not_asked") return [];
  return [`                ${printable(cut(rationale, MAX_REASON))}`];
}

/** What no judge decided, apart from what one could not tell. */
function notJudgedText(judged: readonly ClaimJudgment[]): readonly string[] {
  const { insufficient, failed, unaffordable } = judgingCounts(judged);
  const told = [
    ...(failed > 0 ? [`the judge failed at ${counted(failed, "claim")}`] : []),
    ...(insufficient > 0 ? [`evidence is missing for ${counted(insufficient, "claim")}`] : []),
    ...(unaffordable > 0 ? [`the budget was spent before ${counted(unaffordable, "claim")}`] : []),
  ];
  return told.length === 0 ? [] : [`  not judged ${told.join(", ")}`];
}

function newText(judged: readonly ClaimJudgment[]): string {
  const made = judged.filter(({ judgment, isNew }) => isNew && judgment !== undefined).length;
  const kept = judged.filter(({ isNew }) => !isNew).length;
  return kept === 0 ? `${count(made)} new` : `${count(made)} new, ${count(kept)} from before`;
}

/** Lines of a file of judgments that bear on nothing. */
export function unreadText({ stored, foreign }: BundleToJudge): readonly string[] {
  const told = [
    ...(stored.unread === 0 ? [] : [`${counted(stored.unread, "line")} could not be read`]),
    ...(foreign === 0 ? [] : [`${counted(foreign, "judgment")} of another bundle`]),
  ];
  return told.length === 0 ? [] : [`             ${told.join(", ")}`];
}
