import { judgeDigest, type JudgeIdentity, type Judgment } from "./judgment.ts";

/** Two figures between which the true one lies: with what is undecided counted against, and for; or with 95 % confidence. */
export interface Interval {
  readonly lower: number;
  readonly upper: number;
}

/** How a judge's verdicts on one claim agree with what people said, over bundles. */
export interface Agreement {
  /** The name of the claim. */
  readonly criterion: string;
  readonly judge: JudgeIdentity;
  /** Bundles in which people and the judge both came to a yes or no. */
  readonly both: {
    readonly heldHeld: number;
    readonly heldRefuted: number;
    readonly refutedHeld: number;
    readonly refutedRefuted: number;
  };
  /** Bundles that are labelled, and not compared: the judge undecided, failed or without a judgment; people who could not tell or disagree. */
  readonly apart: {
    readonly judgeUndecided: number;
    readonly judgeFailed: number;
    readonly notJudged: number;
    readonly peopleUndecided: number;
    readonly peopleDisagree: number;
  };
  /** Of what both decided, the share that is equal; null where there is none. */
  readonly agreed: number | null;
  /** Its 95 % interval (Wilson). */
  readonly agreedInterval: Interval | null;
  /** The share of all bundles that people decided: what the judge left open counted against, and for. */
  readonly bounds: Interval | null;
  /** How often people said yes, of what they decided: what a judge would reach that always says the more frequent. */
  readonly baseRate: number | null;
  /** Cohen's kappa; null where there is nothing to compare, or where both always say the same, so that chance alone agrees. */
  readonly kappa: number | null;
  /** Its 95 % interval. */
  readonly kappaInterval: Interval | null;
}

/** A judge and a criterion, with the latest judgments of both sides by bundle. */
interface Group {
  readonly criterion: string;
  readonly judge: JudgeIdentity;
  readonly judged: ReadonlyMap<string, Judgment>;
  readonly labels: ReadonlyMap<string, Label>;
}

type Label = boolean | "undecided" | "disagree";

/** Compares every judge with people, claim by claim. What people never labelled bears on nothing. */
export function agreementsOf(judgments: readonly Judgment[]): readonly Agreement[] {
  const byClaim = groupBy(judgments, ({ claim }) => claim.digest);
  return [...byClaim.values()].flatMap(agreementsOfClaim).toSorted(byName);
}

function byName(left: Agreement, right: Agreement): number {
  const key = ({ criterion, judge }: Agreement): string =>
    `${criterion}\n${judge.name}\n${judgeDigest(judge)}`;
  return key(left) < key(right) ? -1 : 1;
}

function agreementsOfClaim(judgments: readonly Judgment[]): readonly Agreement[] {
  const people = judgments.filter(({ judge }) => judge.kind === "person");
  const others = judgments.filter(({ judge }) => judge.kind !== "person");
  const labels = labelsOf(people);
  if (labels.size === 0) return [];
  return [...groupBy(others, ({ judge }) => judgeDigest(judge)).values()].flatMap((own) => {
    const [first] = own;
    if (first === undefined) return [];
    const judged = latestBy(own, ({ bundle }) => bundle);
    return [agreementOf({ criterion: first.claim.name, judge: first.judge, judged, labels })];
  });
}

/** What people say of a bundle: each by the latest word; where they differ, nothing can be held against a judge. */
function labelsOf(people: readonly Judgment[]): ReadonlyMap<string, Label> {
  const byBundle = groupBy(people, ({ bundle }) => bundle);
  return new Map([...byBundle].map(([bundle, all]) => [bundle, labelOf(all)] as const));
}

function labelOf(people: readonly Judgment[]): Label {
  const latest = latestBy(people, ({ judge }) => judge.name);
  const said = new Set([...latest.values()].map(heldOf));
  const [only = null] = said;
  return said.size > 1 ? "disagree" : (only ?? "undecided");
}

/** A person's label is what was said, whatever the rules conclude from it. */
function heldOf({ outcome }: Judgment): boolean | null {
  return outcome.kind === "answered" ? outcome.held : null;
}

/** The last of each key, as the file has them. A failure is no word of a judge where there is another. */
function latestBy(
  judgments: readonly Judgment[],
  keyOf: (judgment: Judgment) => string,
): ReadonlyMap<string, Judgment> {
  const ranked = [
    ...judgments.filter(({ outcome }) => outcome.kind === "failed"),
    ...judgments.filter(({ outcome }) => outcome.kind !== "failed"),
  ];
  return new Map(ranked.map((each) => [keyOf(each), each]));
}

type Fate = "held" | "refuted" | "judgeUndecided" | "judgeFailed" | "notJudged";

function fateOf(judgment: Judgment | undefined): Fate {
  if (judgment === undefined) return "notJudged";
  if (judgment.outcome.kind === "failed") return "judgeFailed";
  switch (judgment.verdict.value) {
    case "upheld":
      return "held";
    case "refuted":
      return "refuted";
    case "undetermined":
      return "judgeUndecided";
  }
}

function agreementOf({ criterion, judge, judged, labels }: Group): Agreement {
  const pairs = [...labels].map(([bundle, label]) => ({ label, fate: fateOf(judged.get(bundle)) }));
  const decided = pairs.filter(({ label }) => typeof label === "boolean");
  const of = (label: Label, fate: Fate): number =>
    pairs.filter((each) => each.label === label && each.fate === fate).length;
  const fates = (fate: Fate): number => decided.filter((each) => each.fate === fate).length;
  const both = {
    heldHeld: of(true, "held"),
    heldRefuted: of(true, "refuted"),
    refutedHeld: of(false, "held"),
    refutedRefuted: of(false, "refuted"),
  };
  const equal = both.heldHeld + both.refutedRefuted;
  const compared = equal + both.heldRefuted + both.refutedHeld;
  const yes = decided.filter(({ label }) => label === true).length;
  return {
    criterion,
    judge,
    both,
    apart: {
      judgeUndecided: fates("judgeUndecided"),
      judgeFailed: fates("judgeFailed"),
      notJudged: fates("notJudged"),
      peopleUndecided: pairs.filter(({ label }) => label === "undecided").length,
      peopleDisagree: pairs.filter(({ label }) => label === "disagree").length,
    },
    agreed: share(equal, compared),
    agreedInterval: compared === 0 ? null : wilson(equal, compared),
    bounds: boundsOf(equal, compared, decided.length),
    baseRate: share(yes, decided.length),
    ...kappaOf(both, compared),
  };
}

function boundsOf(equal: number, compared: number, decided: number): Interval | null {
  if (decided === 0) return null;
  return { lower: equal / decided, upper: (equal + decided - compared) / decided };
}

function share(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}

/** The 97.5 % point of the normal distribution. */
const Z = 1.959_963_984_540_054;

/** The Wilson score interval of a share: sound for small numbers, never outside of 0 and 1. */
function wilson(part: number, whole: number): Interval {
  const p = part / whole;
  const centre = p + (Z * Z) / (2 * whole);
  const spread = Z * Math.sqrt((p * (1 - p)) / whole + (Z * Z) / (4 * whole * whole));
  const scale = 1 + (Z * Z) / whole;
  return {
    lower: Math.max(0, (centre - spread) / scale),
    upper: Math.min(1, (centre + spread) / scale),
  };
}

/**
 * Cohen's kappa of a table of two by two. Its interval is that of the observed agreement (Wilson), with the expected agreement held:
 * the usual standard error is zero where a few cases all agree, which would claim certainty.
 */
function kappaOf(
  { heldHeld, heldRefuted, refutedHeld, refutedRefuted }: Agreement["both"],
  total: number,
): Pick<Agreement, "kappa" | "kappaInterval"> {
  const people = (heldHeld + heldRefuted) / total;
  const judge = (heldHeld + refutedHeld) / total;
  const expected = people * judge + (1 - people) * (1 - judge);
  if (total === 0 || expected === 1) return { kappa: null, kappaInterval: null };
  const equal = heldHeld + refutedRefuted;
  const beyondChance = (observed: number): number => (observed - expected) / (1 - expected);
  const { lower, upper } = wilson(equal, total);
  return {
    kappa: beyondChance(equal / total),
    kappaInterval: { lower: Math.max(-1, beyondChance(lower)), upper: beyondChance(upper) },
  };
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
