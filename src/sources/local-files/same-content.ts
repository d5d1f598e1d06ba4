import type { GapCode } from "../../core/gap.ts";
import type { ConfinedRoot } from "./confined.ts";
import { FLAG, type Manifest, type Node } from "./manifest.ts";
import type { Budget, Meter } from "./meter.ts";
import { ReadingList } from "./reading-list.ts";
import { readAll } from "./reading-team.ts";
import type { SecondThread } from "./second-thread.ts";
import type { Snapshot } from "./snapshot.ts";

/** An entry before and the one that stands for it now. */
export interface Pair {
  readonly was: Node;
  readonly is: Node;
}

export interface ContentOptions {
  readonly meter: Meter;
  readonly reading: Budget;
  readonly digesting: Budget;
  readonly second?: SecondThread | undefined;
}

/** Whether files hold what they held before: all questions first, then one reading, then the answers. */
export class SameContent {
  readonly #before: Snapshot;
  readonly #is: Manifest;
  readonly #list = new ReadingList();
  readonly #indexes = new Map<Node, number>();
  readonly #refused = new Map<Node, GapCode>();
  #plannedBytes = 0;

  constructor(before: Snapshot, is: Manifest) {
    this.#before = before;
    this.#is = is;
  }

  /** Asks for a file, which is read only where there is a digest to compare with and the budget still covers all of it. */
  ask({ was, is }: Pair, budget: Budget): void {
    const size = this.#is.sizes.get(is);
    if (!this.#before.tree.has(was, FLAG.digest)) this.#refused.set(is, "baseline_partial");
    else if (!budget.take(size)) this.#refused.set(is, "read_limit_exceeded");
    else {
      this.#plannedBytes += size;
      this.#indexes.set(is, this.#list.add(is, { keepBytes: 0, isProbed: false }));
    }
  }

  /** Reads what was asked for. */
  read(confined: ConfinedRoot, { meter, reading, digesting, second }: ContentOptions): void {
    if (this.#list.count === 0) return;
    const spareBytes = reading.left + digesting.left;
    this.#list.begin(spareBytes);
    const place = { confined, tree: this.#is, meter, prober: () => [] };
    readAll(this.#list, place, this.#plannedBytes, second);
    const used = spareBytes - this.#list.spare.left;
    const ofDigesting = Math.min(used, digesting.left);
    digesting.take(ofDigesting);
    reading.take(used - ofDigesting);
  }

  /** "same" or "different" by every byte; else the reason why that is not known. */
  of({ was, is }: Pair): "same" | "different" | GapCode {
    const index = this.#indexes.get(is);
    if (index === undefined) return this.#refused.get(is) ?? "baseline_partial";
    if (!this.#list.isWhole(index)) return this.#list.miss(index)?.code ?? "read_failed";
    const now = this.#is.digests.get(is);
    const same = now !== undefined && this.#before.tree.digests.get(was)?.equals(now);
    return same === true ? "same" : "different";
  }
}
