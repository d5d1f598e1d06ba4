import type { ObjectiveMet } from "../core/condition.ts";
import { gap } from "../core/gap.ts";
import type { Scorer } from "../core/scorer.ts";
import { undetermined } from "../core/verdict.ts";
import { decided } from "./rationale.ts";

/** What no code can settle stays open until a judge decides it over the sealed evidence. */
export const objectiveMet: Scorer<ObjectiveMet> = {
  kind: "objective_met",
  identifier: () => ({ name: "objective_met", version: "1", parameters: {}, children: [] }),
  needs: () => [],
  decide: () =>
    decided(undetermined([gap("not_judged", "objective")]), ["objective_met is for a judge"]),
};
