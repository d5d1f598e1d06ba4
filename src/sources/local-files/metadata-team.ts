import { UpheldError } from "../../core/errors.ts";
import { FLAG, type Manifest } from "./manifest.ts";
import { MetadataList, readMetadata, type MetadataPlace } from "./metadata.ts";
import type { PlaceGap } from "./place-gap.ts";
import type { SecondThread, ToldBySecond } from "./second-thread.ts";

/** From so many entries on a second thread is worth its start. */
const MANY_ENTRIES = 20_000;

/** True where a second thread is worth its start. */
export function isMuchToLookAt(tree: Manifest): boolean {
  return tree.count > MANY_ENTRIES;
}

/**
 * Reads the metadata of all entries of a tree that have none yet, with a second thread where there are many. Gaps:
 * changed_during_walk, read_failed. Throws `Aborted`, and "internal" where the second thread broke.
 */
export function readAllMetadata(
  place: MetadataPlace,
  second: SecondThread | undefined,
): readonly PlaceGap[] {
  const list = new MetadataList({ count: place.tree.count });
  if (second === undefined || !isMuchToLookAt(place.tree)) return readMetadata(list, place);
  const shared = second.share({ kind: "metadata", list: list.share() }, place.tree);
  let gaps: readonly PlaceGap[] = [];
  try {
    gaps = readMetadata(list, place);
  } finally {
    gaps = [...gaps, ...takeIn(shared.wait(), place.tree)];
  }
  refuseUnlooked(place.tree, gaps);
  return gaps;
}

/** What the second thread found besides the columns. Returns its gaps. */
function takeIn(told: ToldBySecond | undefined, tree: Manifest): readonly PlaceGap[] {
  if (told?.kind !== "metadata") return [];
  for (const [node, target] of told.targets) tree.targets.set(node, target);
  return told.gaps;
}

/** An entry without metadata and without a reason would be left out in silence. */
function refuseUnlooked(tree: Manifest, gaps: readonly PlaceGap[]): void {
  const told = new Set(gaps.map(({ node }) => node));
  for (let node = 0; node < tree.count; node += 1)
    if (!tree.has(node, FLAG.stat) && !told.has(node))
      throw new UpheldError("internal", "the second thread left entries without their metadata");
}
