import { gap, nonEmpty } from "../core/gap.ts";
import { refuted, undetermined, upheld, type Verdict, type VerdictValue } from "../core/verdict.ts";
import type { JudgedClaim } from "./claim.ts";
import type { JudgedEvidence } from "./evidence.ts";
import type { Judge } from "./judge.ts";
import {
  judgeBundle,
  recordMaker,
  type ClaimJudgment,
  type JudgingOptions,
} from "./judge-bundle.ts";
import {
  judgeDigest,
  type JudgeIdentity,
  type Judgment,
  type JudgmentOutcome,
} from "./judgment.ts";

/** The panel of some judges. */
export function panelIdentity(members: readonly JudgeIdentity[]): JudgeIdentity {
  return {
    kind: "panel",
    name: `panel of ${members.length}`,
    parameters: {},
    members: members.toSorted((left, right) => (judgeDigest(left) < judgeDigest(right) ? -1 : 1)),
  };
}

/**
 * Lets every judge judge every claim by itself, and joins what they came to: a verdict stands where more than half of all
 * members reached it; a failed member reached none. Each member's judgments are recorded too.
 */
export async function judgeByPanel(
  evidence: JudgedEvidence,
  claims: readonly JudgedClaim[],
  judges: readonly Judge[],
  options: JudgingOptions,
): Promise<readonly ClaimJudgment[]> {
  const all = await Promise.all(
    judges.map((judge) => judgeBundle(evidence, claims, judge, options)),
  );
  const identity = panelIdentity(judges.map((judge) => judge.identity));
  const make = recordMaker(evidence, identity, options);
  const joined = claims.map((claim, index): ClaimJudgment => {
    const members = all.map((each, at) => memberOf(judges[at]?.identity, each[index]));
    // A panel of which a member was not asked has not judged.
    if (members.some(({ judgment }) => judgment === undefined)) return { claim, isNew: true };
    const verdicts = members.flatMap(({ judgment }) => judgment ?? []);
    const outcome = outcomeOf(members);
    const earlier = earlierPanel(options.earlier ?? [], identity, {
      verdicts,
      bundle: evidence.bundle,
    });
    if (earlier !== undefined) return { claim, judgment: earlier, isNew: false };
    return {
      claim,
      judgment: make({ claim, outcome, verdict: panelVerdict(claim.name, verdicts) }),
      isNew: true,
    };
  });
  await options.record(joined.flatMap(({ judgment, isNew }) => (isNew ? (judgment ?? []) : [])));
  return joined;
}

interface Member {
  readonly identity: JudgeIdentity | undefined;
  readonly judgment: Judgment | undefined;
}

function memberOf(identity: JudgeIdentity | undefined, judged: ClaimJudgment | undefined): Member {
  return { identity, judgment: judged?.judgment };
}

/** The judgment of the same panel over the very same judgments of its members. */
function earlierPanel(
  earlier: readonly Judgment[],
  identity: JudgeIdentity,
  { verdicts, bundle }: { readonly verdicts: readonly Judgment[]; readonly bundle: string },
): Judgment | undefined {
  const digest = judgeDigest(identity);
  const wanted = new Set<string | undefined>(verdicts.map(({ id }) => id));
  return earlier.find(
    (each) =>
      each.bundle === bundle &&
      each.outcome.kind === "panel" &&
      judgeDigest(each.judge) === digest &&
      each.outcome.members.length === wanted.size &&
      each.outcome.members.every(({ judgment }) => wanted.has(judgment)),
  );
}

function outcomeOf(members: readonly Member[]): JudgmentOutcome {
  const told = members.flatMap(({ identity, judgment }) =>
    identity === undefined || judgment === undefined
      ? []
      : [
          {
            judge: judgeDigest(identity),
            judgment: judgment.id,
            value: judgment.verdict.value,
            outcome: kindOfMember(judgment.outcome.kind),
          },
        ],
  );
  const decided = told.filter(({ value }) => value !== "undetermined").map(({ value }) => value);
  const agreed = Math.max(countOf(decided, "upheld"), countOf(decided, "refuted"));
  return {
    kind: "panel",
    members: told,
    agreement: decided.length === 0 ? null : { agreed, decided: decided.length },
  };
}

/** A panel is no member of a panel; its verdict would count as an answer. */
function kindOfMember(kind: JudgmentOutcome["kind"]): "answered" | "not_asked" | "failed" {
  return kind === "panel" ? "answered" : kind;
}

function countOf(values: readonly VerdictValue[], value: VerdictValue): number {
  return values.filter((each) => each === value).length;
}

/** More than half of all decide. What is not known cannot be outvoted by who is left, nor stand for a vote. */
export function panelVerdict(
  claim: string,
  judgments: readonly Pick<Judgment, "verdict">[],
): Verdict {
  const verdicts = judgments.map(({ verdict }) => verdict);
  const holding = verdicts.filter((each) => each.value === "upheld");
  const broken = verdicts.filter((each) => each.value === "refuted");
  if (holding.length * 2 > verdicts.length)
    return upheld(holding.flatMap(({ witnesses }) => witnesses));
  if (broken.length * 2 > verdicts.length)
    return refuted(broken.flatMap(({ counterexamples }) => counterexamples));
  const split = gap("judges_disagree", claim, {
    detail: `${holding.length} upheld, ${broken.length} refuted, of ${verdicts.length}`,
  });
  const open = verdicts.flatMap((each) => (each.value === "undetermined" ? each.gaps : []));
  const isSplit = holding.length > 0 || broken.length > 0;
  return undetermined(nonEmpty(isSplit ? [split, ...open] : open) ?? [split]);
}
