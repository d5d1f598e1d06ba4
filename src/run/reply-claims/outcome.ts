import type { Change } from "../../core/change.ts";
import type { SurfaceEntry } from "../../core/entry.ts";
import type { Gap } from "../../core/gap.ts";
import { locationUri, segmentsOf } from "../../core/locator.ts";
import type { AgentRoot } from "../agent.ts";
import type { ClaimedVerb } from "./grammar.ts";

/** "not seen": the path lies outside of what was observed, or its change is not known. */
export type ClaimOutcome = "in the delta" | "no such change" | "not seen";

type DeltaEntry = Pick<SurfaceEntry, "uri" | "change" | "from">;

interface Place {
  readonly segments: readonly string[];
  readonly change: Change;
  readonly uri: string;
}

/** The places of a delta by their last name, and all of them. */
export interface ChangesByName {
  readonly byName: ReadonlyMap<string, readonly Place[]>;
  readonly all: readonly Place[];
}

/** What a claim is compared with. */
export interface ClaimWorld {
  readonly changes: ChangesByName;
  readonly roots: readonly AgentRoot[];
  readonly gaps: readonly Pick<Gap, "location">[];
}

const FITTING: Readonly<Record<ClaimedVerb, readonly Change[]>> = {
  created: ["created", "modified", "moved"],
  written: ["created", "modified", "moved"],
  modified: ["modified", "created", "moved"],
  deleted: ["deleted"],
  moved: ["moved", "created", "deleted"],
};

/** Sorts a delta for the look-ups of claims. A moved entry stands at both of its places. */
export function changesByName(delta: readonly DeltaEntry[]): ChangesByName {
  const all = delta.flatMap((entry): Place[] => {
    const { uri, change, from } = entry;
    const now = { uri, change, segments: namesOf(uri) };
    return from === undefined ? [now] : [now, { uri, change: "deleted", segments: namesOf(from) }];
  });
  const byName = new Map<string, Place[]>();
  for (const place of all) {
    const name = place.segments.at(-1) ?? "";
    const others = byName.get(name) ?? [];
    others.push(place);
    byName.set(name, others);
  }
  return { byName, all };
}

const namesOf = (uri: string): readonly string[] =>
  segmentsOf(uri).map((name) => name.normalize("NFC"));

/** What the delta says of a claimed path. A path is found by its end: a reply may name it from any folder. */
export function outcomeOfClaim(
  path: string,
  verb: ClaimedVerb,
  { changes, roots, gaps }: ClaimWorld,
): { readonly outcome: ClaimOutcome; readonly uri?: string } {
  const inRoot = belowRoot(path, roots);
  const segments = inRoot?.segments ?? partsOf(path);
  const places = placesOf(path, segments, changes);
  const fitting = places.find(({ change }) => FITTING[verb].includes(change));
  if (fitting !== undefined) return { outcome: "in the delta", uri: fitting.uri };
  if (places.some(({ change }) => change === "unknown")) return { outcome: "not seen" };
  const outside = inRoot === undefined && roots.length > 0 && isElsewhere(path);
  const hidden = (inRoot === undefined ? roots : [inRoot.root]).some((root) =>
    isInGap(locationUri(root.name, segments), gaps),
  );
  return { outcome: outside || hidden ? "not seen" : "no such change" };
}

function partsOf(path: string): readonly string[] {
  return path
    .normalize("NFC")
    .split("/")
    .filter((part) => part !== "" && part !== "." && part !== "~" && !/^[A-Za-z]:$/.test(part));
}

/** Where an absolute path of the host lies in a root. */
function belowRoot(
  path: string,
  roots: readonly AgentRoot[],
): { readonly root: AgentRoot; readonly segments: readonly string[] } | undefined {
  const parts = partsOf(path);
  if (!path.startsWith("/")) return undefined;
  for (const root of roots) {
    const folder = partsOf(root.dir);
    if (folder.every((name, index) => parts[index] === name) && parts.length > folder.length)
      return { root, segments: parts.slice(folder.length) };
  }
  return undefined;
}

function isElsewhere(path: string): boolean {
  return /^(?:\/|~\/|[A-Za-z]:\/)/.test(path) || partsOf(path).includes("..");
}

/** The places that end as the path does; where there is none, those beneath it, should it name a folder. */
function placesOf(
  path: string,
  segments: readonly string[],
  { byName, all }: ChangesByName,
): readonly Place[] {
  const named = byName.get(segments.at(-1) ?? "") ?? [];
  const same = named.filter((place) => endsWith(place.segments, segments));
  const isFolder = path.endsWith("/") || !(segments.at(-1) ?? "").includes(".");
  if (same.length > 0 || !isFolder) return same;
  const folder = `/${segments.join("/")}/`;
  return all.filter((place) => `/${place.segments.join("/")}`.includes(folder));
}

function endsWith(segments: readonly string[], end: readonly string[]): boolean {
  const from = segments.length - end.length;
  return from >= 0 && end.every((name, index) => segments[from + index] === name);
}

function isInGap(uri: string, gaps: readonly Pick<Gap, "location">[]): boolean {
  return gaps.some(({ location }) => {
    const folder = location.endsWith("/") ? location : `${location}/`;
    return uri === location || uri.startsWith(folder);
  });
}
