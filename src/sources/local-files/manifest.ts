import type { BigIntStats } from "node:fs";
import type { EntryType } from "../../core/entry.ts";
import {
  BigColumn,
  bytesColumn,
  DigestColumn,
  floatsColumn,
  shortsColumn,
  wordsColumn,
  type NumberColumn,
  type SharedColumn,
} from "./column.ts";
import { NameColumn, type SharedNames } from "./name-column.ts";
import { printableName, type ByteName } from "./name.ts";
import { usualBigs, usualWords, type SharedUsual, type UsualColumn } from "./usual-column.ts";

/** The index of an entry in a manifest. The root is 0. */
export type Node = number;

export const ROOT: Node = 0;

export const TYPES: readonly EntryType[] = [
  "other",
  "file",
  "directory",
  "link",
  "fifo",
  "socket",
  "block_device",
  "character_device",
];

/** What is known of an entry beside its metadata, as bits. */
export const FLAG = {
  /** Its metadata was read. */
  stat: 1,
  /** Its digest was taken over every byte. */
  digest: 2,
  /** A directory that was listed to its end. */
  listed: 4,
  /** A directory that should have been listed and was not, or not to its end. */
  unlisted: 8,
  /** Its prior content was kept. */
  prior: 16,
  /** A link's target is kept in `links`. */
  target: 32,
  /** A directory of which only what a run changed is here: a name that is missing says nothing. */
  changesOnly: 64,
  /** Another file system's: what is mounted over it is not of this root, and is not read. */
  elsewhere: 128,
} as const;

/**
 * A tree at one moment, as columns: a million entries cost about 105 MB. The children of a directory stand side by side,
 * ordered by the bytes of their names, so that two manifests are compared by merging.
 */
export class Manifest {
  #count = 0;
  readonly names = new NameColumn();
  readonly parents = wordsColumn();
  readonly types = bytesColumn();
  readonly flags = bytesColumn();
  readonly modes = shortsColumn();
  readonly uids = usualWords();
  readonly gids = usualWords();
  readonly linkCounts = wordsColumn();
  readonly devices = usualBigs();
  readonly inodes = new BigColumn();
  readonly sizes = floatsColumn();
  readonly modified = new BigColumn();
  readonly changed = new BigColumn();
  readonly born = new BigColumn();
  readonly childStarts = wordsColumn();
  readonly childCounts = wordsColumn();
  readonly digests = new DigestColumn();
  /** Targets of links, as bytes. */
  readonly targets = new Map<Node, ByteName>();

  get count(): number {
    return this.#count;
  }

  /** Adds an entry beneath a directory; siblings are added one after another. */
  add(parent: Node, name: ByteName, type: EntryType): Node {
    const node = this.#count;
    this.#count += 1;
    this.names.add(node, name);
    this.parents.set(node, parent);
    this.types.set(node, TYPES.indexOf(type));
    return node;
  }

  /** Takes over the columns that were stored; returns how many bytes they were. Throws "RangeError" where there are too few. */
  fill(count: number, nameBytes: number, body: Buffer): number {
    this.#count = count;
    let at = this.names.fill(count, nameBytes, body);
    const [, ...columns] = columnsOf(this);
    for (const column of columns) at += column.fill(count, body.subarray(at));
    return at;
  }

  /** All of it for another thread. Entries must not be added any more; what is set later is seen by every thread. */
  share(): SharedManifest {
    const count = this.#count;
    return {
      count,
      names: this.names.share(count),
      columns: plainColumnsOf(this).map((column) => column.share(count)),
      owners: [this.uids.share(count), this.gids.share(count)],
      devices: this.devices.share(count),
      targets: this.targets,
    };
  }

  static of({ count, names, columns, owners, devices, targets }: SharedManifest): Manifest {
    const tree = new Manifest();
    tree.#count = count;
    tree.names.adopt(names);
    for (const [index, column] of plainColumnsOf(tree).entries())
      column.adopt(columns[index] ?? []);
    tree.uids.adopt(owners[0]);
    tree.gids.adopt(owners[1]);
    tree.devices.adopt(devices);
    for (const [node, target] of targets) tree.targets.set(node, target);
    return tree;
  }

  type(node: Node): EntryType {
    return TYPES[this.types.get(node)] ?? "other";
  }

  has(node: Node, flag: number): boolean {
    return (this.flags.get(node) & flag) !== 0;
  }

  mark(node: Node, flag: number): void {
    this.flags.set(node, this.flags.get(node) | flag);
  }

  unmark(node: Node, flag: number): void {
    this.flags.set(node, this.flags.get(node) & ~flag);
  }

  setStat(node: Node, stat: BigIntStats): void {
    this.types.set(node, TYPES.indexOf(typeOf(stat)));
    this.modes.set(node, Number(stat.mode & 0o7777n));
    this.uids.set(node, Number(stat.uid));
    this.gids.set(node, Number(stat.gid));
    this.linkCounts.set(node, Number(stat.nlink));
    this.devices.set(node, stat.dev);
    this.inodes.set(node, BigInt.asIntN(64, stat.ino));
    this.sizes.set(node, Number(stat.size));
    this.modified.set(node, stat.mtimeNs);
    this.changed.set(node, stat.ctimeNs);
    this.born.set(node, stat.birthtimeNs);
    this.mark(node, FLAG.stat);
  }

  /** The names from the root down to an entry. */
  path(node: Node): ByteName[] {
    const names: ByteName[] = [];
    for (let at = node; at !== ROOT; at = this.parents.get(at)) names.push(this.names.get(at));
    return names.toReversed();
  }

  /** The path's components as text. */
  segments(node: Node): string[] {
    return this.path(node).map(printableName);
  }

  *children(node: Node): Generator<Node, undefined> {
    const start = this.childStarts.get(node);
    for (let at = start; at < start + this.childCounts.get(node); at += 1) yield at;
    return undefined;
  }

  /** Finds a child by its bytes. */
  child(node: Node, name: ByteName): Node | undefined {
    let low = this.childStarts.get(node);
    let high = low + this.childCounts.get(node);
    while (low < high) {
      const middle = (low + high) >> 1;
      const found = this.names.get(middle);
      if (found === name) return middle;
      if (found < name) low = middle + 1;
      else high = middle;
    }
    return undefined;
  }

  /** Finds the entry at the end of a path of names. */
  find(path: readonly ByteName[]): Node | undefined {
    return path.reduce<Node | undefined>(
      (at, name) => (at === undefined ? undefined : this.child(at, name)),
      ROOT,
    );
  }

  /** True where the metadata of an entry here and of one there is the same: identity, size, mode, owner and both times. */
  sameStat(node: Node, other: Manifest, theirs: Node): boolean {
    return (
      this.inodes.get(node) === other.inodes.get(theirs) &&
      this.sizes.get(node) === other.sizes.get(theirs) &&
      this.changed.get(node) === other.changed.get(theirs) &&
      this.modified.get(node) === other.modified.get(theirs) &&
      this.devices.get(node) === other.devices.get(theirs) &&
      this.sameOwnership(node, other, theirs)
    );
  }

  /** True where an open file is the one that was looked at, and neither its size nor its times moved since. */
  isStill(node: Node, stat: BigIntStats): boolean {
    return (
      this.changed.get(node) === stat.ctimeNs &&
      this.modified.get(node) === stat.mtimeNs &&
      this.sizes.get(node) === Number(stat.size) &&
      this.inodes.get(node) === BigInt.asIntN(64, stat.ino) &&
      this.devices.get(node) === stat.dev &&
      stat.isFile()
    );
  }

  /** True where mode, owner and group are the same. */
  sameOwnership(node: Node, other: Manifest, theirs: Node): boolean {
    return (
      this.modes.get(node) === other.modes.get(theirs) &&
      this.uids.get(node) === other.uids.get(theirs) &&
      this.gids.get(node) === other.gids.get(theirs)
    );
  }
}

/** A manifest on its way to another thread. */
export interface SharedManifest {
  readonly count: number;
  readonly names: SharedNames;
  readonly columns: readonly SharedColumn[];
  /** Of user and group. */
  readonly owners: readonly [SharedUsual<number>, SharedUsual<number>];
  readonly devices: SharedUsual<bigint>;
  readonly targets: ReadonlyMap<Node, ByteName>;
}

/** The kind of an entry by its metadata. */
export function typeOf(stat: BigIntStats): EntryType {
  if (stat.isFile()) return "file";
  if (stat.isDirectory()) return "directory";
  if (stat.isSymbolicLink()) return "link";
  if (stat.isFIFO()) return "fifo";
  if (stat.isSocket()) return "socket";
  if (stat.isBlockDevice()) return "block_device";
  return stat.isCharacterDevice() ? "character_device" : "other";
}

type PlainColumn = BigColumn | DigestColumn | NumberColumn;
type Column = PlainColumn | UsualColumn<number> | UsualColumn<bigint>;

/** The columns whose memory alone says what they hold. */
function plainColumnsOf(tree: Manifest): readonly PlainColumn[] {
  return [
    tree.parents,
    tree.types,
    tree.flags,
    tree.modes,
    tree.linkCounts,
    tree.inodes,
    tree.sizes,
    tree.modified,
    tree.changed,
    tree.born,
    tree.childStarts,
    tree.childCounts,
    tree.digests,
  ];
}

/** The columns in the order in which they are digested and stored. */
export function columnsOf(tree: Manifest): readonly [NameColumn, ...Column[]] {
  return [
    tree.names,
    tree.parents,
    tree.types,
    tree.flags,
    tree.modes,
    tree.uids,
    tree.gids,
    tree.linkCounts,
    tree.devices,
    tree.inodes,
    tree.sizes,
    tree.modified,
    tree.changed,
    tree.born,
    tree.childStarts,
    tree.childCounts,
    tree.digests,
  ];
}
