import { randomUUID } from "node:crypto";
import { isNamedBy } from "../../core/entry.ts";
import type { Gap } from "../../core/gap.ts";
import { mayNameParts, type Glob } from "../../core/glob.ts";
import type { Identifier } from "../../core/identifier.ts";
import { ObservationId } from "../../core/ids.ts";
import { rootOf, segmentsOf } from "../../core/locator.ts";
import { acquisitionOf, type Observation } from "../../core/observation.ts";
import { globOfScorable, type SurfaceScorable } from "../../core/scorable.ts";
import { scopeKeys, type ScopeKey } from "../../core/scope.ts";
import { gap } from "../../core/gap.ts";
import type { ObservationRequest } from "../../core/source.ts";
import { timestampOf } from "../../core/timestamp.ts";
import type { SqlDelta } from "./delta.ts";

export interface Look {
  readonly source: Identifier;
  /** When it was looked, in milliseconds. */
  readonly atMs: number;
}

/** The evidence for one request: what of the delta it names, and the gaps that could hide more of it. */
export function answerOf(
  { scorable, extent }: ObservationRequest<SurfaceScorable>,
  delta: SqlDelta,
  look: Look,
): Observation {
  const glob = globOfScorable(scorable);
  const notApplied = scopeKeysNotApplied(scorable, delta);
  const gaps = [
    ...delta.gaps.filter((each) => bearsOn(each, glob)),
    ...(delta.method === "none" && notApplied.length > 0
      ? [gap("scope_not_applied", scorable.uri, { detail: notApplied.join(", ") })]
      : []),
  ];
  const isUnreadable = delta.gaps.some(
    ({ code, location }) => code === "database_unavailable" && segmentsOf(location).length === 0,
  );
  const entries = delta.entries.filter((entry) => isNamedBy(glob, entry));
  return {
    id: ObservationId.parse(randomUUID()),
    source: look.source,
    acquisition: isUnreadable ? "unavailable" : acquisitionOf(gaps),
    observedAt: timestampOf(BigInt(Math.round(look.atMs)) * 1_000_000n),
    scorable,
    payload: {
      kind: "surface",
      schemaVersion: 1,
      scope: scorable,
      extent: extent ?? "candidates",
      attribution: {
        method: delta.method,
        ...(delta.baseline === undefined ? {} : { baseline: delta.baseline }),
        ...(delta.reason === undefined ? {} : { reason: delta.reason }),
      },
      entries,
      coverage: {
        gaps,
        listed: delta.tables,
        readBytes: delta.readBytes,
        shown: entries.length,
        total: entries.length + delta.hidden,
        links: [],
        confinement: "not-applicable",
      },
      excludedOutsideScope: 0,
      scopeKeysNotApplied: notApplied,
    },
    metadata: delta.metadata,
  };
}

/** False for a gap that is about another table than those that the pattern names. */
function bearsOn({ location }: Gap, glob: Glob): boolean {
  if (rootOf(location) !== glob.root) return true;
  const place = segmentsOf(location);
  const progress = glob.reach(place);
  return glob.accepts(progress) || glob.leadsOn(progress) || mayNameParts(glob, place);
}

/** Under a held or stored world before, the run itself delimits what is seen. */
function scopeKeysNotApplied({ scope }: SurfaceScorable, { method }: SqlDelta): ScopeKey[] {
  const set = scopeKeys(scope);
  return method === "none" ? [...set] : set.filter((key) => key === "labels");
}
