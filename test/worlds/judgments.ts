import { randomUUID } from "node:crypto";
import { fingerprint } from "../../src/core/fingerprint.ts";
import { JudgmentId, type Digest } from "../../src/core/ids.ts";
import { gap } from "../../src/core/gap.ts";
import { timestampOf } from "../../src/core/timestamp.ts";
import { undetermined } from "../../src/core/verdict.ts";
import type { Judgment } from "../../src/judge/judgment.ts";

/** What a person said about a claim over a bundle: that they cannot tell. */
export function judgmentOver(
  bundle: Digest,
  claim: string,
  fields: Partial<Judgment> = {},
): Judgment {
  return {
    schemaVersion: 1,
    id: JudgmentId.parse(randomUUID()),
    bundle,
    claim: { name: claim, text: `${claim}?`, digest: fingerprint(claim) },
    judge: { kind: "person", name: "ada", parameters: {}, members: [] },
    outcome: { kind: "answered", held: null, reason: "I cannot tell", cites: [] },
    verdict: undetermined([
      gap("not_judged", claim, { detail: "undecided", remedy: "Look again." }),
    ]),
    at: timestampOf(0n),
    ...fields,
  };
}
