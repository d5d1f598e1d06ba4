import type { GapCode } from "../../core/gap.ts";
import { errnoOf, isAbsent, type ConfinedRoot, type Directory } from "./confined.ts";
import { Descent } from "./descent.ts";
import { FLAG, Manifest, ROOT, type Node } from "./manifest.ts";
import { Aborted, type Budget, type Meter } from "./meter.ts";
import type { PlaceGap, Walk } from "./place-gap.ts";
import type { WrittenNode } from "./write-set.ts";

export interface OverlayOptions {
  readonly meter: Meter;
  readonly listing: Budget;
}

interface Pending {
  readonly node: Node;
  readonly written: WrittenNode | undefined;
}

/**
 * The part of one layer of an overlay that a run wrote; the upper layer is asked first. Of it what is there now, of the lower one what stood at
 * the same names before, and all beneath what was removed. Costs the changes, not the tree. Gaps: listing_failed,
 * listing_limit_exceeded, read_failed.
 */
export function layerOf(
  confined: ConfinedRoot,
  layer: "upper" | "lower",
  written: WrittenNode,
  options: OverlayOptions,
): Walk {
  const builder = new LayerBuilder(confined, layer, options);
  try {
    return builder.build(written);
  } finally {
    builder[Symbol.dispose]();
  }
}

class LayerBuilder {
  readonly #confined: ConfinedRoot;
  readonly #layer: "upper" | "lower";
  readonly #options: OverlayOptions;
  readonly #tree = new Manifest();
  readonly #gaps: PlaceGap[] = [];
  readonly #descent: Descent;

  constructor(confined: ConfinedRoot, layer: "upper" | "lower", options: OverlayOptions) {
    this.#confined = confined;
    this.#layer = layer;
    this.#options = options;
    this.#tree.add(ROOT, "", "directory");
    this.#tree.setStat(ROOT, confined.rootStat);
    this.#descent = new Descent(confined, this.#tree);
  }

  build(written: WrittenNode): Walk {
    written.isDirectory = true;
    const pending: Pending[] = [{ node: ROOT, written }];
    for (let next = pending.pop(); next !== undefined; next = pending.pop())
      pending.push(...this.#fill(next));
    return { tree: this.#tree, gaps: this.#gaps };
  }

  [Symbol.dispose](): void {
    this.#descent[Symbol.dispose]();
  }

  /** Adds what is beneath one directory; returns the directories among it. */
  #fill({ node, written }: Pending): Pending[] {
    this.#tree.mark(node, FLAG.listed | FLAG.changesOnly);
    if (written?.unlisted !== undefined) this.#missing(node, "listing_failed", written.unlisted);
    const start = this.#tree.count;
    try {
      const names = this.#descent.use(node, (directory) => this.#namesIn(node, directory, written));
      this.#descent.use(node, (directory) => {
        for (const name of names) this.#add(node, directory, name);
      });
    } catch (error) {
      if (error instanceof Aborted) throw error;
      this.#missing(node, "listing_failed", errnoOf(error));
    }
    this.#tree.childStarts.set(node, start);
    this.#tree.childCounts.set(node, this.#tree.count - start);
    return this.#directoriesIn(node, written);
  }

  /** Beneath a directory of the lower layer that was removed, everything is gone: there its own listing counts. */
  #namesIn(node: Node, directory: Directory, written: WrittenNode | undefined): readonly string[] {
    if (written !== undefined) {
      const kinds =
        this.#layer === "upper" ? ["present", "passed"] : ["present", "passed", "removed"];
      return [...written.children.values()]
        .filter((child) => kinds.includes(child.kind))
        .map((child) => child.name)
        .toSorted();
    }
    const names: string[] = [];
    this.#confined.list(directory, (name) => {
      this.#options.meter.listed();
      if (!this.#options.listing.take(1)) {
        this.#missing(node, "listing_limit_exceeded", "of what was removed");
        return false;
      }
      names.push(name);
      return true;
    });
    return names.toSorted();
  }

  /** What stands in it is not known: it counts as one that was not listed to its end. */
  #missing(node: Node, code: GapCode, detail: string): void {
    this.#tree.unmark(node, FLAG.listed);
    this.#tree.mark(node, FLAG.unlisted);
    this.#gaps.push({ node, code, detail });
  }

  #add(parent: Node, directory: Directory, name: string): void {
    this.#options.meter.tick();
    try {
      const stat = this.#confined.stat(directory, name);
      const node = this.#tree.add(parent, name, "other");
      this.#tree.setStat(node, stat);
      if (this.#tree.type(node) !== "link") return;
      this.#tree.targets.set(node, this.#confined.readLink(directory, name));
      this.#tree.mark(node, FLAG.target);
    } catch (error) {
      if (error instanceof Aborted) throw error;
      if (!isAbsent(error)) this.#missing(parent, "read_failed", errnoOf(error));
    }
  }

  #directoriesIn(node: Node, written: WrittenNode | undefined): Pending[] {
    const found: Pending[] = [];
    for (const child of this.#tree.children(node)) {
      if (this.#tree.type(child) !== "directory") continue;
      const below = written?.children.get(this.#tree.names.get(child));
      if (below !== undefined && this.#layer === "upper") below.isDirectory = true;
      const gone = this.#layer === "lower" && below?.isDirectory !== true;
      found.push({ node: child, written: gone ? undefined : below });
    }
    return found;
  }
}
