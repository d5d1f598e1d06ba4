import { spawnSync } from "node:child_process";
import { chmodSync, closeSync, constants, copyFileSync, lstatSync, openSync } from "node:fs";
import type { Place } from "./descent.ts";
import { toolPath } from "./namespace.ts";
import type { LayerStat } from "./write-set.ts";

/** Holes of fewer bytes are filled: a tool started for each small file would cost more than it saves. */
const MIN_HOLE_BYTES = 1n << 20n;

/** Copies a regular file of our own state to a new name. A file that denies even its owner is opened for the while. */
export function copyFile(source: Buffer, part: Place, name: string, stats: LayerStat): void {
  const isDenied = process.geteuid?.() !== 0 && (stats.mode & 0o400) === 0;
  if (isDenied) chmodSync(source, stats.mode | 0o400);
  try {
    if (stats.sizeBytes - stats.allocatedBytes > MIN_HOLE_BYTES) copySparse(source, part, name);
    else copyFileSync(source, part.path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  } finally {
    if (isDenied) chmodSync(source, stats.mode);
  }
}

function copySparse(source: Buffer, part: Place, name: string): void {
  const from = openSync(source, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    runIn(part.folder, from, [
      "cp",
      "--sparse=always",
      "/proc/self/fd/4",
      `/proc/self/fd/3/${name}`,
    ]);
  } finally {
    closeSync(from);
  }
}

/** Makes a FIFO or, for root, a device like the one at `source`. */
export function makeSpecial(source: Buffer, part: Place, name: string): void {
  const stats = lstatSync(source, { bigint: true });
  const path = `/proc/self/fd/3/${name}`;
  if (stats.isFIFO()) return runIn(part.folder, "ignore", ["mkfifo", path]);
  const major = ((stats.rdev >> 8n) & 0xfffn) | ((stats.rdev >> 32n) & ~0xfffn);
  const minor = (stats.rdev & 0xffn) | ((stats.rdev >> 12n) & ~0xffn);
  const kind = stats.isBlockDevice() ? "b" : "c";
  runIn(part.folder, "ignore", ["mknod", path, kind, String(major), String(minor)]);
}

/** Runs a core utility that sees the directory as its descriptor 3, so that no path can lead it elsewhere. */
function runIn(
  folder: number,
  fourth: number | "ignore",
  [tool = "", ...args]: readonly string[],
): void {
  const file = toolPath(tool);
  if (file === undefined) throw new Error(`the program ${tool} is not installed`);
  const { status, stderr } = spawnSync(file, args, {
    stdio: ["ignore", "ignore", "pipe", folder, fourth],
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${tool} failed: ${stderr.trim()}`);
}
