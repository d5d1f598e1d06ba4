import { createHash } from "node:crypto";
import type { GapCode } from "../../core/gap.ts";
import { Digest } from "../../core/ids.ts";
import type { Limits } from "../../core/limits.ts";
import { errnoOf, type ConfinedRoot } from "./confined.ts";
import { Descent } from "./descent.ts";
import { columnsOf, FLAG, type Manifest, type Node } from "./manifest.ts";
import { Aborted, Budget, type Meter } from "./meter.ts";
import { FileReader, type Reading } from "./read-file.ts";
import type { PlaceGap, Walk } from "./place-gap.ts";
import { PriorContents } from "./prior.ts";
import { filesOf } from "./traverse.ts";
import { walk } from "./walk.ts";

/** A tree before a run: its manifest, what of its content was kept, and how far it may be trusted. */
export interface Snapshot {
  readonly tree: Manifest;
  readonly gaps: readonly PlaceGap[];
  /** When it was complete, by the clock of the file system, in nanoseconds. */
  readonly takenAt: bigint;
  /** Equal identity, size and times mean unchanged: a local disk, flushed after it was walked. */
  readonly timesAreProof: boolean;
  /** Kept content of small files. */
  readonly prior: PriorContents;
  readonly digest: Digest;
  readonly touched: { readonly listed: number; readonly readBytes: number };
}

export interface SnapshotOptions {
  readonly meter: Meter;
  readonly limits: Limits;
  /** The file system's clock. */
  readonly now: () => bigint;
  /** Flushes the file system; true where times are proof afterwards. */
  readonly settle: () => boolean;
}

/**
 * Walks the root and takes the digest of every file within `maxDigestBytes`, the smallest first; keeps the content of small
 * ones. Where something stays without a digest the file system is flushed, so that times can stand in.
 */
export function takeSnapshot(confined: ConfinedRoot, options: SnapshotOptions): Snapshot {
  const { meter, limits } = options;
  return readSnapshot(
    confined,
    walk(confined, { meter, listing: new Budget(limits.maxListedEntries) }),
    options,
  );
}

/** Takes the digests of a tree that was walked, and keeps the content of its small files. */
export function readSnapshot(
  confined: ConfinedRoot,
  { tree, gaps }: Walk,
  options: SnapshotOptions,
): Snapshot {
  const { meter, limits } = options;
  const plan = planOf(tree, limits);
  const prior = new PriorContents();
  const undigested = digestFiles(confined, tree, {
    meter,
    budget: new Budget(Number.MAX_SAFE_INTEGER),
    keepBytes: plan.priorSize,
    wants: (node) => tree.sizes.get(node) <= plan.digestSize,
    onRead: (node, reading) => {
      if (!reading.headIsWhole || reading.head.length > plan.priorSize) return;
      prior.add(node, reading.head);
      tree.mark(node, FLAG.prior);
    },
  });
  const timesAreProof = undigested > 0 ? options.settle() : false;
  return {
    tree,
    gaps,
    takenAt: options.now(),
    timesAreProof,
    prior,
    digest: digestOfTree(tree),
    touched: { ...meter.touched },
  };
}

export interface DigestOptions {
  readonly meter: Meter;
  readonly budget: Budget;
  readonly keepBytes: number;
  readonly wants: (node: Node) => boolean;
  readonly onRead?: (node: Node, reading: Reading) => void;
}

/** Reads the wanted files directory by directory and sets their digests. Returns how many files have none. */
export function digestFiles(
  confined: ConfinedRoot,
  tree: Manifest,
  options: DigestOptions,
): number {
  const descent = new Descent(confined, tree);
  const reader = new FileReader(confined);
  let without = 0;
  try {
    for (const node of filesOf(tree)) {
      const reading = options.wants(node)
        ? readNode({ descent, reader, tree }, node, options)
        : undefined;
      if (reading?.sha256 === undefined) without += 1;
      else {
        tree.digests.setHex(node, reading.sha256);
        tree.mark(node, FLAG.digest);
      }
    }
  } finally {
    descent[Symbol.dispose]();
  }
  return without;
}

interface Place {
  readonly descent: Descent;
  readonly reader: FileReader;
  readonly tree: Manifest;
}

/** Reads one file and takes over what its handle said of it. */
export function readNode(place: Place, node: Node, options: DigestOptions): Reading {
  options.meter.tick();
  const { tree } = place;
  if (tree.has(node, FLAG.elsewhere)) return unread("other_filesystem");
  try {
    const directory = place.descent.open(tree.parents.get(node));
    const reading = place.reader.read(directory, tree.names.get(node), options);
    if (reading.stat !== undefined) tree.setStat(node, reading.stat);
    options.onRead?.(node, reading);
    return reading;
  } catch (error) {
    if (error instanceof Aborted) throw error;
    return unread("read_failed", errnoOf(error));
  }
}

function unread(code: GapCode, detail = ""): Reading {
  return { head: Buffer.alloc(0), headIsWhole: false, readBytes: 0, missing: { code, detail } };
}

/** The sizes up to which all files fit the budgets: the smallest come first, so that one large file cannot starve the rest. */
function planOf(tree: Manifest, limits: Limits): { digestSize: number; priorSize: number } {
  const ordered = Float64Array.from(filesOf(tree), (node) => tree.sizes.get(node)).toSorted();
  return {
    digestSize: largestWithin(ordered, limits.maxDigestBytes),
    priorSize: Math.min(limits.maxPriorFileBytes, largestWithin(ordered, limits.maxPriorBytes)),
  };
}

function largestWithin(ordered: Float64Array, budget: number): number {
  let sum = 0;
  for (let at = 0; at < ordered.length; at += 1) {
    const size = ordered[at] ?? 0;
    sum += size;
    if (sum > budget) return size - 1;
  }
  return Number.MAX_SAFE_INTEGER;
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
