import { nonEmpty } from "../core/gap.ts";
import { undetermined, type Verdict } from "../core/verdict.ts";
import { answeredVerdict } from "./answered-verdict.ts";
import { holdsQuote } from "./citation.ts";
import type { JudgedClaim } from "./claim.ts";
import type { JudgedEvidence } from "./evidence.ts";
import { exhibitsOf, type Exhibit } from "./exhibits.ts";
import { recordMaker, type JudgingOptions } from "./judge-bundle.ts";
import type { Citation, JudgeIdentity, Judgment } from "./judgment.ts";
import { lacksFor, missingFor, standingsOf } from "./sufficiency.ts";

/** What a person decided about a claim, and what the person points at, by location. */
export interface PersonDecision {
  readonly person: string;
  readonly held: boolean | null;
  readonly reason: string;
  readonly cites?:
    | readonly { readonly location: string; readonly quote?: string | undefined }[]
    | undefined;
}

/** A person as a judge. */
export function personIdentity(name: string): JudgeIdentity {
  return { kind: "person", name, parameters: {}, members: [] };
}

/**
 * The judgment of a person, who saw all of the bundle. What was said is kept as it was said, for it is a label by which judges
 * are measured; the verdict follows from it by the same rules as for any judge.
 */
export function personJudgment(
  evidence: JudgedEvidence,
  claim: JudgedClaim,
  decision: PersonDecision,
  means: Pick<JudgingOptions, "newId" | "now">,
): Judgment {
  const exhibits = exhibitsOf(evidence.observations);
  const { held, reason } = decision;
  const cites = (decision.cites ?? []).map((each) => citationOf(each, exhibits));
  const make = recordMaker(evidence, personIdentity(decision.person), means);
  return make({
    claim,
    outcome: { kind: "answered", held, reason, cites },
    verdict: verdictOf(evidence, claim, { held, cites, exhibits }),
  });
}

function verdictOf(
  evidence: JudgedEvidence,
  claim: JudgedClaim,
  answer: {
    readonly held: boolean | null;
    readonly cites: readonly Citation[];
    readonly exhibits: readonly Exhibit[];
  },
): Verdict {
  const standings = standingsOf(evidence, answer.exhibits);
  const missing = nonEmpty(missingFor(claim, standings));
  if (missing !== undefined) return undetermined(missing);
  return answeredVerdict(claim, answer, lacksFor(claim, standings));
}

function citationOf(
  { location, quote }: NonNullable<PersonDecision["cites"]>[number],
  exhibits: readonly Exhibit[],
): Citation {
  const exhibit = exhibits.find((each) => each.location === location);
  const quoted = quote === undefined ? {} : { quote };
  if (exhibit === undefined) return { evidence: location, ...quoted, found: false };
  const found = quote === undefined || holdsQuote(exhibit.value, quote);
  return { evidence: location, part: exhibit.part, location, ...quoted, found };
}
