import { chmodSync, closeSync, constants, fstatSync, lstatSync, openSync } from "node:fs";
import type { BigIntStats } from "node:fs";

/** A handle that only names a place: it can be opened where nothing may be read. Node has no name for the flag. */
const O_PATH = 0o10000000;
const OPEN_FOLDER = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const SLASH = 0x2f;

/** A name in an open directory, as a path that goes through the handle and so cannot be turned elsewhere. */
export interface Place {
  readonly folder: number;
  readonly path: Buffer;
}

/**
 * Walks below one directory, one name at a time through held handles; a link on the way is an error ("ENOTDIR",
 * "ELOOP"), never followed. Holds two handles, whatever the depth. Only the last directory is remembered, so walking in
 * listing order costs about one open a directory.
 */
export class Descent {
  readonly #root: number;
  readonly #opensUp: boolean;
  #last: { readonly path: Buffer; readonly handle: number } | undefined;

  /** `opensUp`: directories of our own that deny even us are given the owner's bits on the way. */
  constructor(root: string | Buffer, { opensUp }: { readonly opensUp: boolean }) {
    this.#root = openSync(root, O_PATH | constants.O_DIRECTORY);
    this.#opensUp = opensUp;
    if (opensUp) openUp(this.#root);
  }

  /** A walk from the same directory, wherever its path leads by now. */
  again(options: { readonly opensUp: boolean }): Descent {
    return new Descent(through(this.#root), options);
  }

  /** The handle of the directory at `path`; it stays open until the next call. */
  folder(path: Buffer): number {
    const last = this.#last;
    if (last !== undefined && last.path.equals(path)) return last.handle;
    if (path.length === 0) return this.#root;
    const start = last !== undefined && isBelow(path, last.path) ? last : undefined;
    const from = start?.handle ?? this.#root;
    const rest = start === undefined ? path : path.subarray(start.path.length + 1);
    const handle = openBelow(from, splitNames(rest), this.#opensUp);
    this.#forget();
    this.#last = { path, handle };
    return handle;
  }

  #forget(): void {
    if (this.#last !== undefined) closeSync(this.#last.handle);
    this.#last = undefined;
  }

  /** Where the name at `path` lies. Throws what opening its parent directory throws. */
  place(path: Buffer): Place {
    const cut = path.lastIndexOf(SLASH);
    const folder = this.folder(cut < 0 ? Buffer.alloc(0) : path.subarray(0, cut));
    return { folder, path: through(folder, path.subarray(cut + 1)) };
  }

  /** What lies at `path`, the link itself where it is one; undefined where nothing does or the way there is none. */
  stat(path: Buffer): BigIntStats | undefined {
    if (path.length === 0) return fstatSync(this.#root, { bigint: true });
    try {
      return lstatSync(this.place(path).path, { bigint: true });
    } catch (error) {
      if (isAbsence(error)) return undefined;
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#forget();
    closeSync(this.#root);
  }
}

/** Opens directory after directory; `from` stays open, what is opened on the way does not. */
function openBelow(from: number, names: readonly Buffer[], opensUp: boolean): number {
  let handle = from;
  for (const name of names) {
    const before = handle;
    try {
      handle = openSync(through(before, name), OPEN_FOLDER);
    } finally {
      if (before !== from) closeSync(before);
    }
    if (opensUp) openUp(handle);
  }
  return handle;
}

function openUp(handle: number): void {
  const { uid, mode } = fstatSync(handle);
  const own = process.geteuid?.();
  if (own === 0 || own !== uid || (mode & 0o300) === 0o300) return;
  chmodSync(through(handle), (mode & 0o7777) | 0o700);
}

/** A second handle of a directory that is held, for when the first is about to go. */
export function heldAgain(handle: number): number {
  return openSync(through(handle), O_PATH | constants.O_DIRECTORY);
}

/** A path to `name` in an open directory; the directory itself without a name. */
export function through(handle: number, name: Buffer | string = ""): Buffer {
  const slash = name.length === 0 ? "" : "/";
  return Buffer.concat([Buffer.from(`/proc/self/fd/${handle}${slash}`), Buffer.from(name)]);
}

/** True where the error says that a name, or a directory on the way to it, is not there. */
export function isAbsence(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error)) return false;
  return error.code === "ENOENT" || error.code === "ENOTDIR" || error.code === "ELOOP";
}

/** True where `path` lies below the directory `folder`. */
export function isBelow(path: Buffer, folder: Buffer): boolean {
  return (
    path.length > folder.length &&
    path[folder.length] === SLASH &&
    path.subarray(0, folder.length).equals(folder)
  );
}

function splitNames(path: Buffer): readonly Buffer[] {
  const names: Buffer[] = [];
  let start = 0;
  while (start <= path.length) {
    const cut = path.indexOf(SLASH, start);
    const end = cut < 0 ? path.length : cut;
    names.push(path.subarray(start, end));
    start = end + 1;
  }
  return names;
}
