import { isNamedBy, type SurfaceEntry } from "../core/entry.ts";
import { NonReplayableObservationError } from "../core/errors.ts";
import { gap, type Gap, type GapCode } from "../core/gap.ts";
import { mayNameParts, type Glob } from "../core/glob.ts";
import { rootOf, segmentsOf } from "../core/locator.ts";
import { holdsMask } from "../core/mask.ts";
import type { Extent, Observation, SurfacePayload } from "../core/observation.ts";
import { globOfScorable, type Match, type SurfaceScorable } from "../core/scorable.ts";
import type { Need } from "../core/scorer.ts";
import { covers, distance } from "./covers.ts";

/** What a condition asks of locations. */
export interface Asked {
  readonly uri: string;
  readonly match: Match;
  readonly extent: Extent;
}

/** An observation as it bears on one question: the entries that the question names, and the gaps that could hide one. */
export interface SurfaceView {
  readonly observation: Observation;
  readonly payload: SurfacePayload;
  readonly glob: Glob;
  readonly entries: readonly SurfaceEntry[];
  readonly gaps: readonly Gap[];
  /** True where the observation is of more than was asked. */
  readonly isNarrowed: boolean;
}

/** Reads an observation for a question. Throws "not_replayable" where it does not cover it. */
export function viewOf(observation: Observation | undefined, asked: Asked): SurfaceView {
  const payload = observation?.payload;
  const surface = payload?.kind === "surface" ? payload.scope.surface : "file";
  const scorable: SurfaceScorable = {
    kind: "surface",
    uri: asked.uri,
    match: asked.match,
    surface,
  };
  const need: Need = { scorable, extent: asked.extent };
  if (observation === undefined || payload?.kind !== "surface" || !covers(observation, need))
    throw new NonReplayableObservationError(mismatch(observation, need));
  const glob = globOfScorable(scorable);
  const base = { observation, payload, glob };
  if (distance(observation, need) === 0)
    return { ...base, entries: payload.entries, gaps: payload.coverage.gaps, isNarrowed: false };
  return {
    ...base,
    entries: payload.entries.filter((entry) => isNamedBy(glob, entry)),
    gaps: [
      ...gapsFor(glob, observation, payload),
      ...directoryGap(asked, glob, payload),
      ...linkGaps(asked, glob, payload),
    ],
    isNarrowed: true,
  };
}

/** Why an observation cannot answer, in words. */
export function mismatch(observation: Observation | undefined, need: Need): string {
  const wanted = tellScorable(need.scorable, need.extent);
  if (observation === undefined) return `no stored observation covers ${wanted}`;
  const { payload } = observation;
  const seen =
    payload.kind === "conversation"
      ? `conversation ${payload.conversation.id}`
      : tellScorable(payload.scope, payload.kind === "surface" ? payload.extent : undefined);
  return `the observation is of ${seen}, asked was ${wanted}`;
}

function tellScorable(scorable: Need["scorable"], extent: Need["extent"]): string {
  switch (scorable.kind) {
    case "surface":
      return `${extent ?? "candidates"} of ${scorable.uri} (${scorable.match})`;
    case "conversation":
      return `conversation ${scorable.conversationId}`;
    case "tool_calls":
      return `the tool calls of attempt ${scorable.attemptId}`;
  }
}

function gapsFor(glob: Glob, observation: Observation, payload: SurfacePayload): readonly Gap[] {
  const isReadable =
    observation.acquisition === "complete" || observation.acquisition === "partial";
  if (!isReadable) return payload.coverage.gaps;
  return payload.coverage.gaps.filter((each) => {
    const place = placeOf(each, glob.root);
    if (place === undefined || !isElsewhere(glob, place)) return true;
    return hasParts(each) && mayNameParts(glob, place);
  });
}

/** What lies beneath an exact location shows that it is a directory; asked by itself, it would have been named so. */
function directoryGap(asked: Asked, glob: Glob, payload: SurfacePayload): readonly Gap[] {
  if (asked.match !== "exact") return [];
  const isDirectory =
    payload.entries.some(
      (entry) =>
        liesBeneath(glob, entry.uri) ||
        (glob.matches(entry.uri) && entry.now?.type === "directory"),
    ) || payload.coverage.gaps.some((each) => liesBeneath(glob, each.location));
  return isDirectory ? [gap("not_a_file", asked.uri)] : [];
}

/** A link on the way, or at the location, would have been looked through for this question alone. */
function linkGaps(asked: Asked, glob: Glob, payload: SurfacePayload): readonly Gap[] {
  const { links } = payload.coverage;
  if (links === undefined)
    return [gap("link_not_followed", asked.uri, { detail: "links on the way were not recorded" })];
  return links
    .filter((link) => rootOf(link) === glob.root)
    .filter((link) => holdsMask(link) || !isElsewhere(glob, segmentsOf(link)))
    .map((link) => gap("link_not_followed", link));
}

/** Gaps of these codes are about a whole and its parts: a table and its rows. */
const ABOUT_WHOLES: readonly GapCode[] = [
  "table_rewritten",
  "row_limit_exceeded",
  "rows_hidden",
  "transaction_open",
  "no_stable_key",
];

function hasParts({ code }: Gap): boolean {
  return ABOUT_WHOLES.includes(code);
}

/**
 * Gaps of these codes are about the one place that they name, or what lies beneath it. All others, such as a limit that was
 * reached, could hide anything anywhere.
 */
const PLACED: ReadonlySet<GapCode> = new Set<GapCode>([
  "listing_failed",
  "read_failed",
  "read_limit_exceeded",
  "link_not_followed",
  "link_outside_root",
  "dangling_link",
  "confinement_unverified",
  "other_filesystem",
  "not_a_file",
  "changed_during_read",
  "not_text",
  "text_not_retained",
  "content_redacted",
  "prior_content_unknown",
  "baseline_partial",
  ...ABOUT_WHOLES,
]);

/**
 * The one place that a gap is about, as the names on the way to it; undefined where it stands for several places, for a
 * pattern, or for a name that could not be written in full or from which a secret was removed.
 */
export function placeOf(each: Gap, root: string): readonly string[] | undefined {
  if (!PLACED.has(each.code) || each.count !== 1) return undefined;
  if (rootOf(each.location) !== root || /[*?[\]{}\uFFFD\\]/.test(each.location)) return undefined;
  if (holdsMask(each.location)) return undefined;
  return segmentsOf(each.location);
}

/** True where neither the place nor anything beneath it is one of the pattern's. */
function isElsewhere(glob: Glob, place: readonly string[]): boolean {
  const progress = glob.reach(place);
  return !glob.accepts(progress) && !glob.leadsOn(progress);
}

function liesBeneath(glob: Glob, uri: string): boolean {
  if (rootOf(uri) !== glob.root) return false;
  const above = segmentsOf(uri).slice(0, -1);
  return above.some((_, index) => glob.accepts(glob.reach(above.slice(0, index + 1))));
}
