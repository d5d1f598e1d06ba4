import { isOutOfHandles, type ConfinedRoot, type Directory, Unconfined } from "./confined.ts";
import { type Manifest, type Node, ROOT } from "./manifest.ts";

/** How many directory handles are held at a time, where the process may hold as many. */
const MAX_HELD = 64;
const LEAST_HELD = 2;

/**
 * Gives an open handle for any directory of a manifest, one component at a time from the nearest one that is held.
 * A directory that was seen before must still be the same one. Throws the system's error, or "EUNCONFINED".
 */
export class Descent {
  readonly #confined: ConfinedRoot;
  readonly #tree: Manifest;
  readonly #held = new Map<Node, Directory>();
  #last: Node = ROOT;
  #maxHeld = MAX_HELD;

  constructor(confined: ConfinedRoot, tree: Manifest) {
    this.#confined = confined;
    this.#tree = tree;
  }

  /**
   * Does work with the handle of a directory. Where the process has no handle left for it, gives up those that are held, holds
   * fewer from then on, and does it again.
   */
  use<T>(node: Node, work: (directory: Directory) => T): T {
    for (;;) {
      try {
        return work(this.#open(node));
      } catch (error) {
        if (!isOutOfHandles(error) || this.#maxHeld <= LEAST_HELD) throw error;
        this.#maxHeld = Math.max(LEAST_HELD, Math.floor(this.#held.size / 2));
        this[Symbol.dispose]();
      }
    }
  }

  /** The handle of a directory, for what needs no other; valid until the next call. */
  open(node: Node): Directory {
    return this.use(node, itself);
  }

  #open(node: Node): Directory {
    const held = this.#heldAt(node);
    if (held !== undefined) return held;
    const below = this.#pathFromHeld(node);
    let directory = this.#heldAt(below.from) ?? this.#confined.root;
    for (const next of below.steps)
      directory = this.#hold(
        next,
        this.#confined.openDirectory(directory, this.#tree.names.get(next)),
      );
    this.#last = node;
    return directory;
  }

  [Symbol.dispose](): void {
    for (const directory of this.#held.values()) this.#confined.closeDirectory(directory);
    this.#held.clear();
  }

  #heldAt(node: Node): Directory | undefined {
    return node === ROOT ? this.#confined.root : this.#held.get(node);
  }

  /** The nearest held ancestor and the steps down from it. */
  #pathFromHeld(node: Node): { from: Node; steps: readonly Node[] } {
    const steps: Node[] = [];
    let at = node;
    while (this.#heldAt(at) === undefined) {
      if (steps.length > MAX_HELD && this.#climbTo(at)) break;
      steps.push(at);
      at = this.#tree.parents.get(at);
    }
    return { from: at, steps: steps.toReversed() };
  }

  /** Reaches an ancestor of the last directory from below, which on the way back from great depth is nearer than the root. */
  #climbTo(node: Node): boolean {
    const ladder: Node[] = [];
    for (
      let at = this.#last;
      at !== ROOT && ladder.length <= 2 * MAX_HELD;
      at = this.#tree.parents.get(at)
    ) {
      ladder.push(at);
      if (at === node) return this.#climb(ladder);
    }
    return false;
  }

  #climb(ladder: readonly Node[]): boolean {
    for (const [index, node] of ladder.entries()) {
      if (this.#held.has(node)) continue;
      const below = this.#held.get(ladder[index - 1] ?? ROOT);
      if (below === undefined) return false;
      const directory = this.#confined.openParent(below);
      this.#hold(node, directory);
    }
    return true;
  }

  #hold(node: Node, directory: Directory): Directory {
    const stat = this.#confined.statDirectory(directory);
    const known = this.#tree.inodes.get(node);
    if (
      known !== 0n &&
      (known !== BigInt.asIntN(64, stat.ino) || this.#tree.devices.get(node) !== stat.dev)
    ) {
      this.#confined.closeDirectory(directory);
      throw new Unconfined("another directory stands at this path");
    }
    if (known === 0n) this.#tree.setStat(node, stat);
    this.#held.set(node, directory);
    this.#evict(node);
    return directory;
  }

  #evict(keep: Node): void {
    if (this.#held.size <= this.#maxHeld) return;
    for (const [node, directory] of this.#held) {
      if (node === keep) continue;
      this.#held.delete(node);
      this.#confined.closeDirectory(directory);
      return;
    }
  }
}

function itself(directory: Directory): Directory {
  return directory;
}
