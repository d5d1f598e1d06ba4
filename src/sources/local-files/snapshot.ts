import { createHash } from "node:crypto";
import { Digest } from "../../core/ids.ts";
import type { Limits } from "../../core/limits.ts";
import { wordsColumn, type NumberColumn } from "./column.ts";
import type { ConfinedRoot } from "./confined.ts";
import { columnsOf, FLAG, type Manifest, type Node } from "./manifest.ts";
import { Budget, type Meter } from "./meter.ts";
import type { PlaceGap, Walk } from "./place-gap.ts";
import { ReadingList } from "./reading-list.ts";
import { readAll } from "./reading-team.ts";
import type { SecondThread } from "./second-thread.ts";
import { SmallestFirst } from "./smallest-first.ts";
import { filesOf } from "./traverse.ts";
import { walk } from "./walk.ts";

/** The content of small files before a run, end to end. */
export interface PriorContent {
  readonly bytes: Buffer;
  /** Where that of a file starts, for files that are marked as kept. */
  readonly starts: NumberColumn;
}

/** A tree before a run: its manifest, what of its content was kept, and how far it may be trusted. */
export interface Snapshot {
  readonly tree: Manifest;
  readonly gaps: readonly PlaceGap[];
  /** When it was complete, by the clock of the file system, in nanoseconds. */
  readonly takenAt: bigint;
  /** Equal identity, size and times mean unchanged: a local disk, flushed after it was walked. */
  readonly timesAreProof: boolean;
  readonly prior: PriorContent;
  readonly digest: Digest;
  readonly touched: { readonly listed: number; readonly readBytes: number };
}

export interface SnapshotOptions {
  readonly meter: Meter;
  readonly limits: Limits;
  /** Times count only for files that have no digest: everything else is read again. */
  readonly readsAgain: boolean;
  /** The file system's clock. */
  readonly now: () => bigint;
  /** Flushes the file system; true where times are proof afterwards. */
  readonly settle: () => boolean;
  readonly second?: SecondThread | undefined;
}

/** Up to here a tree is read again as a matter of course. */
const SMALL_FILES = 10_000;
const SMALL_BYTES = 32 << 20;

/**
 * Walks the root and takes the digest of every file within `maxDigestBytes`, the smallest first; keeps the content of small
 * ones. Where times are to stand in for reading again, the file system is flushed.
 */
export function takeSnapshot(confined: ConfinedRoot, options: SnapshotOptions): Snapshot {
  const { meter, limits, second } = options;
  const listing = new Budget(limits.maxListedEntries);
  return readSnapshot(confined, walk(confined, { meter, listing, second }), options);
}

/** Takes the digests of a tree that was walked, and keeps the content of its small files. */
export function readSnapshot(
  confined: ConfinedRoot,
  { tree, gaps }: Walk,
  options: SnapshotOptions,
): Snapshot {
  const { meter } = options;
  const { list, plannedBytes, files } = planOf(tree, options.limits);
  readAll(list, { confined, tree, meter, prober: () => [] }, plannedBytes, options.second);
  const { prior, digested } = keptOf(list, tree);
  const usesTimes = digested < files || !(options.readsAgain || isSmall(tree));
  return {
    tree,
    gaps,
    timesAreProof: usesTimes && options.settle(),
    takenAt: options.now(),
    prior,
    digest: digestOfTree(tree),
    touched: meter.touched,
  };
}

/** True where reading all of a tree again costs little. */
export function isSmall(tree: Manifest): boolean {
  let files = 0;
  let bytes = 0;
  for (const node of filesOf(tree)) {
    files += 1;
    bytes += tree.sizes.get(node);
    if (files > SMALL_FILES || bytes > SMALL_BYTES) return false;
  }
  return true;
}

/** The content of a file before the run; undefined where it was not kept. */
export function priorOf(
  { tree, prior }: Pick<Snapshot, "tree" | "prior">,
  node: Node,
): Buffer | undefined {
  if (!tree.has(node, FLAG.prior)) return undefined;
  const start = prior.starts.get(node);
  return prior.bytes.subarray(start, start + tree.sizes.get(node));
}

interface SnapshotPlan {
  readonly list: ReadingList;
  readonly plannedBytes: number;
  readonly files: number;
}

/** The sizes of all files: no list is made on the way, as `Float64Array.from` would of a generator. */
function sizesOf(tree: Manifest): Float64Array {
  const sizes = new Float64Array(tree.count);
  let files = 0;
  for (const node of filesOf(tree)) {
    sizes[files] = tree.sizes.get(node);
    files += 1;
  }
  return sizes.subarray(0, files);
}

/** What is digested and what is kept: the smallest files first, and among equals those that stand first in the tree. */
function planOf(tree: Manifest, limits: Limits): SnapshotPlan {
  const sizes = sizesOf(tree);
  const digested = new SmallestFirst(sizes, limits.maxDigestBytes);
  const firstLarge = sizes.findIndex((size) => size > limits.maxPriorFileBytes);
  const keepable = sizes.subarray(0, firstLarge === -1 ? sizes.length : firstLarge);
  const kept = new SmallestFirst(keepable, limits.maxPriorBytes);
  const list = new ReadingList();
  let plannedBytes = 0;
  for (const node of filesOf(tree)) {
    const size = tree.sizes.get(node);
    if (digested.share(size) < size) continue;
    plannedBytes += size;
    const share = size <= limits.maxPriorFileBytes ? kept.share(size) : 0;
    list.add(node, { keepBytes: share < size ? 0 : share, isProbed: false });
  }
  list.begin(limits.maxDigestBytes - plannedBytes);
  return { list, plannedBytes, files: sizes.length };
}

/** A content counts as kept where all of the file is there. */
function keptOf(list: ReadingList, tree: Manifest): { prior: PriorContent; digested: number } {
  const starts = wordsColumn();
  let digested = 0;
  for (let index = 0; index < list.count; index += 1) {
    if (!list.isWhole(index)) continue;
    digested += 1;
    const node = list.node(index);
    if (tree.sizes.get(node) > list.keepBytes(index)) continue;
    starts.set(node, list.keptFrom(index));
    tree.mark(node, FLAG.prior);
  }
  return { prior: { bytes: list.kept, starts }, digested };
}

/** One digest over names, metadata and contents of all entries. */
function digestOfTree(tree: Manifest): Digest {
  const hash = createHash("sha256");
  for (const column of columnsOf(tree))
    for (const bytes of column.bytes(tree.count)) hash.update(bytes);
  for (const [node, target] of tree.targets)
    hash.update(`${node}:${target.length}:`).update(target, "latin1");
  return Digest.parse(`sha256:${hash.digest("hex")}`);
}
