import type { ContentWritten } from "../core/condition.ts";
import { isNamedBy, matchState, type EntryState, type SurfaceEntry } from "../core/entry.ts";
import { gap, nonEmpty, type Gap } from "../core/gap.ts";
import type { Finding } from "../core/match-content.ts";
import { describeMatcher, type Matcher } from "../core/matcher.ts";
import type { Observation } from "../core/observation.ts";
import type { Decision, Scorer } from "../core/scorer.ts";
import { refuted, undetermined, upheld, type EntryRef } from "../core/verdict.ts";
import { counted, decided, tellCoverage, tellMethod } from "./rationale.ts";
import { surfaceNeed } from "./surface-need.ts";
import { viewOf, type SurfaceView } from "./surface-view.ts";

/**
 * Decides whether the run put matching content at a location where it was not before. One witness upholds, whatever was not
 * seen; it is refuted only when every location was accounted for and no content is unknown.
 */
export const contentWritten: Scorer<ContentWritten> = {
  kind: "content_written",
  identifier: () => ({ name: "content_written", version: "1", parameters: {}, children: [] }),
  needs: (condition, context) => [surfaceNeed(condition, context, "candidates")],
  decide: (condition, [observation]) => decide(condition, observation),
};

function decide(condition: ContentWritten, observation: Observation | undefined): Decision {
  const view = viewOf(observation, { ...condition, extent: "candidates" });
  const witnesses: EntryRef[] = [];
  const gaps: Gap[] = [...view.gaps];
  for (const entry of view.entries) {
    // What moved away from here is content of another location.
    const { uri, partOf, redacted } = entry;
    if (!isNamedBy(view.glob, { uri, partOf, redacted })) continue;
    const found = judgeEntry(condition.matcher, entry);
    if (found === "witness") witnesses.push(refOf(entry, view));
    else gaps.push(...found);
  }
  const open = nonEmpty(gaps);
  const asked = `content_written at ${condition.uri} (${condition.match}): ${describeMatcher(condition.matcher)}`;
  if (witnesses.length > 0)
    return told(view, upheld(witnesses), [
      `Written by the run at ${counted(witnesses.length, "location")}`,
      asked,
    ]);
  if (open !== undefined)
    return told(view, undetermined(open), [
      "No location is known to hold it by the run's doing",
      asked,
    ]);
  return told(view, refuted(), [
    "Every location was accounted for, and none holds it by the run's doing",
    asked,
  ]);
}

function told(
  view: SurfaceView,
  verdict: Decision["verdict"],
  sentences: readonly string[],
): Decision {
  return decided(verdict, [...sentences, tellMethod(view), tellCoverage(view)]);
}

function refOf(entry: SurfaceEntry, view: SurfaceView): EntryRef {
  return {
    uri: entry.uri,
    change: entry.change,
    observation: view.observation.id,
    ...(entry.from === undefined ? {} : { detail: `from ${entry.from}` }),
  };
}

/** A witness, or the gaps that keep the entry from being ruled out; none where it does not matter. */
function judgeEntry(matcher: Matcher | undefined, entry: SurfaceEntry): "witness" | readonly Gap[] {
  const { now } = entry;
  if (now === undefined) return [];
  switch (entry.change) {
    case "touched":
    case "unchanged":
    case "deleted":
      return [];
    case "created":
    case "moved":
      // What a moved content was like before is known of another location.
      return judgeContent(entry, now, matchState(matcher, now), { value: "absent" });
    case "modified":
      return judgeContent(entry, now, matchState(matcher, now), priorFinding(matcher, entry));
    case "unknown":
      return judgeUnknown(entry, now, matchState(matcher, now));
  }
}

function judgeContent(
  entry: SurfaceEntry,
  now: EntryState,
  found: Finding,
  prior: Finding,
): "witness" | readonly Gap[] {
  // What was there before all along was not written by the run, whatever the rest of the content is.
  if (found.value === "absent" || prior.value === "present") return [];
  if (found.value === "unknown") return [findingGap(entry, now, found.reason)];
  return prior.value === "absent" ? "witness" : [priorGap(entry)];
}

/** Whether the run did it is not known: a match is neither a witness nor ruled out. */
function judgeUnknown(entry: SurfaceEntry, now: EntryState, found: Finding): readonly Gap[] {
  if (found.value === "absent") return [];
  const reasons = (entry.reasons ?? []).map((reason) => gap(reason, entry.uri));
  return found.value === "present" ? reasons : [findingGap(entry, now, found.reason), ...reasons];
}

function priorFinding(matcher: Matcher | undefined, entry: SurfaceEntry): Finding {
  if (matcher === undefined || isAboutWholeContent(matcher)) return { value: "absent" };
  return entry.before === undefined
    ? { value: "unknown", reason: "prior_content_unknown" }
    : matchState(matcher, entry.before);
}

/** Contents that differ cannot both be empty, nor both have one digest: a change alone says that it was not so before. */
function isAboutWholeContent(matcher: Matcher): boolean {
  return matcher.kind === "empty" || matcher.kind === "digest";
}

function findingGap(entry: SurfaceEntry, state: EntryState, reason: Gap["code"]): Gap {
  const detail = state.unread?.code === reason ? state.unread.detail : undefined;
  return gap(reason, entry.uri, detail === undefined ? {} : { detail });
}

function priorGap(entry: SurfaceEntry): Gap {
  const unread = entry.before?.unread;
  if (unread === undefined) return gap("prior_content_unknown", entry.uri);
  return gap("prior_content_unknown", entry.uri, {
    detail: `${unread.code}${unread.detail === undefined ? "" : `: ${unread.detail}`}`,
  });
}
