import type { GapCode } from "../../core/gap.ts";
import type { ConfinedRoot } from "./confined.ts";
import { Changes } from "./changes.ts";
import { Descent } from "./descent.ts";
import { FLAG, ROOT, type Manifest, type Node } from "./manifest.ts";
import type { Budget, Meter } from "./meter.ts";
import { FileReader } from "./read-file.ts";
import { readNode, type Snapshot } from "./snapshot.ts";
import type { Walk } from "./place-gap.ts";
import { subtree } from "./traverse.ts";

/** A file whose times are younger than this, measured at the baseline, may have changed within one tick of the clock. */
const TICK_NS = 20_000_000n;

export interface DiffOptions {
  readonly meter: Meter;
  /** For files whose metadata moved. */
  readonly reading: Budget;
  /** For files that look unchanged. */
  readonly digesting: Budget;
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

interface Pair {
  readonly was: Node;
  readonly is: Node;
}

class Comparison {
  readonly changes = new Changes();
  readonly #before: Snapshot;
  readonly #was: Manifest;
  readonly #is: Manifest;
  /** Files on both sides whose metadata moved, and those whose metadata did not. */
  readonly #movedFiles: Node[] = [];
  readonly #stillFiles: Node[] = [];
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
      (still ? this.#stillFiles : this.#movedFiles).push(pair.is);
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
    using place = openPlace(confined, this.#is);
    for (const is of this.#movedFiles) this.#compareMoved(this.#pairOf(is), place, options);
    for (const is of this.#stillFiles) this.#compareStill(this.#pairOf(is), place, options);
  }

  #pairOf(is: Node): Pair {
    return { was: this.changes.before(is) ?? ROOT, is };
  }

  #compareMoved(pair: Pair, place: Place, options: DiffOptions): void {
    if (this.#was.sizes.get(pair.was) !== this.#is.sizes.get(pair.is)) {
      this.changes.set(pair.is, "modified");
      return;
    }
    if (!this.#was.has(pair.was, FLAG.digest)) {
      this.changes.setUnknown(pair.is, ["baseline_partial"]);
      return;
    }
    const same = this.#sameContent(pair, place, options.meter, options.reading);
    if (same === undefined) this.changes.setUnknown(pair.is, [place.lastGap]);
    else this.changes.set(pair.is, same ? "touched" : "modified");
  }

  #compareStill(pair: Pair, place: Place, options: DiffOptions): void {
    const same = this.#was.has(pair.was, FLAG.digest)
      ? this.#sameContent(pair, place, options.meter, options.digesting)
      : undefined;
    if (same === true) return;
    if (same === false) this.changes.set(pair.is, "modified");
    else if (this.#timesProve(pair.was)) this.changes.byTimesAlone += 1;
    else
      this.changes.setUnknown(pair.is, [
        this.#was.has(pair.was, FLAG.digest) ? place.lastGap : "baseline_partial",
      ]);
  }

  #timesProve(was: Node): boolean {
    const newest = bigMax(this.#was.changed.get(was), this.#was.modified.get(was));
    return this.#before.timesAreProof && newest < this.#before.takenAt - TICK_NS;
  }

  /** Undefined where the file could not be read to its end. */
  #sameContent(pair: Pair, place: Place, meter: Meter, budget: Budget): boolean | undefined {
    if (this.#is.sizes.get(pair.is) > budget.left) {
      place.lastGap = "read_limit_exceeded";
      return undefined;
    }
    const reading = readNode(place, pair.is, { meter, budget, keepBytes: 0, wants: () => true });
    if (reading.sha256 === undefined) {
      place.lastGap = reading.missing?.code ?? "read_failed";
      return undefined;
    }
    return this.#was.digests.get(pair.was)?.toString("hex") === reading.sha256;
  }

  /** A location that appeared and one that is gone are one move where they are the same inode, born at the same time, with the same content. */
  findMoves(confined: ConfinedRoot, options: DiffOptions): void {
    if (this.changes.deleted.size === 0) return;
    const gone = new Map<bigint, Node>();
    for (const node of this.changes.deleted)
      if (this.#was.born.get(node) !== 0n) gone.set(this.#was.inodes.get(node), node);
    using place = openPlace(confined, this.#is);
    for (const is of this.changes.changed) {
      const was = this.changes.of(is) === "created" ? gone.get(this.#is.inodes.get(is)) : undefined;
      if (
        was === undefined ||
        !this.#isSameFile({ was, is }) ||
        !this.#movedWhole({ was, is }, place, options)
      )
        continue;
      this.changes.set(is, "moved");
      this.changes.setBefore(is, was);
      this.changes.deleted.delete(was);
      gone.delete(this.#is.inodes.get(is));
    }
  }

  #isSameFile({ was, is }: Pair): boolean {
    return (
      this.#was.devices.get(was) === this.#is.devices.get(is) &&
      this.#was.born.get(was) === this.#is.born.get(is) &&
      this.#was.type(was) === this.#is.type(is)
    );
  }

  #movedWhole(pair: Pair, place: Place, options: DiffOptions): boolean {
    if (this.#is.type(pair.is) !== "file")
      return this.#was.targets.get(pair.was) === this.#is.targets.get(pair.is);
    if (this.#was.sizes.get(pair.was) !== this.#is.sizes.get(pair.is)) return false;
    if (!this.#was.has(pair.was, FLAG.digest))
      return this.#was.modified.get(pair.was) === this.#is.modified.get(pair.is);
    return this.#sameContent(pair, place, options.meter, options.reading) ?? false;
  }
}

interface Place {
  readonly descent: Descent;
  readonly reader: FileReader;
  readonly tree: Manifest;
  lastGap: GapCode;
  [Symbol.dispose](): void;
}

function openPlace(confined: ConfinedRoot, tree: Manifest): Place {
  const descent = new Descent(confined, tree);
  return {
    descent,
    reader: new FileReader(confined),
    tree,
    lastGap: "read_failed",
    [Symbol.dispose]: () => {
      descent[Symbol.dispose]();
    },
  };
}

function bigMax(left: bigint, right: bigint): bigint {
  return left > right ? left : right;
}
