import type { Change } from "../../core/change.ts";
import type { GapCode } from "../../core/gap.ts";
import { bytesColumn, wordsColumn } from "./column.ts";
import type { Node } from "./manifest.ts";

const CODES = [
  "unchanged",
  "created",
  "modified",
  "touched",
  "moved",
  "unknown",
] as const satisfies readonly Change[];

/** What the run did to each entry of the tree as it is now, and which entries of the tree before are gone. */
export class Changes {
  readonly #codes = bytesColumn();
  readonly #befores = wordsColumn();
  readonly #reasons = new Map<Node, readonly GapCode[]>();
  /** Entries of the tree before that are gone and were not moved. */
  readonly deleted = new Set<Node>();
  /** Entries that are not unchanged, in the order in which they were found. */
  readonly changed = new Set<Node>();
  /** Files that count as unchanged by identity, size and times alone. */
  byTimesAlone = 0;

  of(node: Node): Change {
    return CODES[this.#codes.get(node)] ?? "unchanged";
  }

  set(node: Node, change: (typeof CODES)[number]): void {
    this.#codes.set(node, CODES.indexOf(change));
    if (change === "unchanged") this.changed.delete(node);
    else this.changed.add(node);
  }

  setUnknown(node: Node, reasons: readonly GapCode[]): void {
    this.set(node, "unknown");
    this.#reasons.set(node, reasons);
  }

  reasons(node: Node): readonly GapCode[] {
    return this.#reasons.get(node) ?? [];
  }

  /** The entry of the tree before that this one is, or was. */
  before(node: Node): Node | undefined {
    const index = this.#befores.get(node);
    return index === 0 ? undefined : index - 1;
  }

  setBefore(node: Node, before: Node): void {
    this.#befores.set(node, before + 1);
  }
}
