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
import { join, sep } from "node:path";
import type { EntryType } from "../../core/entry.ts";
import { Unconfined, type ConfinedRoot, type Directory, type OpenFile } from "./confined.ts";
import { typeOf } from "./manifest.ts";
import { nameRefusal, type ByteName } from "./name.ts";

const BIG = { bigint: true } as const;

/** macOS refuses a link in any component with this flag (11 and later); elsewhere it is no flag. */
const O_NOFOLLOW_ANY = process.platform === "darwin" ? 0x2000_0000 : 0;

/** 0 on Windows, where the constant does not exist. */
const O_NOFOLLOW = (constants as { readonly O_NOFOLLOW?: number }).O_NOFOLLOW ?? 0;
const O_NONBLOCK = (constants as { readonly O_NONBLOCK?: number }).O_NONBLOCK ?? 0;

/** Names that Windows gives another meaning: streams, devices, and endings that it drops. */
const WINDOWS_REFUSED = /[:]|[. ]$|^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?$/i;

/** A directory by its path, with the identity that the path must keep. */
interface PathDirectory extends Directory {
  readonly path: string;
  readonly identity: BigIntStats;
}

/**
 * Systems without a way to open relative to a handle. Every path is looked at component by component without following
 * links, and what was opened must have the device and inode of what was looked at, before and after. This holds once
 * nothing changes the tree any more. Throws the system's error where the root cannot be opened.
 */
export function openPathRoot(directory: string): ConfinedRoot {
  const real = realpathSync.native(directory);
  const rootStat = lstatSync(real, BIG);
  if (!rootStat.isDirectory())
    throw Object.assign(new Error("not a directory"), { code: "ENOTDIR" });
  const root: PathDirectory = { fd: -1, prefix: real, path: real, identity: rootStat };
  return {
    confinement: "identity",
    root,
    rootStat,
    realPath: Buffer.from(real, "utf8").toString("latin1"),
    openDirectory: (parent, name) => openDirectoryAt(parent, name),
    openParent: () => {
      throw new Unconfined("no way up without a handle");
    },
    openFile: (parent, name) => openFileAt(parent, name),
    stat: (parent, name) => lstatSync(component(parent, name), BIG),
    statDirectory: (held) => verified(held).identity,
    readLink: (parent, name) => readlinkSync(component(parent, name), "buffer").toString("latin1"),
    list: listAt,
    closeDirectory: () => {
      // Nothing is held.
    },
    stillThere: () =>
      sameIdentity(statSync(directory, { ...BIG, throwIfNoEntry: false }), rootStat),
    [Symbol.dispose]: () => {
      // Nothing is held.
    },
  };
}

function component(parent: Directory, name: ByteName): string {
  const refusal =
    nameRefusal(name) ??
    (sep === "\\" && WINDOWS_REFUSED.test(name) ? "a name with another meaning here" : undefined);
  if (refusal !== undefined) throw new Unconfined(refusal);
  return join(parent.prefix, Buffer.from(name, "latin1").toString("utf8"));
}

/** The directory's path must still lead to the directory that it led to. */
function verified(directory: Directory): PathDirectory {
  const known = directory as PathDirectory;
  const now = lstatSync(known.path, BIG);
  if (!sameIdentity(now, known.identity) || !now.isDirectory())
    throw new Unconfined("another directory stands at this path");
  return { ...known, identity: now };
}

function openDirectoryAt(parent: Directory, name: ByteName): PathDirectory {
  verified(parent);
  const path = component(parent, name);
  const identity = lstatSync(path, BIG);
  // A junction answers as a link here.
  if (!identity.isDirectory())
    throw Object.assign(new Error("not a directory"), { code: "ENOTDIR" });
  return { fd: -1, prefix: path, path, identity };
}

function openFileAt(parent: Directory, name: ByteName): OpenFile {
  const path = component(parent, name);
  const before = lstatSync(path, BIG);
  if (!before.isFile()) throw Object.assign(new Error("not a regular file"), { code: "ELOOP" });
  const fd = openSync(path, constants.O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOFOLLOW_ANY);
  try {
    const stat = fstatSync(fd, BIG);
    verified(parent);
    if (!sameIdentity(stat, before) || !sameIdentity(lstatSync(path, BIG), before))
      throw new Unconfined("another file was opened");
    return { fd, stat };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function listAt(directory: Directory, each: (name: ByteName, type: EntryType) => boolean): void {
  verified(directory);
  const listing = opendirSync(directory.prefix, { bufferSize: 1024 });
  try {
    for (let entry = listing.readSync(); entry !== null; entry = listing.readSync()) {
      const name = Buffer.from(entry.name, "utf8").toString("latin1");
      if (!each(name, typeOfEntry(directory, entry))) return;
    }
  } finally {
    listing.closeSync();
  }
  verified(directory);
}

function typeOfEntry(directory: Directory, entry: Dirent): EntryType {
  if (entry.isFile()) return "file";
  if (entry.isSymbolicLink()) return "link";
  const stat = lstatSync(join(directory.prefix, entry.name), { ...BIG, throwIfNoEntry: false });
  return stat === undefined ? "other" : typeOf(stat);
}

function sameIdentity(left: BigIntStats | undefined, right: BigIntStats): boolean {
  return left !== undefined && left.dev === right.dev && left.ino === right.ino;
}
