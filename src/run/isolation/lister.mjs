// @ts-check
// Lists what an overlay's upper layer holds, from inside a namespace in which the merged view is mounted again:
// only there can be seen which directories hide what lies beneath them. One JSON line an entry, parents first.
// Cost: the upper layer, and what was removed; never the lower tree.
import { spawnSync } from "node:child_process";
import { closeSync, constants, fsyncSync, lstatSync, openSync, opendirSync } from "node:fs";
import { readdirSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";

const [folder = "", mountOptions = "", limitText = "0"] = process.argv.slice(2);
const limit = Number(limitText);

const mounted = spawnSync("mount", ["-t", "overlay", "upheld", "-o", mountOptions, "merged"], {
  cwd: folder,
  stdio: ["ignore", "inherit", "inherit"],
});
if (mounted.status !== 0) process.exit(71);

const O_PATH = 0o10000000;
/** @param {string} name */
const openRoot = (name) => openSync(join(folder, name), O_PATH | constants.O_DIRECTORY);
const upper = openRoot("upper");
const lower = openRoot("lower");
const merged = openRoot("merged");
const part = openSync(join(folder, "write-set.part"), "w", 0o600);

let listed = 0;
/** @type {string[]} */
let lines = [];
let held = 0;

function flush() {
  let bytes = Buffer.from(lines.join(""));
  while (bytes.length > 0) bytes = bytes.subarray(writeSync(part, bytes));
  lines = [];
  held = 0;
}

/** @param {object} value */
function writeLine(value) {
  const line = `${JSON.stringify(value)}\n`;
  lines.push(line);
  held += line.length;
  if (held > 1 << 20) flush();
}

/** @param {boolean} complete */
function finish(complete) {
  writeLine({ end: complete ? "complete" : "limit" });
  flush();
  fsyncSync(part);
  if (complete) renameSync(join(folder, "write-set.part"), join(folder, "write-set.jsonl"));
  process.exit(0);
}

/**
 * Calls `use` with a path that the kernel takes, however deep `path` lies below the handle.
 * @template T
 * @param {number} root
 * @param {Buffer} path
 * @param {(path: Buffer) => T} use
 * @returns {T}
 */
function reach(root, path, use) {
  let from = root;
  let rest = path;
  try {
    while (rest.length > 3000) {
      const cut = rest.lastIndexOf(0x2f, 3000);
      const next = openSync(below(from, rest.subarray(0, cut)), O_PATH | constants.O_DIRECTORY);
      if (from !== root) closeSync(from);
      from = next;
      rest = rest.subarray(cut + 1);
    }
    return use(below(from, rest));
  } finally {
    if (from !== root) closeSync(from);
  }
}

/**
 * @param {number} handle
 * @param {Buffer} path
 */
function below(handle, path) {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${handle}/`), path]);
}

/**
 * @param {Buffer} folder
 * @param {Buffer} name
 */
function joined(folder, name) {
  return folder.length === 0 ? name : Buffer.concat([folder, Buffer.from("/"), name]);
}

/**
 * @param {number} root
 * @param {Buffer} path
 */
function statOf(root, path) {
  try {
    return reach(root, path, (at) => lstatSync(at, { bigint: true }));
  } catch (error) {
    if (error instanceof Error && "code" in error && isAbsence(error.code)) return undefined;
    throw error;
  }
}

/** @param {unknown} code */
const isAbsence = (code) => code === "ENOENT" || code === "ENOTDIR";

/**
 * Sorted names of a directory; a directory that cannot be listed is said, never taken for an empty one.
 * @param {number} root
 * @param {Buffer} path
 */
function namesIn(root, path) {
  try {
    const names = reach(root, path, (at) => readdirSync(at, { encoding: "buffer" }));
    return names.toSorted((one, other) => one.compare(other));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "EIO";
    writeLine({ kind: "unlisted", path: path.toString("base64"), code });
    return [];
  }
}

/** @param {import("node:fs").BigIntStats} stats */
function typeOf(stats) {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "directory";
  if (stats.isSymbolicLink()) return "link";
  if (stats.isFIFO()) return "fifo";
  return stats.isSocket() ? "socket" : "device";
}

/** @param {import("node:fs").BigIntStats | undefined} stats */
function figures(stats) {
  if (stats === undefined) return undefined;
  return {
    type: typeOf(stats),
    dev: String(stats.dev),
    ino: String(stats.ino),
    rdev: String(stats.rdev),
    mode: Number(stats.mode & 0o7777n),
    links: Number(stats.nlink),
    sizeBytes: String(stats.size),
    allocatedBytes: String(stats.blocks * 512n),
    modifiedNs: String(stats.mtimeNs),
    changedNs: String(stats.ctimeNs),
  };
}

/**
 * @param {{ kind: string, path: Buffer, upper?: import("node:fs").BigIntStats, lower?: import("node:fs").BigIntStats | undefined, hides?: boolean }} entry
 */
function emit({ kind, path, upper: above, lower: beneath, hides }) {
  if (listed >= limit) finish(false);
  listed += 1;
  writeLine({
    kind,
    path: path.toString("base64"),
    upper: figures(above),
    lower: figures(beneath),
    hides: hides === true ? true : undefined,
  });
}

/**
 * Everything of the lower tree at and below `path` is gone.
 * @param {Buffer} path
 * @param {import("node:fs").BigIntStats} stats
 */
function emitRemoved(path, stats) {
  emit({ kind: "removed", path, lower: stats });
  if (stats.isDirectory()) emitRemovedBelow(path);
}

/** @param {Buffer} path */
function emitRemovedBelow(path) {
  const pending = [path];
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    for (const name of namesIn(lower, at)) {
      const child = joined(at, name);
      const stats = statOf(lower, child);
      if (stats === undefined) continue;
      emit({ kind: "removed", path: child, lower: stats });
      if (stats.isDirectory()) pending.push(child);
    }
  }
}

/**
 * Whether a directory of the upper layer hides the one beneath it: one name that only the lower has decides.
 * @param {Buffer} path
 * @param {ReadonlySet<string>} names
 */
function hidesLower(path, names) {
  return reach(lower, path, (at) => {
    const listing = opendirSync(at, { encoding: /** @type {any} */ ("buffer"), bufferSize: 64 });
    try {
      for (let next = listing.readSync(); next !== null; next = listing.readSync()) {
        const name = /** @type {Buffer} */ (/** @type {unknown} */ (next.name));
        if (names.has(name.toString("latin1"))) continue;
        return statOf(merged, joined(path, name)) === undefined;
      }
      return false;
    } finally {
      listing.closeSync();
    }
  });
}

/**
 * The kernel's mark of a removed name, a device 0:0; or that of a tool, an empty file which the merged view lacks.
 * @param {Buffer} path
 * @param {import("node:fs").BigIntStats} stats
 */
function isWhiteout(path, stats) {
  if (stats.isCharacterDevice()) return stats.rdev === 0n;
  return stats.isFile() && stats.size === 0n && statOf(merged, path) === undefined;
}

/**
 * Lists one directory of the upper layer; answers with the directories in it, which are still to be visited.
 * @param {Buffer} path
 * @param {boolean} hasLower
 */
function visit(path, hasLower) {
  /** @type {{ path: Buffer, hasLower: boolean }[]} */
  const folders = [];
  for (const name of namesIn(upper, path)) {
    const child = joined(path, name);
    const above = statOf(upper, child);
    if (above === undefined) continue;
    const beneath = hasLower ? statOf(lower, child) : undefined;
    if (isWhiteout(child, above)) {
      if (beneath !== undefined) emitRemoved(child, beneath);
    } else if (above.isDirectory()) {
      emitFolder(child, above, beneath);
      folders.push({ path: child, hasLower: beneath?.isDirectory() === true });
    } else {
      emit({ kind: "present", path: child, upper: above, lower: beneath });
      if (beneath?.isDirectory() === true) emitRemovedBelow(child);
    }
  }
  return folders.toReversed();
}

/**
 * @param {Buffer} path
 * @param {import("node:fs").BigIntStats} above
 * @param {import("node:fs").BigIntStats | undefined} beneath
 */
function emitFolder(path, above, beneath) {
  const kept = new Set(beneath?.isDirectory() === true ? latin1NamesIn(path) : []);
  const hides = beneath?.isDirectory() === true && hidesLower(path, kept);
  emit({ kind: "present", path, upper: above, lower: beneath, hides });
  if (hides) emitHidden(path, kept);
}

/** @param {Buffer} path */
function latin1NamesIn(path) {
  return namesIn(upper, path).map((name) => name.toString("latin1"));
}

/**
 * @param {Buffer} path
 * @param {ReadonlySet<string>} kept
 */
function emitHidden(path, kept) {
  for (const name of namesIn(lower, path)) {
    if (kept.has(name.toString("latin1"))) continue;
    const child = joined(path, name);
    const stats = statOf(lower, child);
    if (stats !== undefined) emitRemoved(child, stats);
  }
}

/** @type {Buffer} */
const root = Buffer.alloc(0);
const above = statOf(upper, root);
const beneath = statOf(lower, root);
if (above !== undefined && beneath !== undefined) {
  // Node sets times to the microsecond at best, so the copy of the root's time may be off by one.
  const moved = above.mtimeNs - beneath.mtimeNs;
  const isTouched = above.mode !== beneath.mode || moved > 2000n || moved < -2000n;
  if (isTouched) emit({ kind: "present", path: root, upper: above, lower: beneath });
}
const pending = [{ path: root, hasLower: true }];
for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
  pending.push(...visit(next.path, next.hasLower));
}
finish(true);
