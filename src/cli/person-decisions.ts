import { randomUUID } from "node:crypto";
import { claimsToJudge, type JudgedClaim } from "../judge/claim.ts";
import type { ClaimJudgment } from "../judge/judge-bundle.ts";
import { appendJudgments } from "../judge/judgment-file.ts";
import { personIdentity, personJudgment, type PersonDecision } from "../judge/person.ts";
import { systemClock } from "../run/clock.ts";
import type { JudgedBundle, Judging } from "./judge-report.ts";
import type { BrokenBundle, BundleToJudge } from "./judged-bundle.ts";
import { usage, type Parsed } from "./options.ts";

/** A person as the judge: what was decided is recorded, nobody is asked. */
export const PERSON_OPTIONS = {
  person: { value: "NAME", help: "record what a person decided" },
  decide: {
    value: "CLAIM=ANSWER",
    multiple: true,
    help: "with --person: true, false, or null for cannot tell",
  },
  because: { value: "TEXT", help: "with --person: the reason" },
  cite: {
    value: "LOCATION",
    multiple: true,
    help: "with --person: what shows it, such as transcript:/0",
  },
} as const;

/** What a person decided, by the claims' names. */
export interface PersonDecisions {
  readonly name: string;
  readonly held: ReadonlyMap<string, boolean | null>;
  readonly reason: string;
  readonly cites: NonNullable<PersonDecision["cites"]>;
}

const ANSWERS: ReadonlyMap<string, boolean | null> = new Map([
  ["true", true],
  ["false", false],
  ["null", null],
]);

/** The decisions of the person that is named, if any. Throws "argument_invalid". */
export function personOf(parsed: Parsed): PersonDecisions | undefined {
  const name = parsed.one("person");
  const decisions = parsed.many("decide");
  if (name === undefined) {
    if (decisions.length > 0) throw usage("--decide needs --person NAME: who decided?");
    return undefined;
  }
  if (decisions.length === 0) throw usage("--person needs --decide CLAIM=true|false|null");
  const held = new Map(decisions.map(decisionOf));
  if (held.size < decisions.length) throw usage("--decide names a claim twice");
  return {
    name,
    held,
    reason: parsed.one("because") ?? "No reason was given.",
    cites: parsed.many("cite").map((location) => ({ location })),
  };
}

function decisionOf(text: string): readonly [string, boolean | null] {
  const at = text.lastIndexOf("=");
  const held = ANSWERS.get(text.slice(at + 1));
  if (at > 0 && held !== undefined) return [text.slice(0, at), held];
  throw usage(`--decide ${text}: expected CLAIM=true, CLAIM=false or CLAIM=null`);
}

/** Records what a person decided, over each bundle. Throws "argument_invalid" where a bundle has no such claim. */
export async function recordDecisions(
  bundles: readonly (BundleToJudge | BrokenBundle)[],
  decisions: PersonDecisions,
): Promise<Judging> {
  refuseUnclear(
    bundles.flatMap((each) => ("fault" in each ? [] : [each])),
    decisions,
  );
  const judged: JudgedBundle[] = [];
  for (const bundle of bundles)
    judged.push("fault" in bundle ? bundle : await recordOver(bundle, decisions));
  return { judge: personIdentity(decisions.name), bundles: judged };
}

/** A claim that a file does not have; of a suite run, one that several scenarios have. */
function refuseUnclear(bundles: readonly BundleToJudge[], { held }: PersonDecisions): void {
  for (const path of new Set(bundles.map((each) => each.path))) {
    const ofFile = bundles.filter((each) => each.path === path);
    const known = ofFile.flatMap((each) => claimsIn(each).map(({ name }) => namesOf(each, name)));
    const listed = known.map(([full]) => full).join(", ");
    for (const name of held.keys()) {
      const meant = known.filter((names) => names.includes(name)).length;
      if (meant === 0) throw usage(`${path} has no claim ${name} for a judge (it has: ${listed})`);
      if (meant > 1) throw usage(`several scenarios have a claim ${name}: say which of ${listed}`);
    }
  }
}

function claimsIn({ claims }: BundleToJudge): readonly JudgedClaim[] {
  return claims === undefined ? [] : claimsToJudge(claims);
}

/** What a claim can be called: in a suite run by its scenario, too. */
function namesOf({ scenario }: BundleToJudge, name: string): readonly string[] {
  return scenario === undefined ? [name] : [`${scenario}/${name}`, name];
}

async function recordOver(
  bundle: BundleToJudge,
  { name, held, reason, cites }: PersonDecisions,
): Promise<JudgedBundle> {
  const { evidence, judgmentFile } = bundle;
  const judged = claimsIn(bundle).flatMap((claim): readonly ClaimJudgment[] => {
    const answer = namesOf(bundle, claim.name)
      .map((each) => held.get(each))
      .find(isAnswer);
    if (answer === undefined) return [];
    const decision = { person: name, held: answer, reason, cites };
    const means = { newId: randomUUID, now: systemClock };
    return [{ claim, judgment: personJudgment(evidence, claim, decision, means), isNew: true }];
  });
  const made = judged.flatMap(({ judgment }) => judgment ?? []);
  await appendJudgments(judgmentFile, made);
  return { bundle, judged, made };
}

function isAnswer(given: boolean | null | undefined): given is boolean | null {
  return given !== undefined;
}
