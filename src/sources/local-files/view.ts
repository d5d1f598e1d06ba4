import type { AttributionMethod } from "../../core/observation.ts";
import type { Change } from "../../core/change.ts";
import type { Changes } from "./changes.ts";
import type { Manifest, Node } from "./manifest.ts";
import type { ByteName } from "./name.ts";
import { resolveLink, type LinkEnd } from "./link.ts";
import type { Snapshot } from "./snapshot.ts";
import type { PlaceGap } from "./place-gap.ts";

/** What entries are written from: a root now, and before where that is known. */
export interface World {
  /** The name of the root in uris. */
  readonly name: string;
  /** Where the root lies, as bytes. */
  readonly realPath: ByteName;
  readonly tree: Manifest;
  readonly changes: Pick<Changes, "of" | "before" | "reasons">;
  /** Absent under "window" and "none". */
  readonly before?: Pick<Snapshot, "tree" | "prior">;
}

/** A root at the moment of an observation, compared with the world before where that is known. */
export interface View extends World {
  readonly changes: Changes;
  readonly method: AttributionMethod;
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
export function endOf(view: World, node: Node): LinkEnd | undefined {
  if (view.tree.type(node) !== "link" || !view.tree.targets.has(node)) return undefined;
  return resolveLink(view.tree, node, view.realPath);
}

/** The file whose content an entry holds: itself, or what its link leads to inside the root. */
export function contentNode(view: World, node: Node): Node | undefined {
  if (view.tree.type(node) === "file") return node;
  const end = endOf(view, node);
  return end?.kind === "inside" && view.tree.type(end.node) === "file" ? end.node : undefined;
}

/**
 * What the run did at a location. What stands at a link is what it leads to: a link that the run left alone changed where its
 * target did, or where it leads to another file than before.
 */
export function changeAt(
  view: World,
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

function ledElsewhere(view: World, link: Node, target: Node): boolean {
  const was = view.changes.before(link);
  if (was === undefined || view.before === undefined) return false;
  const end = resolveLink(view.before.tree, was, view.realPath);
  return end.kind === "inside" && end.node !== view.changes.before(target);
}

/** The bytes of a path, for a location whose name is not text. */
export function pathBytes(tree: Manifest, node: Node): ByteName {
  return tree.path(node).join("/");
}

/** Where what stands at a location now was before; only a move tells of another location. */
export function nodeBefore(world: World, node: Node): Node | undefined {
  const { change, through } = changeAt(world, node);
  if (world.before === undefined) return undefined;
  return world.changes.before(change === "moved" ? through : node);
}

/** The file whose content stood at a location of the tree before, found by following a link as it was; undefined where none did. */
export function fileBefore(
  { realPath }: World,
  tree: Manifest,
  node: Node,
): Node | "unseen" | undefined {
  if (tree.type(node) === "file") return node;
  if (tree.type(node) !== "link") return undefined;
  const end = resolveLink(tree, node, realPath);
  if (end.kind === "inside") return tree.type(end.node) === "file" ? end.node : undefined;
  return end.kind === "dangling" ? undefined : "unseen";
}
