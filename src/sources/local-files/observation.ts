import { randomUUID } from "node:crypto";
import { gap, type Gap } from "../../core/gap.ts";
import type { Identifier } from "../../core/identifier.ts";
import { ObservationId } from "../../core/ids.ts";
import {
  acquisitionOf,
  markMade,
  type AttributionMethod,
  type Observation,
  type SurfacePayload,
} from "../../core/observation.ts";
import type { SurfaceScorable } from "../../core/scorable.ts";
import type { ScopeKey } from "../../core/scope.ts";
import type { Baseline, ObservationRequest } from "../../core/source.ts";
import { timestampOf } from "../../core/timestamp.ts";
import type { SurfaceEntry } from "../../core/entry.ts";
import type { Answer } from "./observe.ts";
import type { RootUnavailable } from "./protocol.ts";

/** What all observations of one look have in common. */
export interface Look {
  readonly source: Identifier;
  readonly baseline: Baseline | undefined;
  /** In nanoseconds. */
  readonly at: bigint;
  /** Why no stronger attribution was used. */
  readonly reason?: string;
}

type Request = ObservationRequest<SurfaceScorable>;
type Body = Omit<SurfacePayload, "kind" | "schemaVersion" | "scope" | "extent">;

/** The evidence for one request. */
export function observationOf(
  request: Request,
  answer: Omit<Answer, "view" | "plan"> & { readonly entries: readonly SurfaceEntry[] },
  look: Look & { readonly confinement: "handle" | "identity" },
): Observation {
  const { gaps, method, listed, readBytes, shown, total, unchanged, links } = answer;
  const usesBaseline = method === "baseline" || method === "baseline (stat)";
  return envelope(request, gaps, look, {
    attribution: {
      method,
      ...(look.baseline === undefined || !usesBaseline ? {} : { baseline: look.baseline.digest }),
      ...(look.reason === undefined ? {} : { reason: look.reason }),
    },
    entries: answer.entries,
    coverage: {
      gaps,
      listed,
      readBytes,
      shown,
      total,
      ...(unchanged === undefined ? {} : { unchanged }),
      ...(links === undefined ? {} : { links }),
      confinement: look.confinement,
    },
    excludedOutsideScope: answer.outsideScope,
    scopeKeysNotApplied: notApplied(request.scorable, method),
  });
}

/** The evidence that there is none: the root could not be opened. */
export function unavailableObservation(
  request: Request,
  why: RootUnavailable,
  look: Look & { readonly root: string },
): Observation {
  const gaps = [gap(why.unavailable, `${look.root}:/`, { detail: why.detail })];
  const observation = envelope(request, gaps, look, {
    attribution: { method: "none" },
    entries: [],
    coverage: { gaps, listed: 0, readBytes: 0, shown: 0, total: 0, confinement: "unverified" },
    excludedOutsideScope: 0,
    scopeKeysNotApplied: notApplied(request.scorable, "none"),
  });
  return { ...observation, acquisition: "unavailable" };
}

function envelope(
  { scorable, extent }: Request,
  gaps: readonly Gap[],
  look: Look,
  body: Body,
): Observation {
  return markMade({
    id: ObservationId.parse(randomUUID()),
    source: look.source,
    acquisition: acquisitionOf(gaps),
    observedAt: timestampOf(look.at),
    scorable,
    payload: {
      kind: "surface",
      schemaVersion: 1,
      scope: scorable,
      extent: extent ?? "candidates",
      ...body,
    },
    metadata: {},
  });
}

/** Under a baseline the run itself delimits what is seen: only labels say something that no file shows. */
function notApplied(scorable: SurfaceScorable, method: AttributionMethod): ScopeKey[] {
  const weak: readonly ScopeKey[] =
    method === "none"
      ? ["window", "labels", "attemptId", "baseline"]
      : ["labels", "attemptId", "baseline"];
  const lost = method === "none" || method === "window" ? weak : (["labels"] as const);
  return lost.filter((key) => scorable.scope?.[key] !== undefined);
}
