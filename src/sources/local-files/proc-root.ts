import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  opendirSync,
  readlinkSync,
  realpathSync,
  statSync,
  type BigIntStats,
  type Dirent,
} from "node:fs";
import type { EntryType } from "../../core/entry.ts";
import { Unconfined, type ConfinedRoot, type Directory, type OpenFile } from "./confined.ts";
import { nameRefusal, pathTo, type ByteName } from "./name.ts";
import { typeOf } from "./manifest.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
const BIG = { bigint: true } as const;

/** Names read from the system at a time. */
const LIST_BATCH = 256;

/**
 * Linux: a name below `/proc/PID/fd/N` is looked up in the directory that handle N holds, whatever its path leads to by now.
 * With one component a time and no link followed this is as tight as openat. A trailing slash would undo O_NOFOLLOW:
 * names hold none. Throws the system's error where the root cannot be opened.
 */
export function openProcRoot(directory: string): ConfinedRoot {
  const realPath = realpathSync.native(directory, "buffer").toString("latin1");
  const handles = ownHandles();
  const fd = openSync(
    Buffer.from(realPath, "latin1"),
    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK,
  );
  const root: Directory = { fd, prefix: `${handles}/${fd}` };
  const rootStat = fstatSync(fd, BIG);
  assertProc(root, rootStat);
  return {
    confinement: "handle",
    root,
    rootStat,
    realPath,
    openDirectory: openDirectoryAt,
    openParent: openParentOf,
    openFile: openFileAt,
    openAgain: openAt,
    stat: (parent, name) => lstatSync(component(parent, name), BIG),
    statDirectory: (held) => fstatSync(held.fd, BIG),
    readLink: (parent, name) => readlinkSync(component(parent, name), "buffer").toString("latin1"),
    list: listHeld,
    closeDirectory: (held) => {
      closeSync(held.fd);
    },
    stillThere: () => sameDirectory(directory, rootStat),
    [Symbol.dispose]: () => {
      closeSync(fd);
    },
  };
}

/** Where the handles of this process are. /proc/self leads there for all of its life, and would cost one more step each time. */
function ownHandles(): string {
  try {
    return `/proc/${readlinkSync("/proc/self")}/fd`;
  } catch (error) {
    throw new Unconfined("there is no /proc/self", { cause: error });
  }
}

function beside({ prefix }: Directory, fd: number): string {
  return `${prefix.slice(0, prefix.lastIndexOf("/"))}/${fd}`;
}

/** Where /proc is hidden or another process's, the prefix would lead elsewhere. */
function assertProc(root: Directory, stat: BigIntStats): void {
  const seen = statSync(root.prefix, { ...BIG, throwIfNoEntry: false });
  if (seen !== undefined && seen.dev === stat.dev && seen.ino === stat.ino) return;
  closeSync(root.fd);
  throw new Unconfined("/proc does not lead to the open handle");
}

function component(parent: Directory, name: ByteName): string | Buffer {
  const refusal = nameRefusal(name);
  if (refusal !== undefined) throw new Unconfined(refusal);
  return pathTo(parent.prefix, name);
}

function openDirectoryAt(parent: Directory, name: ByteName): Directory {
  const fd = openSync(component(parent, name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
  return { fd, prefix: beside(parent, fd) };
}

/** Up one level. Where that leads is the caller's to compare with what it knows of the parent. */
function openParentOf(directory: Directory): Directory {
  const fd = openSync(`${directory.prefix}/..`, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
  return { fd, prefix: beside(directory, fd) };
}

/** The caller knows the type from the listing or from `stat`; O_NONBLOCK covers a change of type in between. */
function openAt(parent: Directory, name: ByteName): number {
  return openSync(component(parent, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

function openFileAt(parent: Directory, name: ByteName): OpenFile {
  const fd = openAt(parent, name);
  try {
    return { fd, stat: fstatSync(fd, BIG) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function listHeld(directory: Directory, each: (name: ByteName, type: EntryType) => boolean): void {
  // Listed as latin1: one character a byte, so that a name that is not UTF-8 arrives whole.
  const listing = opendirSync(directory.prefix, {
    encoding: "latin1" as BufferEncoding,
    bufferSize: LIST_BATCH,
  });
  try {
    for (let entry = listing.readSync(); entry !== null; entry = listing.readSync()) {
      if (!each(entry.name, typeOfEntry(directory, entry))) return;
    }
  } finally {
    listing.closeSync();
  }
}

/** Some file systems do not say the type in the listing: "other" is then asked for. */
function typeOfEntry(directory: Directory, entry: Dirent): EntryType {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "directory";
  if (entry.isSymbolicLink()) return "link";
  if (entry.isFIFO()) return "fifo";
  if (entry.isSocket()) return "socket";
  if (entry.isBlockDevice()) return "block_device";
  if (entry.isCharacterDevice()) return "character_device";
  try {
    return typeOf(lstatSync(component(directory, entry.name), BIG));
  } catch {
    return "other";
  }
}

function sameDirectory(path: string, stat: BigIntStats): boolean {
  try {
    const now = statSync(path, BIG);
    return now.dev === stat.dev && now.ino === stat.ino;
  } catch {
    return false;
  }
}
