import { foldGaps } from "../core/gap.ts";
import { gapsOf } from "../core/observation.ts";
import { cut } from "../report/bounds.ts";
import { entriesOf } from "../report/run-report.ts";
import type { TurnResult } from "../run/agent.ts";
import { replyClaims, type ReplyClaim } from "../run/reply-claims/reply-claims.ts";
import type { RunRecord } from "../evidence/record/run-record.ts";
import type { NamedRoot } from "./roots.ts";

/** Lines on what the reply says about paths and the delta does not bear out. Hints: no verdict rests on them. */
export function replyHints(
  turn: TurnResult,
  { deltas }: RunRecord,
  roots: readonly NamedRoot[],
): readonly string[] {
  const reply = turn.replies.map(({ text, tail }) => `${text}${tail ?? ""}`).join("\n");
  const { claims } = replyClaims(reply, deltas.flatMap(entriesOf), {
    roots: roots.map(({ name, directory }) => ({ name, dir: directory })),
    gaps: foldGaps(deltas.flatMap(({ payload }) => gapsOf(payload))),
  });
  return claims.filter(({ outcome }) => outcome !== "in the delta").map(hintOf);
}

function hintOf({ claim, path, verb, outcome }: ReplyClaim): string {
  const says = `the reply says ${JSON.stringify(cut(claim.trim(), 80))}`;
  return outcome === "not seen"
    ? `${says}   ${path} was not seen`
    : `${says}   ${path}: nothing of that name was ${verb}`;
}
