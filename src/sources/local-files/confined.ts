import type { BigIntStats } from "node:fs";
import type { EntryType } from "../../core/entry.ts";
import type { ByteName } from "./name.ts";

/** An open directory, held by its handle. */
export interface Directory {
  readonly fd: number;
  /** A path that leads to it and nowhere else, as long as the handle is open. */
  readonly prefix: string;
}

/** An open file. */
export interface OpenFile {
  readonly fd: number;
  readonly stat: BigIntStats;
}

/**
 * A root that nothing is read outside of. Every open names one component beneath an open directory and follows no link.
 * Errors are the system's own, with their `code`; a proof that cannot be had is an error with the code "EUNCONFINED".
 */
export interface ConfinedRoot {
  /** "handle": opened relative to held handles. "identity": path and handle were compared by device and inode. */
  readonly confinement: "handle" | "identity";
  readonly root: Directory;
  readonly rootStat: BigIntStats;
  /** The root's own path with its links resolved, as bytes: absolute links that start with it lead inside. */
  readonly realPath: ByteName;
  openDirectory(parent: Directory, name: ByteName): Directory;
  /** The directory above, which may by now be another one than the walk came through: the caller compares. */
  openParent(directory: Directory): Directory;
  /** Opens a regular file; anything else is refused before it is opened. */
  openFile(parent: Directory, name: ByteName): OpenFile;
  /**
   * Opens whatever stands at a name and was a regular file when its metadata was read. The caller reads by position only, which
   * takes nothing out of a pipe, and afterwards compares the handle with that metadata. Absent where an open file alone proves nothing.
   */
  readonly openAgain?: (parent: Directory, name: ByteName) => number;
  /** Metadata of the entry itself, not of what a link leads to. */
  stat(parent: Directory, name: ByteName): BigIntStats;
  statDirectory(directory: Directory): BigIntStats;
  readLink(parent: Directory, name: ByteName): ByteName;
  /** Calls back for each name; stops when that returns false. */
  list(directory: Directory, each: (name: ByteName, type: EntryType) => boolean): void;
  closeDirectory(directory: Directory): void;
  /** True where the root's path still leads to the directory that is held. */
  stillThere(): boolean;
  [Symbol.dispose](): void;
}

/** The system's code of an error, such as "EACCES". */
export function errnoOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : "EUNKNOWN";
}

/** True where an error says that there is nothing at a place. */
export function isAbsent(error: unknown): boolean {
  const code = errnoOf(error);
  return code === "ENOENT" || code === "ENOTDIR";
}

/** True where the process, or the system, may open no more. */
export function isOutOfHandles(error: unknown): boolean {
  const code = errnoOf(error);
  return code === "EMFILE" || code === "ENFILE";
}

/** An error with a code of our own where a guarantee cannot be given. */
export class Unconfined extends Error {
  readonly code = "EUNCONFINED";
}
