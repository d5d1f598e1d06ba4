import type { Manifest, Node } from "./manifest.ts";
import { FLAG, ROOT } from "./manifest.ts";
import type { ByteName } from "./name.ts";

/** How many links are followed for one location. */
const MAX_HOPS = 40;

/** Where a link leads, resolved by hand beneath the root: `..` above the root is outside, whatever stands there. */
export type LinkEnd =
  | { readonly kind: "inside"; readonly node: Node }
  | { readonly kind: "outside" }
  | { readonly kind: "dangling"; readonly detail: string }
  | { readonly kind: "unseen"; readonly node: Node };

/** Follows a link through the tree that was walked; the system is not asked again. `realPath` is where the root lies. */
export function resolveLink(tree: Manifest, link: Node, realPath: ByteName): LinkEnd {
  let at = tree.parents.get(link);
  let hops = 1;
  const names = startOf(tree.targets.get(link) ?? "", realPath);
  if (names === undefined) return { kind: "outside" };
  if (names.absolute) at = ROOT;
  const pending = names.steps.reverse();
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (name === "" || name === ".") continue;
    if (name === "..") {
      if (at === ROOT) return { kind: "outside" };
      at = tree.parents.get(at);
      continue;
    }
    const next = tree.type(at) === "directory" ? tree.child(at, name) : undefined;
    if (next === undefined)
      return tree.has(at, FLAG.listed) || tree.type(at) !== "directory"
        ? { kind: "dangling", detail: "ENOENT" }
        : { kind: "unseen", node: at };
    if (tree.type(next) !== "link") {
      at = next;
      continue;
    }
    hops += 1;
    if (hops > MAX_HOPS) return { kind: "dangling", detail: "ELOOP" };
    const further = startOf(tree.targets.get(next) ?? "", realPath);
    if (further === undefined) return { kind: "outside" };
    if (further.absolute) at = ROOT;
    pending.push(...further.steps.reverse());
  }
  return { kind: "inside", node: at };
}

/** The steps of a target; undefined for an absolute one that does not lie in the root. */
function startOf(
  target: ByteName,
  realPath: ByteName,
): { absolute: boolean; steps: ByteName[] } | undefined {
  if (!target.startsWith("/")) return { absolute: false, steps: target.split("/") };
  if (target === realPath) return { absolute: true, steps: [] };
  const prefix = realPath === "/" ? "/" : `${realPath}/`;
  return target.startsWith(prefix)
    ? { absolute: true, steps: target.slice(prefix.length).split("/") }
    : undefined;
}
