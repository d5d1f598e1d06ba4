import { UpheldError } from "../core/errors.ts";
import { rootOf } from "../core/locator.ts";
import type { Matcher } from "../core/matcher.ts";
import type { Extent } from "../core/observation.ts";
import type { Match, SurfaceScorable } from "../core/scorable.ts";
import type { ScoringContext } from "../core/scorer.ts";
import type { ObservationRequest } from "../core/source.ts";

/** What to look at for a question about locations, with the run's scope. Throws "source_missing" where no root has that name. */
export function surfaceNeed(
  asked: { readonly uri: string; readonly match: Match; readonly matcher?: Matcher | undefined },
  context: ScoringContext,
  extent: Extent,
): ObservationRequest<SurfaceScorable> {
  const probe = asked.matcher !== undefined && readsText(asked.matcher) ? [asked.matcher] : [];
  return {
    scorable: {
      kind: "surface",
      uri: asked.uri,
      surface: surfaceOf(rootOf(asked.uri), context),
      match: asked.match,
      ...(context.scope === undefined ? {} : { scope: context.scope }),
    },
    probes: probe,
    extent,
  };
}

/** The kind of surface behind a root. Throws "source_missing". */
export function surfaceOf(root: string, context: ScoringContext): string {
  const found = context.roots.find((each) => each.name === root);
  if (found !== undefined) return found.surface;
  const known = context.roots.map((each) => each.name).join(", ");
  throw new UpheldError(
    "source_missing",
    `no source was given for the root ${JSON.stringify(root)} (given: ${known === "" ? "none" : known})`,
  );
}

/** Size and digest are recorded of every content; only what needs the text itself is worth a probe. */
function readsText(matcher: Matcher): boolean {
  switch (matcher.kind) {
    case "contains":
    case "equals":
    case "regex":
    case "json":
      return true;
    case "digest":
    case "empty":
      return false;
  }
}
