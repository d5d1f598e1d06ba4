/** Something that lies at a path. */
export interface Placed {
  readonly segments: readonly string[];
}

/** One line of a folded tree: an item by itself, or a directory that stands for all items beneath it. */
export type FoldedLine<T extends Placed> =
  | { readonly kind: "item"; readonly item: T }
  | { readonly kind: "folder"; readonly segments: readonly string[]; readonly items: readonly T[] };

export interface FoldedTree<T extends Placed> {
  readonly lines: readonly FoldedLine<T>[];
  /** Items that no line stands for. */
  readonly left: readonly T[];
}

interface Folder<T extends Placed> {
  readonly segments: readonly string[];
  readonly items: readonly T[];
  lines: readonly Node<T>[];
}

type Node<T extends Placed> =
  | { readonly kind: "item"; readonly item: T }
  | { readonly kind: "folder"; readonly folder: Folder<T> };

/**
 * Shows items in at most `maxLines` lines: small directories are opened as long as there is room, large ones stay one
 * line with everything beneath them, and so do those that hold nothing else than what is `dull`. Deterministic; the order is
 * that of the paths.
 */
export function foldTree<T extends Placed>(
  items: readonly T[],
  maxLines: number,
  dull: (item: T) => boolean = () => false,
): FoldedTree<T> {
  const sorted = items.toSorted((left, right) => comparePaths(left.segments, right.segments));
  let nodes = nodesOf(sorted, 0);
  for (;;) {
    const next = cheapest(nodes, maxLines - nodes.length, dull);
    if (next === undefined) break;
    nodes = nodes.flatMap((node) => (node === next.node ? next.inner : [node]));
  }
  const shown = nodes.slice(0, maxLines);
  return {
    lines: shown.map((node) =>
      node.kind === "item"
        ? node
        : { kind: "folder", segments: node.folder.segments, items: node.folder.items },
    ),
    left: nodes
      .slice(maxLines)
      .flatMap((node) => (node.kind === "item" ? node.item : node.folder.items)),
  };
}

/** The folder whose opening costs the fewest lines, if one fits. */
function cheapest<T extends Placed>(
  nodes: readonly Node<T>[],
  room: number,
  dull: (item: T) => boolean,
): { readonly node: Node<T>; readonly inner: readonly Node<T>[] } | undefined {
  let best: { node: Node<T>; inner: readonly Node<T>[] } | undefined;
  for (const node of nodes) {
    if (node.kind === "item") continue;
    const { folder } = node;
    if (folder.items.every(dull)) continue;
    if (folder.lines.length === 0) folder.lines = nodesOf(folder.items, folder.segments.length);
    const fits = folder.lines.length - 1 <= room;
    if (fits && folder.lines.length < (best?.inner.length ?? Infinity))
      best = { node, inner: folder.lines };
  }
  return best;
}

/** What lies directly below a directory at this depth, of items in the order of their paths. */
function nodesOf<T extends Placed>(items: readonly T[], depth: number): readonly Node<T>[] {
  const groups: T[][] = [];
  let last: string | undefined;
  for (const item of items) {
    const name = item.segments[depth];
    if (name !== undefined && name === last) groups.at(-1)?.push(item);
    else groups.push([item]);
    last = name;
  }
  return groups.map((group) => nodeOf(group, depth));
}

function nodeOf<T extends Placed>(items: readonly T[], depth: number): Node<T> {
  const [first] = items;
  if (first !== undefined && items.length === 1) return { kind: "item", item: first };
  const segments = first?.segments.slice(0, depth + 1) ?? [];
  return { kind: "folder", folder: { segments, items, lines: [] } };
}

function comparePaths(left: readonly string[], right: readonly string[]): number {
  for (let at = 0; at < Math.min(left.length, right.length); at += 1) {
    const one = left[at] ?? "";
    const other = right[at] ?? "";
    if (one !== other) return one < other ? -1 : 1;
  }
  return left.length - right.length;
}
