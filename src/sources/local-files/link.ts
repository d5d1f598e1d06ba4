import { FLAG, ROOT, type Manifest, type Node } from "./manifest.ts";
import type { ByteName } from "./name.ts";

/** How many links are followed for one location. */
const MAX_HOPS = 40;

/** Where a link leads, resolved by hand beneath the root: `..` above the root is outside, whatever stands there. */
export type LinkEnd =
  | { readonly kind: "inside"; readonly node: Node; readonly via: readonly Node[] }
  | { readonly kind: "outside" }
  | { readonly kind: "dangling"; readonly detail: string }
  | { readonly kind: "unseen"; readonly node: Node };

/** Follows a link through the tree that was walked; the system is not asked again. `realPath` is where the root lies. */
export function resolveLink(tree: Manifest, link: Node, realPath: ByteName): LinkEnd {
  return new Path(tree, realPath).follow(link);
}

class Path {
  readonly #tree: Manifest;
  readonly #realPath: ByteName;
  #at: Node = ROOT;
  /** The links that were followed. */
  readonly #via: Node[] = [];
  /** The steps still to go, the next one last. */
  readonly #steps: ByteName[] = [];

  constructor(tree: Manifest, realPath: ByteName) {
    this.#tree = tree;
    this.#realPath = realPath;
  }

  follow(link: Node): LinkEnd {
    this.#at = this.#tree.parents.get(link);
    let end = this.#enter(link);
    for (
      let step = this.#steps.pop();
      end === undefined && step !== undefined;
      step = this.#steps.pop()
    )
      end = this.#go(step);
    return end ?? { kind: "inside", node: this.#at, via: this.#via };
  }

  /** Takes up the target of a link that stands where the path is. One whose target was not read leads on unseen. */
  #enter(link: Node): LinkEnd | undefined {
    this.#via.push(link);
    if (this.#via.length > MAX_HOPS) return { kind: "dangling", detail: "ELOOP" };
    const target = this.#tree.targets.get(link);
    if (target === undefined) return { kind: "unseen", node: this.#at };
    const inside = this.#beneathRoot(target);
    if (inside === undefined) return { kind: "outside" };
    if (target.startsWith("/")) this.#at = ROOT;
    this.#steps.push(...inside.split("/").toReversed());
    return undefined;
  }

  /** A relative target as it is, an absolute one from the root on; undefined where that does not lie in the root. */
  #beneathRoot(target: ByteName): ByteName | undefined {
    if (!target.startsWith("/") || target === this.#realPath)
      return target.startsWith("/") ? "" : target;
    const prefix = this.#realPath === "/" ? "/" : `${this.#realPath}/`;
    return target.startsWith(prefix) ? target.slice(prefix.length) : undefined;
  }

  #go(step: ByteName): LinkEnd | undefined {
    if (step === "" || step === ".") return undefined;
    if (step === "..") return this.#up();
    if (this.#tree.type(this.#at) !== "directory") return { kind: "dangling", detail: "ENOTDIR" };
    const next = this.#tree.child(this.#at, step);
    if (next === undefined)
      return this.#tree.has(this.#at, FLAG.listed) && !this.#tree.has(this.#at, FLAG.changesOnly)
        ? { kind: "dangling", detail: "ENOENT" }
        : { kind: "unseen", node: this.#at };
    if (this.#tree.type(next) === "link") return this.#enter(next);
    this.#at = next;
    return undefined;
  }

  #up(): LinkEnd | undefined {
    if (this.#at === ROOT) return { kind: "outside" };
    this.#at = this.#tree.parents.get(this.#at);
    return undefined;
  }
}
