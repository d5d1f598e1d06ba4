import type { Limits } from "../../core/limits.ts";
import { matcherFingerprint, type Matcher } from "../../core/matcher.ts";
import type { Extent } from "../../core/observation.ts";
import { bytesColumn, wordsColumn } from "./column.ts";
import { FLAG, type Manifest, type Node } from "./manifest.ts";
import { ReadingList } from "./reading-list.ts";
import { SmallestFirst } from "./smallest-first.ts";
import { changeAt, contentNode, fileBefore, nodeBefore, type View } from "./view.ts";

/** What one request wants evidence of: locations that are there, in order of importance, and locations that are gone. */
export interface Wish {
  readonly view: View;
  readonly extent: Extent;
  readonly limits: Limits;
  readonly strict: boolean;
  readonly maxContentBytes: number;
  readonly probes: readonly Matcher[];
  readonly kept: readonly Node[];
  readonly deleted: readonly Node[];
}

/** What each location of a wish gets. Arrays stand beside `kept`, those of prior content beside `kept` and `deleted`. */
export interface EvidencePlan {
  readonly extent: Extent;
  readonly kept: Uint32Array;
  readonly deleted: Uint32Array;
  /** Places in the reading list; NO_ITEM where nothing is read. */
  readonly items: Int32Array;
  /** Bytes of content to keep, of now and of before. */
  readonly nowBytes: Uint32Array;
  readonly beforeBytes: Uint32Array;
  readonly strict: boolean;
  readonly maxContentBytes: number;
}

export const NO_ITEM = -1;

/** One reading for all wishes. */
export interface Evidence {
  readonly list: ReadingList;
  readonly plannedBytes: number;
  readonly plans: readonly EvidencePlan[];
}

/**
 * Plans one reading for several wishes: each file once, though each wish is charged as if it had read it alone; a file that
 * a wish may not read to its end is read for that wish apart. What is kept of content goes to the small first.
 */
export function planEvidence(wishes: readonly Wish[]): Evidence {
  const planner = new Planner(new ReadingList(distinctProbes(wishes)));
  const drafts = wishes.map((wish) => draftOf(wish));
  for (const draft of drafts) planner.gather(draft);
  planner.addWhole();
  const plans = drafts.map((draft) => planner.planOf(draft));
  const spare = drafts.map(({ wish, charged }) => wish.limits.maxReadBytes - charged);
  const spareKept = drafts.map(({ left }) => left);
  planner.list.begin(Math.max(0, ...spare), Math.min(...spareKept));
  return { list: planner.list, plannedBytes: planner.plannedBytes, plans };
}

function distinctProbes(wishes: readonly Wish[]): readonly Matcher[] {
  const all = wishes.flatMap(({ probes }) => probes);
  return [...new Map(all.map((probe) => [matcherFingerprint(probe), probe])).values()];
}

interface Draft {
  readonly wish: Wish;
  /** The file behind each kept location, or NO_ITEM. */
  readonly files: Int32Array;
  /** How much of it may be read. */
  readonly allowed: Float64Array;
  readonly nowBytes: Uint32Array;
  readonly beforeBytes: Uint32Array;
  readonly charged: number;
  /** How much more may be kept. */
  readonly left: number;
}

function draftOf(wish: Wish): Draft {
  const { view, kept } = wish;
  const files = new Int32Array(kept.length).fill(NO_ITEM);
  const allowed = new Float64Array(kept.length);
  let left = wish.limits.maxReadBytes;
  for (const [at, node] of kept.entries()) {
    const file = contentNode(view, node);
    if (file === undefined || isRefused(wish, view.tree, file)) continue;
    files[at] = file;
    const share = Math.min(view.tree.sizes.get(file), left);
    allowed[at] = share;
    left -= share;
  }
  const charged = wish.limits.maxReadBytes - left;
  return { wish, files, allowed, charged, ...retained(wish, allowed) };
}

/** True where nothing of a file's content is to be believed, since it may be that of a file outside. */
export function isRefused(
  { strict }: { readonly strict: boolean },
  tree: Manifest,
  file: Node,
): boolean {
  return strict && tree.linkCounts.get(file) > 1;
}

/** Shares out what may be kept: to what provably came with the run first, then to the small. */
function retained(
  wish: Wish,
  allowed: Float64Array,
): Pick<Draft, "nowBytes" | "beforeBytes" | "left"> {
  const { view, kept, deleted, maxContentBytes } = wish;
  const nowBytes = new Uint32Array(kept.length);
  const beforeBytes = new Uint32Array(kept.length + deleted.length);
  const ranks = new Uint8Array(kept.length);
  for (const [at, node] of kept.entries()) {
    nowBytes[at] = Math.min(allowed[at] ?? 0, maxContentBytes);
    beforeBytes[at] = Math.min(priorBytesAt(view, node), maxContentBytes);
    ranks[at] = view.changes.of(node) === "unknown" ? 1 : 0;
  }
  for (const [at, node] of deleted.entries())
    beforeBytes[kept.length + at] = Math.min(priorBytes(view, node), maxContentBytes);
  let left = wish.limits.maxRetainedBytes;
  for (const rank of [0, 1]) {
    const shares = new SmallestFirst(sizesOf([nowBytes, beforeBytes], ranks, rank), left);
    left -= shareOut(nowBytes, shares, ranks, rank) + shareOut(beforeBytes, shares, ranks, rank);
  }
  return { nowBytes, beforeBytes, left };
}

function sizesOf(pieces: readonly Uint32Array[], ranks: Uint8Array, rank: number): Float64Array {
  const sizes = new Float64Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let count = 0;
  for (const bytes of pieces)
    for (let at = 0; at < bytes.length; at += 1) {
      if ((ranks[at] ?? 0) !== rank || bytes[at] === 0) continue;
      sizes[count] = bytes[at] ?? 0;
      count += 1;
    }
  return sizes.subarray(0, count);
}

/** Cuts the pieces of one rank to their shares. Returns how much that is. */
function shareOut(
  bytes: Uint32Array,
  shares: SmallestFirst,
  ranks: Uint8Array,
  rank: number,
): number {
  let taken = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    if ((ranks[at] ?? 0) !== rank) continue;
    const share = shares.share(bytes[at] ?? 0);
    bytes[at] = share;
    taken += share;
  }
  return taken;
}

function priorBytesAt(view: View, node: Node): number {
  const was = changeAt(view, node).change === "created" ? undefined : nodeBefore(view, node);
  return was === undefined ? 0 : priorBytes(view, was);
}

function priorBytes(view: View, was: Node): number {
  const { before } = view;
  if (before === undefined) return 0;
  const file = fileBefore(view, before.tree, was);
  const isKept = typeof file === "number" && before.tree.has(file, FLAG.prior);
  return isKept ? before.tree.sizes.get(file) : 0;
}

class Planner {
  readonly list: ReadingList;
  plannedBytes = 0;
  /** By file: the most that a wish keeps of it, whether one probes it, and its place in the list behind 1. */
  readonly #keepBytes = wordsColumn();
  readonly #probed = bytesColumn();
  readonly #places = wordsColumn();
  readonly #isWanted = bytesColumn();
  readonly #files: Node[] = [];

  constructor(list: ReadingList) {
    this.list = list;
  }

  /** Takes in what a wish wants of the files that it may read to their end. */
  gather({ wish, files, allowed, nowBytes }: Draft): void {
    for (const [at, file] of files.entries()) {
      if (file === NO_ITEM) continue;
      const size = wish.view.tree.sizes.get(file);
      if ((allowed[at] ?? 0) < size) continue;
      const keepBytes = nowBytes[at] ?? 0;
      if (this.#isWanted.get(file) === 0) {
        this.#isWanted.set(file, 1);
        this.#files.push(file);
        this.plannedBytes += size;
      }
      this.#keepBytes.set(file, Math.max(this.#keepBytes.get(file), keepBytes));
      if (wish.probes.length > 0 && keepBytes < size) this.#probed.set(file, 1);
    }
  }

  /** In the order of the tree, so that each directory is opened once. */
  addWhole(): void {
    for (const file of Uint32Array.from(this.#files).toSorted()) {
      const wish = {
        keepBytes: this.#keepBytes.get(file),
        isProbed: this.#probed.get(file) === 1,
      };
      this.#places.set(file, this.list.add(file, wish) + 1);
    }
  }

  planOf(draft: Draft): EvidencePlan {
    const { wish, files, nowBytes, beforeBytes } = draft;
    const items = files.map((file, at) =>
      file === NO_ITEM ? NO_ITEM : this.#itemOf(draft, file, at),
    );
    return {
      extent: wish.extent,
      kept: Uint32Array.from(wish.kept),
      deleted: Uint32Array.from(wish.deleted),
      items,
      nowBytes,
      beforeBytes,
      strict: wish.strict,
      maxContentBytes: wish.maxContentBytes,
    };
  }

  /** At most one file of a wish is cut: what comes after it is not read at all. */
  #itemOf({ wish, allowed, nowBytes }: Draft, file: Node, at: number): number {
    const share = allowed[at] ?? 0;
    if (share >= wish.view.tree.sizes.get(file)) return this.#places.get(file) - 1;
    if (share === 0) return NO_ITEM;
    this.plannedBytes += share;
    return this.list.add(file, {
      keepBytes: nowBytes[at] ?? 0,
      isProbed: wish.probes.length > 0,
      allowed: share,
    });
  }
}
