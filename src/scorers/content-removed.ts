import type { ContentRemoved } from "../core/condition.ts";
import { holdsContent, isNamedBy, type EntryState, type SurfaceEntry } from "../core/entry.ts";
import { gap, nonEmpty, type Gap } from "../core/gap.ts";
import type { Glob } from "../core/glob.ts";
import type { Observation } from "../core/observation.ts";
import type { Decision, Scorer } from "../core/scorer.ts";
import { refuted, undetermined, upheld, type EntryRef } from "../core/verdict.ts";
import { counted, decided, tellCoverage, tellMethod } from "./rationale.ts";
import { surfaceNeed } from "./surface-need.ts";
import { viewOf, type SurfaceView } from "./surface-view.ts";

/**
 * Decides whether something that stood at a location before the run is gone: a file or link that was deleted, moved away or
 * replaced by what holds no content; a directory only where it is named exactly. Times alone never tell what is missing, so
 * without a world before the run nothing is refuted.
 */
export const contentRemoved: Scorer<ContentRemoved> = {
  kind: "content_removed",
  identifier: () => ({ name: "content_removed", version: "1", parameters: {}, children: [] }),
  needs: (condition, context) => [surfaceNeed(condition, context, "delta")],
  decide: (condition, [observation]) => decide(condition, observation),
};

function decide(condition: ContentRemoved, observation: Observation | undefined): Decision {
  const view = viewOf(observation, { ...condition, extent: "delta" });
  const isExact = condition.match === "exact";
  const witnesses: EntryRef[] = [];
  const gaps: Gap[] = [...view.gaps, ...worldBefore(view)];
  for (const entry of view.entries) {
    const found = judgeEntry(entry, view.glob, isExact);
    if (typeof found === "string") witnesses.push(refOf(found, entry, view));
    else gaps.push(...found);
  }
  const open = nonEmpty(gaps);
  const asked = `content_removed at ${condition.uri} (${condition.match})`;
  const context = [tellMethod(view), tellCoverage(view)];
  if (witnesses.length > 0)
    return decided(upheld(witnesses), [
      `Gone from ${counted(witnesses.length, "location")}`,
      asked,
      ...context,
    ]);
  if (open !== undefined)
    return decided(undetermined(open), [
      "No location is known to have lost what it held",
      asked,
      ...context,
    ]);
  return decided(refuted(), [
    "Everything that stood there before the run is still there",
    asked,
    ...context,
  ]);
}

/** The location that lost what it held, or the gaps that keep it from being ruled out. */
function judgeEntry(entry: SurfaceEntry, glob: Glob, isExact: boolean): string | readonly Gap[] {
  switch (entry.change) {
    case "created":
    case "touched":
    case "unchanged":
      return [];
    case "moved":
      return movedFrom(entry, glob, isExact);
    case "deleted":
      return lost(entry.uri, entry.before, isExact);
    case "modified":
      return replaced(entry);
    case "unknown":
      return isExact ? [] : unknownAround(entry);
  }
}

/** Something is there; under a pattern, what else stood beside it may not be known either. */
function unknownAround(entry: SurfaceEntry): readonly Gap[] {
  return (entry.reasons ?? []).map((reason) => gap(reason, entry.uri));
}

function movedFrom(entry: SurfaceEntry, glob: Glob, isExact: boolean): string | readonly Gap[] {
  if (entry.from === undefined) return [];
  if (!isNamedBy(glob, { uri: entry.from, redacted: entry.redacted })) return [];
  return lost(entry.from, entry.now, isExact);
}

/** Where a directory or special file now stands, a file or link may have been lost. */
function replaced({ uri, now, before }: SurfaceEntry): string | readonly Gap[] {
  if (now === undefined || canHold(now)) return [];
  if (before === undefined) return [gap("prior_content_unknown", uri)];
  return canHold(before) ? uri : [];
}

function lost(
  uri: string,
  before: EntryState | undefined,
  isExact: boolean,
): string | readonly Gap[] {
  if (isExact) return uri;
  if (before === undefined) return [gap("prior_content_unknown", uri)];
  return canHold(before) ? uri : [];
}

function canHold(state: EntryState): boolean {
  return state.type === "link" || holdsContent(state);
}

function refOf(uri: string, entry: SurfaceEntry, view: SurfaceView): EntryRef {
  const isMoved = entry.change === "moved" && uri === entry.from;
  return {
    uri,
    change: entry.change,
    observation: view.observation.id,
    ...(isMoved ? { detail: `to ${entry.uri}` } : {}),
  };
}

/** Without a world before, what is missing cannot be seen. */
export function worldBefore(view: SurfaceView): readonly Gap[] {
  const { attribution, scope } = view.payload;
  switch (attribution.method) {
    case "exact":
    case "baseline":
    case "baseline (stat)":
      return [];
    case "window":
    case "none":
      return [gap("baseline_missing", scope.uri)];
  }
}
