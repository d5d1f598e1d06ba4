import { ROOT, type Manifest, type Node } from "./manifest.ts";
import { isUtf8Name, printableName } from "./name.ts";
import { pathBytes } from "./view.ts";

/** A directory on the way to an entry. */
interface Above {
  readonly uri: string;
  /** Every name so far is UTF-8. */
  readonly isText: boolean;
}

/** The uris of a tree, each directory's made once. */
export class Uris {
  readonly #tree: Manifest;
  readonly #directories = new Map<Node, Above>();
  readonly #root: Above;

  constructor(name: string, tree: Manifest) {
    this.#tree = tree;
    this.#root = { uri: `${name}:`, isText: true };
  }

  of(node: Node): string {
    if (node === ROOT) return `${this.#root.uri}/`;
    return `${this.#above(node).uri}/${printableName(this.#tree.names.get(node))}`;
  }

  /** The bytes of a path that is not all text, as base64. */
  bytesOf(node: Node): string | undefined {
    const isText = this.#above(node).isText && isUtf8Name(this.#tree.names.get(node));
    if (node === ROOT || isText) return undefined;
    return Buffer.from(pathBytes(this.#tree, node), "latin1").toString("base64");
  }

  /** Upwards to what is known, and down again: however deep, without recursion. */
  #above(node: Node): Above {
    const unknown: Node[] = [];
    let at = this.#tree.parents.get(node);
    for (; at !== ROOT && !this.#directories.has(at); at = this.#tree.parents.get(at))
      unknown.push(at);
    let above = this.#directories.get(at) ?? this.#root;
    for (const below of unknown.toReversed()) {
      above = this.#below(above, below);
      this.#directories.set(below, above);
    }
    return above;
  }

  #below(above: Above, node: Node): Above {
    const name = this.#tree.names.get(node);
    return {
      uri: `${above.uri}/${printableName(name)}`,
      isText: above.isText && isUtf8Name(name),
    };
  }
}
