import type { ConfinedRoot } from "./confined.ts";
import { Changes } from "./changes.ts";
import { FLAG, ROOT, type Manifest, type Node } from "./manifest.ts";
import type { Budget, Meter } from "./meter.ts";
import { NodeList } from "./node-list.ts";
import type { Walk } from "./place-gap.ts";
import { SameContent, type Pair } from "./same-content.ts";
import type { Snapshot } from "./snapshot.ts";
import type { SecondThread } from "./second-thread.ts";
import { subtree } from "./traverse.ts";

/** A file whose times are younger than this, measured at the baseline, may have changed within one tick of the clock. */
const TICK_NS = 20_000_000n;

export interface DiffOptions {
  readonly meter: Meter;
  /** For files whose metadata moved. */
  readonly reading: Budget;
  /** For files that look unchanged. */
  readonly digesting: Budget;
  /** Where times are proof, what looks unchanged is read again all the same. */
  readonly readsAgain: boolean;
  readonly second?: SecondThread | undefined;
}

/**
 * Compares a tree with the one before the run: by digests where both were taken, by identity, size and times only where those
 * are proof. What cannot be told is "unknown", with the reason.
 */
export function diff(
  confined: ConfinedRoot,
  before: Snapshot,
  after: Walk,
  options: DiffOptions,
): Changes {
  const comparison = new Comparison(before, after.tree);
  comparison.compareTrees();
  comparison.compareFiles(confined, options);
  comparison.findMoves(confined, options);
  return comparison.changes;
}

class Comparison {
  readonly changes = new Changes();
  readonly #before: Snapshot;
  readonly #was: Manifest;
  readonly #is: Manifest;
  /** Files on both sides whose metadata moved, and those whose metadata did not. */
  readonly #movedFiles = new NodeList();
  readonly #stillFiles = new NodeList();
  readonly #pending: Pair[] = [];

  constructor(before: Snapshot, is: Manifest) {
    this.#before = before;
    this.#was = before.tree;
    this.#is = is;
  }

  compareTrees(): void {
    this.#pending.push({ was: ROOT, is: ROOT });
    for (let pair = this.#pending.pop(); pair !== undefined; pair = this.#pending.pop())
      this.#compareChildren(pair);
  }

  /** Both lists are in the order of their bytes: one pass over the two. */
  #compareChildren(directories: Pair): void {
    const was = this.#was.children(directories.was);
    const is = this.#is.children(directories.is);
    let old = was.next().value;
    let young = is.next().value;
    while (old !== undefined || young !== undefined) {
      const order = this.#order(old, young);
      this.#meet(order <= 0 ? old : undefined, order >= 0 ? young : undefined, directories);
      if (order <= 0) old = was.next().value;
      if (order >= 0) young = is.next().value;
    }
  }

  #meet(old: Node | undefined, young: Node | undefined, directories: Pair): void {
    if (old !== undefined && young !== undefined) this.#compare({ was: old, is: young });
    else if (old !== undefined) this.#gone(old, directories.is);
    else if (young !== undefined) this.#appeared(young, directories.was);
  }

  #order(old: Node | undefined, young: Node | undefined): number {
    if (old === undefined) return 1;
    if (young === undefined) return -1;
    const was = this.#was.names.get(old);
    const is = this.#is.names.get(young);
    return was === is ? 0 : was < is ? -1 : 1;
  }

  /** Where the directory was not listed to its end now, a missing name says nothing. */
  #gone(node: Node, parent: Node): void {
    if (!this.#is.has(parent, FLAG.listed)) return;
    for (const each of subtree(this.#was, node)) this.changes.deleted.add(each);
  }

  /** Where the directory was not listed to its end before, a new name says nothing. */
  #appeared(node: Node, parent: Node): void {
    const known = this.#was.has(parent, FLAG.listed);
    for (const each of subtree(this.#is, node)) {
      if (known) this.changes.set(each, "created");
      else this.changes.setUnknown(each, ["baseline_partial"]);
    }
  }

  #compare(pair: Pair): void {
    // Not asked for: only what the patterns name was looked at.
    if (!this.#is.has(pair.is, FLAG.stat)) return;
    if (!this.#was.has(pair.was, FLAG.stat)) {
      this.changes.setUnknown(pair.is, ["baseline_partial"]);
      return;
    }
    this.changes.setBefore(pair.is, pair.was);
    if (this.#is.type(pair.is) === this.#was.type(pair.was)) this.#compareSameType(pair);
    else this.#replaced(pair);
  }

  #compareSameType(pair: Pair): void {
    const type = this.#is.type(pair.is);
    const still = this.#was.sameStat(pair.was, this.#is, pair.is);
    if (type === "file") {
      (still ? this.#stillFiles : this.#movedFiles).add(pair.is);
      return;
    }
    if (type === "directory") this.#pending.push(pair);
    const moved =
      type === "directory" ? !this.#was.sameOwnership(pair.was, this.#is, pair.is) : !still;
    if (this.#was.targets.get(pair.was) !== this.#is.targets.get(pair.is))
      this.changes.set(pair.is, "modified");
    else if (moved) this.changes.set(pair.is, "touched");
  }

  #replaced(pair: Pair): void {
    this.changes.set(pair.is, "modified");
    for (const each of subtree(this.#was, pair.was))
      if (each !== pair.was) this.changes.deleted.add(each);
    for (const each of subtree(this.#is, pair.is))
      if (each !== pair.is) this.changes.set(each, "created");
  }

  /** Files whose metadata moved come first: the budget goes where the run acted. */
  compareFiles(confined: ConfinedRoot, options: DiffOptions): void {
    const contents = new SameContent(this.#before, this.#is);
    for (const is of this.#movedFiles) this.#planMoved(this.#pairOf(is), contents, options);
    for (const is of this.#stillFiles) this.#planStill(this.#pairOf(is), contents, options);
    contents.read(confined, options);
    for (const is of this.#movedFiles) this.#settleMoved(this.#pairOf(is), contents);
    for (const is of this.#stillFiles) this.#settleStill(this.#pairOf(is), contents, options);
  }

  #pairOf(is: Node): Pair {
    return { was: this.changes.before(is) ?? ROOT, is };
  }

  #planMoved(pair: Pair, contents: SameContent, { reading }: DiffOptions): void {
    if (this.#was.sizes.get(pair.was) === this.#is.sizes.get(pair.is)) contents.ask(pair, reading);
  }

  #planStill(pair: Pair, contents: SameContent, options: DiffOptions): void {
    if (options.readsAgain || !this.#timesProve(pair.was)) contents.ask(pair, options.digesting);
  }

  #settleMoved(pair: Pair, contents: SameContent): void {
    if (this.#was.sizes.get(pair.was) !== this.#is.sizes.get(pair.is)) {
      this.changes.set(pair.is, "modified");
      return;
    }
    const answer = contents.of(pair);
    if (answer === "same") this.changes.set(pair.is, "touched");
    else if (answer === "different") this.changes.set(pair.is, "modified");
    else this.changes.setUnknown(pair.is, [answer]);
  }

  #settleStill(pair: Pair, contents: SameContent, { readsAgain }: DiffOptions): void {
    if (!readsAgain && this.#timesProve(pair.was)) {
      this.changes.byTimesAlone += 1;
      return;
    }
    const answer = contents.of(pair);
    if (answer === "same") return;
    if (answer === "different") this.changes.set(pair.is, "modified");
    else if (this.#timesProve(pair.was)) this.changes.byTimesAlone += 1;
    else this.changes.setUnknown(pair.is, [answer]);
  }

  #timesProve(was: Node): boolean {
    const newest = bigMax(this.#was.changed.get(was), this.#was.modified.get(was));
    return this.#before.timesAreProof && newest < this.#before.takenAt - TICK_NS;
  }

  /** A location that appeared and one that is gone are one move where they are the same inode, born at the same time, with the same content. */
  findMoves(confined: ConfinedRoot, options: DiffOptions): void {
    const pairs = this.#likelyMoves();
    const contents = new SameContent(this.#before, this.#is);
    for (const pair of pairs) if (this.#hasDigest(pair)) contents.ask(pair, options.reading);
    contents.read(confined, options);
    for (const { was, is } of pairs) {
      if (!this.changes.deleted.has(was) || !this.#movedWhole({ was, is }, contents)) continue;
      this.changes.set(is, "moved");
      this.changes.setBefore(is, was);
      this.changes.deleted.delete(was);
    }
  }

  #likelyMoves(): readonly Pair[] {
    if (this.changes.deleted.size === 0) return [];
    const gone = new Map<bigint, Node>();
    for (const node of this.changes.deleted)
      if (this.#was.born.get(node) !== 0n) gone.set(this.#was.inodes.get(node), node);
    const pairs: Pair[] = [];
    for (let is = 0; is < this.#is.count; is += 1) {
      if (this.changes.of(is) !== "created") continue;
      const was = gone.get(this.#is.inodes.get(is));
      if (was !== undefined && this.#isSameFile({ was, is })) pairs.push({ was, is });
    }
    return pairs;
  }

  #isSameFile({ was, is }: Pair): boolean {
    return (
      this.#was.devices.get(was) === this.#is.devices.get(is) &&
      this.#was.born.get(was) === this.#is.born.get(is) &&
      this.#was.type(was) === this.#is.type(is) &&
      (this.#is.type(is) !== "file" || this.#was.sizes.get(was) === this.#is.sizes.get(is))
    );
  }

  #hasDigest({ was, is }: Pair): boolean {
    return this.#is.type(is) === "file" && this.#was.has(was, FLAG.digest);
  }

  #movedWhole(pair: Pair, contents: SameContent): boolean {
    if (this.#is.type(pair.is) !== "file")
      return this.#was.targets.get(pair.was) === this.#is.targets.get(pair.is);
    if (this.#hasDigest(pair)) return contents.of(pair) === "same";
    return this.#was.modified.get(pair.was) === this.#is.modified.get(pair.is);
  }
}

function bigMax(left: bigint, right: bigint): bigint {
  return left > right ? left : right;
}
