import { FLAG, type Manifest, type Node, ROOT } from "./manifest.ts";

/** The directories that were listed, each after its parent. */
export function* directoriesOf(tree: Manifest): Generator<Node> {
  const pending: Node[] = [ROOT];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (!tree.has(node, FLAG.listed) && tree.childCounts.get(node) === 0) continue;
    yield node;
    const below: Node[] = [];
    for (const child of tree.children(node))
      if (tree.type(child) === "directory") below.push(child);
    for (const child of below.toReversed()) pending.push(child);
  }
}

/** The files of all listed directories, directory by directory. */
export function* filesOf(tree: Manifest): Generator<Node> {
  for (const directory of directoriesOf(tree)) {
    for (const node of tree.children(directory)) if (tree.type(node) === "file") yield node;
  }
}

/** An entry and all beneath it. */
export function* subtree(tree: Manifest, node: Node): Generator<Node> {
  const pending = [node];
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    yield at;
    for (const child of tree.children(at)) pending.push(child);
  }
}
