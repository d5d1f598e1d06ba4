import type { GapCode } from "../../core/gap.ts";
import { errnoOf, isAbsent, type ConfinedRoot, type Directory } from "./confined.ts";
import { Descent } from "./descent.ts";
import { FLAG, type Manifest, type Node } from "./manifest.ts";
import { Aborted, type Meter } from "./meter.ts";
import type { PlaceGap } from "./place-gap.ts";

/** How many entries a thread takes at a time. */
const STRIDE = 256;

/** Where metadata is read, and where it is written. */
export interface MetadataPlace {
  readonly confined: ConfinedRoot;
  readonly tree: Manifest;
  readonly meter: Meter;
}

/** A list on its way to another thread. */
export interface SharedMetadataList {
  readonly cursor: SharedArrayBuffer;
  readonly count: number;
}

/** The first entries of a tree, whose metadata is read by one thread or several. */
export class MetadataList {
  readonly #cursor: Int32Array;
  readonly count: number;

  constructor({ count, cursor }: { readonly count: number; readonly cursor?: SharedArrayBuffer }) {
    this.count = count;
    this.#cursor = new Int32Array(cursor ?? new SharedArrayBuffer(4));
  }

  /** The next entries for a thread; undefined when all are taken. */
  take(): { readonly from: Node; readonly to: Node } | undefined {
    const from = Atomics.add(this.#cursor, 0, STRIDE);
    return from < this.count ? { from, to: Math.min(this.count, from + STRIDE) } : undefined;
  }

  share(): SharedMetadataList {
    // Made above.
    return { cursor: this.#cursor.buffer as SharedArrayBuffer, count: this.count };
  }
}

/** Reads the metadata that entries of a list have not yet, until all are taken: what one thread does, alone or beside another. Throws only `Aborted`. */
export function readMetadata(list: MetadataList, place: MetadataPlace): readonly PlaceGap[] {
  const gaps: PlaceGap[] = [];
  const descent = new Descent(place.confined, place.tree);
  try {
    for (let nodes = list.take(); nodes !== undefined; nodes = list.take())
      for (let node = nodes.from; node < nodes.to; node += 1)
        gaps.push(...lookFrom(descent, node, place));
  } finally {
    descent[Symbol.dispose]();
  }
  return gaps;
}

function lookFrom(descent: Descent, node: Node, place: MetadataPlace): readonly PlaceGap[] {
  if (place.tree.has(node, FLAG.stat)) return NOTHING;
  let directory: Directory;
  try {
    directory = descent.open(place.tree.parents.get(node));
  } catch (error) {
    return [{ node, code: codeOf(error), detail: errnoOf(error) }];
  }
  return lookAt(directory, node, place);
}

/** Metadata by name, and where a link leads; a file that is read later is asked again through its own handle. Throws only `Aborted`. */
export function lookAt(
  directory: Directory,
  node: Node,
  { confined, tree, meter }: MetadataPlace,
): readonly PlaceGap[] {
  try {
    meter.tick();
    const name = tree.names.get(node);
    tree.setStat(node, confined.stat(directory, name));
    if (tree.type(node) !== "link") return NOTHING;
    tree.targets.set(node, confined.readLink(directory, name));
    tree.mark(node, FLAG.target);
    return NOTHING;
  } catch (error) {
    if (error instanceof Aborted) throw error;
    return [{ node, code: codeOf(error), detail: errnoOf(error) }];
  }
}

const NOTHING: readonly PlaceGap[] = [];

/** What was listed and is gone, or stands elsewhere by now, changed under the walk. */
function codeOf(error: unknown): GapCode {
  return isAbsent(error) || errnoOf(error) === "EUNCONFINED"
    ? "changed_during_walk"
    : "read_failed";
}
