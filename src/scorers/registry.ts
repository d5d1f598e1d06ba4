import type { LeafCondition } from "../core/condition.ts";
import { UpheldError } from "../core/errors.ts";
import type { Scorer } from "../core/scorer.ts";
import { changedOnly } from "./changed-only.ts";
import { contentRemoved } from "./content-removed.ts";
import { contentWritten } from "./content-written.ts";
import { objectiveMet } from "./objective-met.ts";
import { rowsChanged } from "./rows-changed.ts";
import { said } from "./said.ts";
import { toolsCalled } from "./tools-called.ts";

/** The scorers by the kind of condition that each declares. */
export interface Scorers {
  /** The scorer of a leaf. Throws "condition_unrouted" where none declares its kind. */
  of(condition: LeafCondition): Scorer;
  readonly kinds: readonly string[];
}

/** A table of scorers. Throws "kind_registered_twice" where two declare one kind. */
export function defineScorers(scorers: readonly Scorer[]): Scorers {
  const byKind = new Map<string, Scorer>();
  for (const scorer of scorers) {
    if (byKind.has(scorer.kind))
      throw new UpheldError(
        "kind_registered_twice",
        `two scorers declare ${JSON.stringify(scorer.kind)}`,
      );
    byKind.set(scorer.kind, scorer);
  }
  return {
    of(condition) {
      const found = byKind.get(condition.kind);
      if (found !== undefined) return found;
      throw new UpheldError(
        "condition_unrouted",
        `no scorer declares ${JSON.stringify(condition.kind)} (known: ${[...byKind.keys()].join(", ")})`,
      );
    },
    kinds: [...byKind.keys()],
  };
}

/** The scorers that come with the package. */
export const builtInScorers: Scorers = defineScorers([
  contentWritten,
  contentRemoved,
  rowsChanged,
  changedOnly,
  toolsCalled,
  said,
  objectiveMet,
]);
