import type { Change } from "../../core/change.ts";
import type { GapCode } from "../../core/gap.ts";
import { bytesColumn, wordsColumn, type SharedColumn } from "./column.ts";
import type { Node } from "./manifest.ts";

const CODES = [
  "unchanged",
  "created",
  "modified",
  "touched",
  "moved",
  "unknown",
] as const satisfies readonly Change[];

/** Changes on their way to another thread, which can look them up by entry. */
export interface SharedChanges {
  readonly columns: readonly SharedColumn[];
  readonly reasons: readonly (readonly GapCode[])[];
}

/** What the run did to each entry of the tree as it is now, and which entries of the tree before are gone. */
export class Changes {
  readonly #codes = bytesColumn();
  readonly #befores = wordsColumn();
  /** Places in the list of reasons. */
  readonly #why = bytesColumn();
  /** Each set of reasons once: a tree has few. */
  #reasons: (readonly GapCode[])[] = [[]];
  /** Entries of the tree before that are gone and were not moved. */
  readonly deleted = new Set<Node>();
  /** Files that count as unchanged by identity, size and times alone. */
  byTimesAlone = 0;

  of(node: Node): Change {
    return CODES[this.#codes.get(node)] ?? "unchanged";
  }

  set(node: Node, change: (typeof CODES)[number]): void {
    this.#codes.set(node, CODES.indexOf(change));
  }

  setUnknown(node: Node, reasons: readonly GapCode[]): void {
    this.set(node, "unknown");
    this.#why.set(node, this.#place(reasons));
  }

  reasons(node: Node): readonly GapCode[] {
    return this.#reasons[this.#why.get(node)] ?? [];
  }

  /** The entry of the tree before that this one is, or was. */
  before(node: Node): Node | undefined {
    const index = this.#befores.get(node);
    return index === 0 ? undefined : index - 1;
  }

  setBefore(node: Node, before: Node): void {
    this.#befores.set(node, before + 1);
  }

  /** What can be looked up by entry, up to a count of entries. */
  share(count: number): SharedChanges {
    return {
      columns: this.#columns().map((column) => column.share(count)),
      reasons: this.#reasons,
    };
  }

  static of({ columns, reasons }: SharedChanges): Changes {
    const changes = new Changes();
    for (const [index, column] of changes.#columns().entries()) column.adopt(columns[index] ?? []);
    changes.#reasons = [...reasons];
    return changes;
  }

  #columns() {
    return [this.#codes, this.#befores, this.#why] as const;
  }

  #place(reasons: readonly GapCode[]): number {
    const same = this.#reasons.findIndex(
      (each) => each.length === reasons.length && each.every((code, at) => code === reasons[at]),
    );
    return same === -1 ? this.#reasons.push([...reasons]) - 1 : same;
  }
}
