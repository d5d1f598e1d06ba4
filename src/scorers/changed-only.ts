import type { ChangedOnly } from "../core/condition.ts";
import { isNamedBy, type EntryState, type SurfaceEntry } from "../core/entry.ts";
import { UpheldError } from "../core/errors.ts";
import { gap, nonEmpty, type Gap, type GapCode } from "../core/gap.ts";
import { parseGlob, type Glob } from "../core/glob.ts";
import { rootOf, segmentsOf } from "../core/locator.ts";
import { maskVariants } from "../core/mask.ts";
import type { Observation } from "../core/observation.ts";
import type { Decision, Need, Scorer, ScoringContext } from "../core/scorer.ts";
import { refuted, undetermined, upheld, type EntryRef } from "../core/verdict.ts";
import { worldBefore } from "./content-removed.ts";
import { noiseOf, type NoiseName } from "../core/noise.ts";
import { counted, decided, tellCoverage, tellMethod } from "./rationale.ts";
import { surfaceNeed, surfaceOf } from "./surface-need.ts";
import { placeOf, viewOf, type SurfaceView } from "./surface-view.ts";

/**
 * Decides whether the run changed what is allowed and nothing else, over the whole of every root. One change elsewhere
 * refutes; it is upheld only when every change is known. A directory made on the way to an allowed location is allowed.
 */
export const changedOnly: Scorer<ChangedOnly> = {
  kind: "changed_only",
  identifier: () => ({ name: "changed_only", version: "1", parameters: {}, children: [] }),
  needs,
  decide,
};

function needs(condition: ChangedOnly, context: ScoringContext): readonly Need[] {
  for (const pattern of patternsOf(condition)) surfaceOf(parseGlob(pattern).root, context);
  if (context.roots.length === 0)
    throw new UpheldError(
      "source_missing",
      "changed_only is about every root of the run, and no source was given",
    );
  return context.roots.map(({ name }) =>
    surfaceNeed({ uri: `${name}:/**`, match: "glob" }, context, "delta"),
  );
}

function patternsOf(condition: ChangedOnly): readonly string[] {
  return condition.allow.filter((each) => each !== "@noise");
}

function decide(condition: ChangedOnly, observations: readonly Observation[]): Decision {
  const patterns = patternsOf(condition);
  const asked = `changed_only: nothing but ${patterns.length === 0 ? "nothing" : patterns.join(", ")}${condition.allow.includes("@noise") ? " and noise" : ""}`;
  const found = observations.map((observation) => judgeRoot(condition, observation));
  const counterexamples = found.flatMap((each) => each.counterexamples);
  const gaps = nonEmpty(found.flatMap((each) => each.gaps));
  const context = [
    tellNoise(
      condition,
      found.flatMap((each) => each.noise),
    ),
    ...found.flatMap(({ view }) => [
      `${view.payload.scope.uri}: ${tellMethod(view)}`,
      tellCoverage(view),
    ]),
  ];
  if (counterexamples.length > 0)
    return decided(refuted(counterexamples), [
      `Changed elsewhere: ${counted(counterexamples.length, "location")}`,
      asked,
      ...context,
    ]);
  if (observations.length === 0)
    return decided(
      undetermined([gap("evidence_kind_missing", "roots", { detail: "no delta was observed" })]),
      [asked],
    );
  if (gaps !== undefined)
    return decided(undetermined(gaps), [
      "No change elsewhere is known, yet not every place is",
      asked,
      ...context,
    ]);
  return decided(upheld([]), ["Every change is known, and each is allowed", asked, ...context]);
}

interface RootJudgment {
  readonly view: SurfaceView;
  readonly counterexamples: readonly EntryRef[];
  readonly gaps: readonly Gap[];
  /** The name of the noise for each location that was ignored. */
  readonly noise: readonly NoiseName[];
}

function judgeRoot(condition: ChangedOnly, observation: Observation): RootJudgment {
  const uri = observation.payload.kind === "surface" ? observation.payload.scope.uri : "";
  const root = rootOf(uri);
  const view = viewOf(observation, { uri: `${root}:/**`, match: "glob", extent: "delta" });
  const allowance = allowanceOf(condition, root);
  const counterexamples: EntryRef[] = [];
  const noise: NoiseName[] = [];
  const gaps: Gap[] = [
    ...view.gaps.filter((each) => !isHarmless(each, allowance, root)),
    ...worldBefore(view),
  ];
  for (const entry of view.entries)
    for (const place of placesOf(entry)) {
      const difference = differenceOf(entry);
      if (difference === "none") continue;
      const permit = allowance.permits(place, entry);
      if (permit === true) continue;
      if (permit !== false) noise.push(permit);
      else if (entry.redacted === true) gaps.push(gap("content_redacted", place));
      else if (difference === "change") counterexamples.push(refOf(place, entry, observation));
      else gaps.push(...difference.map((code) => gap(code, place)));
    }
  return { view, counterexamples, gaps, noise };
}

/** A move is a change at both of its ends. */
function placesOf(entry: SurfaceEntry): readonly string[] {
  return entry.from === undefined ? [entry.uri] : [entry.uri, entry.from];
}

/** A change, none, or why it is not known. */
function differenceOf(entry: SurfaceEntry): "change" | "none" | readonly GapCode[] {
  switch (entry.change) {
    case "created":
    case "deleted":
    case "moved":
      return "change";
    case "modified":
      return staysDirectory(entry) ? metadataDifference(entry) : "change";
    case "touched":
      return metadataDifference(entry);
    case "unchanged":
      return "none";
    case "unknown":
      return entry.reasons ?? ["baseline_missing"];
  }
}

function staysDirectory({ now, before }: SurfaceEntry): boolean {
  return now?.type === "directory" && (before === undefined || before.type === "directory");
}

/** Times alone are no change, nor is a rewrite with equal content; mode, owner and link target are. */
function metadataDifference({ now, before }: SurfaceEntry): "change" | "none" | readonly GapCode[] {
  if (now === undefined || before === undefined) return ["baseline_partial"];
  const pairs = TRACED.map((trait) => [trait(now), trait(before)] as const);
  if (pairs.some(([is, was]) => is !== undefined && was !== undefined && is !== was))
    return "change";
  return pairs.some(([is, was]) => (is === undefined) !== (was === undefined))
    ? ["baseline_partial"]
    : "none";
}

/** What of an entry's metadata counts; undefined where a surface has no such thing. */
const TRACED: readonly ((state: EntryState) => string | number | undefined)[] = [
  (state) => state.type,
  (state) => state.mode,
  (state) => state.owner?.uid,
  (state) => state.owner?.gid,
  (state) => state.linkTarget,
];

interface Allowance {
  readonly globs: readonly Glob[];
  /** True for what is allowed, the name of the noise for what is ignored, else false. */
  permits(uri: string, entry: SurfaceEntry): boolean | NoiseName;
}

function allowanceOf(condition: ChangedOnly, root: string): Allowance {
  const globs = patternsOf(condition)
    .map((pattern) => parseGlob(pattern))
    .filter((glob) => glob.root === root);
  const nameOf = condition.allow.includes("@noise") ? noiseOf(root) : () => undefined;
  return {
    globs,
    permits(uri, entry) {
      const isNewDirectory = entry.change === "created" && entry.now?.type === "directory";
      const readings = entry.redacted === true ? maskVariants(uri) : [uri];
      if (readings.every((each) => globs.some((glob) => permits(glob, each, isNewDirectory))))
        return true;
      // What is allowed of a whole is allowed of its parts.
      const { partOf, redacted } = entry;
      if (partOf !== undefined && globs.some((glob) => isNamedBy(glob, { uri: partOf, redacted })))
        return true;
      return readings.length > 1 ? false : (nameOf(uri) ?? false);
    },
  };
}

/** A directory had to be made before anything could be put in it. */
function permits(glob: Glob, uri: string, isNewDirectory: boolean): boolean {
  const progress = glob.reach(segmentsOf(uri));
  return glob.accepts(progress) || (isNewDirectory && glob.leadsOn(progress));
}

/** True for a gap that can hide no change outside of what is allowed. */
function isHarmless(each: Gap, { globs }: Allowance, root: string): boolean {
  const place = placeOf(each, root);
  if (place === undefined) return false;
  const walks = globs.map((glob) => ({ glob, progress: glob.reach(place) }));
  const isAllowed = walks.some(({ glob, progress }) => glob.accepts(progress));
  const isAllBeneath = walks.some(({ glob, progress }) => glob.coversBeneath(progress));
  return isAllowed && (isAllBeneath || !MAY_BE_DIRECTORIES.has(each.code));
}

/** Gaps that may be about what lies beneath the place that they name. */
const MAY_BE_DIRECTORIES: ReadonlySet<GapCode> = new Set<GapCode>([
  "listing_failed",
  "other_filesystem",
  "baseline_partial",
  "confinement_unverified",
  "link_not_followed",
  "link_outside_root",
]);

function refOf(place: string, entry: SurfaceEntry, observation: Observation): EntryRef {
  const other = place === entry.from ? `to ${entry.uri}` : `from ${entry.from}`;
  return {
    uri: place,
    change: entry.change,
    observation: observation.id,
    ...(entry.from === undefined ? {} : { detail: other }),
  };
}

function tellNoise(condition: ChangedOnly, names: readonly NoiseName[]): string {
  if (!condition.allow.includes("@noise")) return "";
  const counts = new Map<NoiseName, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const told = [...counts].map(([name, count]) => `${name} ${count}`).join(", ");
  return `Ignored as noise: ${told === "" ? "nothing" : told}`;
}
