import {
  chmodSync,
  closeSync,
  fstatSync,
  lchownSync,
  linkSync,
  lstatSync,
  lutimesSync,
} from "node:fs";
import { mkdirSync, readlinkSync, renameSync, rmdirSync, symlinkSync, unlinkSync } from "node:fs";
import { utimesSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { UpheldError } from "../../core/errors.ts";
import { heldAgain, isAbsence, isBelow, through } from "./descent.ts";
import type { Descent, Place } from "./descent.ts";
import { copyFile, makeSpecial } from "./file-copy.ts";
import type { WriteSet, WriteSetEntry } from "./write-set.ts";

/** Something that could not be carried over: an owner that we may not give, or a socket, which nobody listens to. */
export interface NotKept {
  readonly path: Buffer;
  readonly what: "owner" | "socket";
}

type Present = Extract<WriteSetEntry, { readonly kind: "present" }>;

interface WriteOptions {
  /** Begins the temporary names. The same after a crash, so that what was left is used up. */
  readonly prefix: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * Writes one write set into one real tree, through held handles: new and changed entries parents first, then removals
 * and the attributes of directories, children first. Throws "root_changed" where the tree moves meanwhile.
 */
export async function writeTree(
  writeSet: WriteSet,
  real: Descent,
  upper: Descent,
  { prefix, signal }: WriteOptions,
): Promise<readonly NotKept[]> {
  const { entries } = writeSet;
  const writer = new TreeWriter(entries, real, upper, prefix);
  const backwards = entries.toReversed();
  try {
    await eachInTurn(entries, signal, (entry, at) => writer.put(entry, at));
    await eachInTurn(backwards, signal, (entry) => writer.remove(entry));
    await eachInTurn(backwards, signal, (entry) => writer.dress(entry));
  } catch (cause) {
    signal?.throwIfAborted();
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : String(cause);
    throw new UpheldError("root_changed", `the run could not be applied to its end: ${code}`, {
      cause,
    });
  }
  return writer.notKept;
}

async function eachInTurn(
  entries: readonly WriteSetEntry[],
  signal: AbortSignal | undefined,
  handle: (entry: WriteSetEntry, at: number) => void,
): Promise<void> {
  for (const [at, entry] of entries.entries()) {
    signal?.throwIfAborted();
    if (at % 256 === 255) await setImmediate();
    handle(entry, at);
  }
}

class TreeWriter {
  readonly notKept: NotKept[] = [];
  readonly #entries: readonly WriteSetEntry[];
  readonly #real: Descent;
  readonly #upper: Descent;
  readonly #prefix: string;
  /** Where the first name of a file with several names was put, by device and inode in the upper layer. */
  readonly #linked = new Map<string, Buffer>();

  constructor(entries: readonly WriteSetEntry[], real: Descent, upper: Descent, prefix: string) {
    this.#entries = entries;
    this.#real = real;
    this.#upper = upper;
    this.#prefix = prefix;
  }

  put(entry: WriteSetEntry, at: number): void {
    if (entry.kind === "removed") return;
    const isFolderNow = this.#real.stat(entry.path)?.isDirectory() === true;
    if (entry.upper.type === "directory") {
      if (!isFolderNow) this.#makeFolder(entry.path);
    } else {
      if (isFolderNow) this.#clear(entry.path, at);
      this.#replace(entry, at);
    }
  }

  #makeFolder(path: Buffer): void {
    const place = this.#real.place(path);
    dropName(place.path);
    mkdirSync(place.path, { mode: 0o700 });
  }

  /** Empties a directory that becomes something else: what was removed below it follows it in the list. */
  #clear(path: Buffer, at: number): void {
    let end = at + 1;
    while (isRemovedBelow(this.#entries[end], path)) end += 1;
    for (const entry of this.#entries.slice(at + 1, end).toReversed()) this.remove(entry);
    rmdirSync(this.#real.place(path).path);
  }

  #replace(entry: Present, at: number): void {
    if (entry.upper.type === "socket") {
      this.notKept.push({ path: entry.path, what: "socket" });
      return;
    }
    const name = `${this.#prefix}${at}`;
    const { folder } = this.#real.place(entry.path);
    const part: Place = { folder, path: through(folder, name) };
    dropName(part.path);
    try {
      const first = this.#firstName(entry);
      if (first === undefined) this.#make(entry, part, name);
      else this.#link(first, part.folder, name);
      const target = this.#real.place(entry.path);
      renameSync(through(target.folder, name), target.path);
    } finally {
      // Of two names of one file a rename does nothing and leaves both.
      dropName(through(this.#real.place(entry.path).folder, name));
    }
  }

  #firstName({ upper, path }: Present): Buffer | undefined {
    if (upper.links < 2) return undefined;
    const key = `${upper.dev}:${upper.ino}`;
    const first = this.#linked.get(key);
    if (first === undefined) this.#linked.set(key, path);
    return first;
  }

  #link(first: Buffer, folder: number, name: string): void {
    const held = heldAgain(folder);
    try {
      linkSync(this.#real.place(first).path, through(held, name));
    } finally {
      closeSync(held);
    }
  }

  #make(entry: Present, part: Place, name: string): void {
    const source = this.#upper.place(entry.path).path;
    if (entry.upper.type === "link") {
      symlinkSync(readlinkSync(source, { encoding: "buffer" }), part.path);
    } else if (entry.upper.type === "file") {
      copyFile(source, part, name, entry.upper);
    } else {
      makeSpecial(source, part, name);
    }
    const wanted = lstatSync(source);
    const made = lstatSync(part.path);
    // A change of owner takes the set-id bits, so it comes before the mode.
    if (wanted.uid !== made.uid || wanted.gid !== made.gid) {
      this.#own(entry.path, () => lchownSync(part.path, wanted.uid, wanted.gid));
    }
    if (entry.upper.type !== "link") chmodSync(part.path, entry.upper.mode);
    lutimesSync(part.path, wanted.atimeMs / 1000, seconds(entry.upper.modifiedNs));
  }

  #own(path: Buffer, change: () => void): void {
    try {
      change();
    } catch {
      this.notKept.push({ path, what: "owner" });
    }
  }

  remove({ kind, path }: WriteSetEntry): void {
    if (kind === "present") return;
    try {
      const place = this.#real.place(path);
      if (lstatSync(place.path).isDirectory()) rmdirSync(place.path);
      else unlinkSync(place.path);
    } catch (error) {
      if (!isAbsence(error)) throw error;
    }
  }

  /** Gives a directory its owner, mode and times, once nothing more is written in it. */
  dress(entry: WriteSetEntry): void {
    if (entry.kind === "removed" || entry.upper.type !== "directory") return;
    const { path, upper } = entry;
    const wanted = fstatSync(this.#upper.folder(path));
    const handle = this.#real.folder(path);
    const now = fstatSync(handle);
    if (wanted.uid !== now.uid || wanted.gid !== now.gid) {
      this.#own(path, () => lchownSync(through(handle, "."), wanted.uid, wanted.gid));
    }
    const last = through(handle);
    utimesSync(last, wanted.atimeMs / 1000, seconds(upper.modifiedNs));
    chmodSync(last, upper.mode);
  }
}

/** Nanoseconds as Node takes times; exact to a quarter of a microsecond. */
function seconds(ns: bigint): number {
  return Number(ns) / 1e9;
}

function isRemovedBelow(entry: WriteSetEntry | undefined, folder: Buffer): boolean {
  return entry?.kind === "removed" && isBelow(entry.path, folder);
}

function dropName(path: Buffer): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!isAbsence(error)) throw error;
  }
}
