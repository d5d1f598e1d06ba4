import type { GapCode } from "../../core/gap.ts";
import { errnoOf, type ConfinedRoot } from "./confined.ts";
import { Descent } from "./descent.ts";
import { FLAG, type Manifest, type Node } from "./manifest.ts";
import { Aborted, type Meter } from "./meter.ts";
import { Allowance, FileReader, type KnownFile, type Reading } from "./read-file.ts";
import type { Found, ReadingList } from "./reading-list.ts";

/** The most of one file that is held for probes. Beyond it they see the head alone. */
const PROBED_BYTES = 64 << 20;

/** Says what the probes of a list find in a content, in their order. */
export type Prober = (
  head: Buffer,
  isWhole: boolean,
  sha256: string | undefined,
) => readonly Found[];

export interface ReadingPlace {
  readonly confined: ConfinedRoot;
  readonly tree: Manifest;
  readonly meter: Meter;
  readonly prober: Prober;
}

/** Reads files of a list until all are taken: what one thread does, alone or beside another. Throws only `Aborted`. */
export function readFiles(list: ReadingList, place: ReadingPlace): void {
  const reader = new ListReader(list, place);
  try {
    for (let files = list.take(); files !== undefined; files = list.take())
      for (let index = files.from; index < files.to; index += 1) reader.read(index);
  } finally {
    reader[Symbol.dispose]();
  }
}

class ListReader {
  readonly #list: ReadingList;
  readonly #place: ReadingPlace;
  readonly #descent: Descent;
  readonly #reader: FileReader;

  constructor(list: ReadingList, place: ReadingPlace) {
    this.#list = list;
    this.#place = place;
    this.#descent = new Descent(place.confined, place.tree);
    this.#reader = new FileReader(place.confined);
  }

  read(index: number): void {
    const list = this.#list;
    this.#place.meter.tick();
    const node = list.node(index);
    const isSaidEmpty = this.#place.tree.sizes.get(node) === 0;
    const reading = this.#open(node, index);
    // What was read in part says nothing new of the file as a whole.
    if (!list.isPartial(index)) this.#takeOver(node, reading);
    if (list.isProbed(index)) this.#probe(index, reading);
    const { missing, readBytes } = reading;
    const miss = missing === undefined ? undefined : { ...missing, readBytes };
    list.settle(index, reading.head, miss, isSaidEmpty);
  }

  [Symbol.dispose](): void {
    this.#descent[Symbol.dispose]();
  }

  #open(node: Node, index: number): Reading {
    const { tree, meter } = this.#place;
    const list = this.#list;
    if (tree.has(node, FLAG.elsewhere)) return unread("other_filesystem", "");
    const size = tree.sizes.get(node);
    const allowed = list.allowed(index, size);
    try {
      return this.#descent.use(tree.parents.get(node), (directory) =>
        this.#reader.read(directory, tree.names.get(node), {
          meter,
          allowance: new Allowance(allowed, list.isPartial(index) ? undefined : list.spare),
          keepBytes: this.#keepBytes(index, allowed),
          ...(tree.has(node, FLAG.stat) ? { known: this.#known(node, size) } : {}),
        }),
      );
    } catch (error) {
      if (error instanceof Aborted) throw error;
      return unread("read_failed", errnoOf(error));
    }
  }

  /** Probes see all that is held of a file, also where it has grown. */
  #keepBytes(index: number, allowed: number): number {
    const list = this.#list;
    if (list.isPartial(index)) return Math.min(PROBED_BYTES, allowed);
    // A file that is said to be empty may hold something all the same.
    return list.isProbed(index) || allowed === 0 ? PROBED_BYTES : list.keepBytes(index);
  }

  #known(node: Node, size: number): KnownFile {
    const { tree } = this.#place;
    return { size, isStill: (stat) => tree.isStill(node, stat) };
  }

  #takeOver(node: Node, { stat, sha256 }: Reading): void {
    const { tree } = this.#place;
    if (stat !== undefined) tree.setStat(node, stat);
    if (sha256 === undefined) return;
    tree.digests.setHex(node, sha256);
    tree.mark(node, FLAG.digest);
  }

  #probe(index: number, { head, headIsWhole, sha256 }: Reading): void {
    const found = this.#place.prober(head, headIsWhole, sha256);
    for (const [probe, value] of found.entries()) this.#list.setFound(index, probe, value);
  }
}

function unread(code: GapCode, detail: string): Reading {
  return { head: Buffer.alloc(0), headIsWhole: false, readBytes: 0, missing: { code, detail } };
}
