import type { AttributionMethod } from "../../core/observation.ts";
import type { Change } from "../../core/change.ts";
import type { Changes } from "./changes.ts";
import type { ConfinedRoot } from "./confined.ts";
import type { Manifest, Node } from "./manifest.ts";
import type { ByteName } from "./name.ts";
import { resolveLink, type LinkEnd } from "./link.ts";
import type { Snapshot } from "./snapshot.ts";
import type { PlaceGap } from "./place-gap.ts";

/** A root at the moment of an observation, compared with the world before where that is known. */
export interface View {
  /** The name of the root in uris. */
  readonly name: string;
  readonly confined: ConfinedRoot;
  readonly tree: Manifest;
  readonly changes: Changes;
  readonly method: AttributionMethod;
  /** The world before; absent under "window" and "none". */
  readonly before?: Snapshot;
  /** Entries that provably lie outside the window. */
  readonly outside: ReadonlySet<Node>;
  readonly gapsAt: ReadonlyMap<Node, readonly PlaceGap[]>;
}

/** The gaps of one or two walks by the entry at which they stand. */
export function gapsByNode(gaps: readonly PlaceGap[]): Map<Node, readonly PlaceGap[]> {
  const byNode = new Map<Node, PlaceGap[]>();
  for (const each of gaps) {
    const at = byNode.get(each.node);
    if (at === undefined) byNode.set(each.node, [each]);
    else at.push(each);
  }
  return byNode;
}

/** The uri of an entry. */
export function uriOf(view: { readonly name: string }, tree: Manifest, node: Node): string {
  return `${view.name}:/${tree.segments(node).join("/")}`;
}

/** Where a link leads; undefined for what is none. */
export function endOf(view: View, node: Node): LinkEnd | undefined {
  if (view.tree.type(node) !== "link" || !view.tree.targets.has(node)) return undefined;
  return resolveLink(view.tree, node, view.confined.realPath);
}

/** The file whose content an entry holds: itself, or what its link leads to inside the root. */
export function contentNode(view: View, node: Node): Node | undefined {
  if (view.tree.type(node) === "file") return node;
  const end = endOf(view, node);
  return end?.kind === "inside" && view.tree.type(end.node) === "file" ? end.node : undefined;
}

/**
 * What the run did at a location. What stands at a link is what it leads to: a link that the run left alone changed where its
 * target did, or where it leads to another file than before.
 */
export function changeAt(
  view: View,
  node: Node,
): { readonly change: Change; readonly through: Node } {
  const change = view.changes.of(node);
  const own = { change, through: node };
  if (view.tree.type(node) !== "link" || (change !== "unchanged" && change !== "touched"))
    return own;
  const target = contentNode(view, node);
  if (target === undefined) return own;
  if (ledElsewhere(view, node, target)) return { change: "modified", through: node };
  const behind = view.changes.of(target);
  return behind === "unchanged" ? own : { change: behind, through: target };
}

function ledElsewhere(view: View, link: Node, target: Node): boolean {
  const was = view.changes.before(link);
  if (was === undefined || view.before === undefined) return false;
  const end = resolveLink(view.before.tree, was, view.confined.realPath);
  return end.kind === "inside" && end.node !== view.changes.before(target);
}

/** The bytes of a path, for a location whose name is not text. */
export function pathBytes(tree: Manifest, node: Node): ByteName {
  return tree.path(node).join("/");
}
