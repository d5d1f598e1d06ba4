import { UpheldError } from "../../core/errors.ts";
import { FLAG, type Manifest } from "./manifest.ts";
import { MetadataList, readMetadata, type MetadataPlace } from "./metadata.ts";
import type { PlaceGap } from "./place-gap.ts";
import { SecondThread, type AskForHelp, type ToldBySecond } from "./second-thread.ts";

/** From so many entries on a second thread is worth its start. */
const MANY_ENTRIES = 20_000;

/**
 * Reads the metadata of all entries of a tree that have none yet, with a second thread where there are many. Gaps:
 * changed_during_walk, read_failed. Throws `Aborted`, and "internal" where the second thread broke.
 */
export function readAllMetadata(
  place: MetadataPlace,
  askForHelp: AskForHelp | undefined,
): readonly PlaceGap[] {
  const list = new MetadataList({ count: place.tree.count });
  const meter =
    askForHelp !== undefined && list.count > MANY_ENTRIES ? place.meter.share() : undefined;
  if (meter === undefined || askForHelp === undefined) return readMetadata(list, place);
  const second = new SecondThread();
  askForHelp(second.order({ kind: "metadata", list: list.share() }, place, meter));
  let gaps: readonly PlaceGap[] = [];
  try {
    gaps = readMetadata(list, place);
  } finally {
    gaps = [...gaps, ...takeIn(second.wait(), place.tree)];
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
