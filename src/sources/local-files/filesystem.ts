import { execFileSync } from "node:child_process";
import { closeSync, constants, fstatSync, openSync, statfsSync } from "node:fs";

/** Local disk file systems, by the kernel's magic numbers, on which every store moves a file's change time once dirty pages are flushed. */
const LOCAL_DISK = new Set([0xef53, 0x58465342, 0x9123683e, 0xf2f52010]);

const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY;

/** True for ext4, XFS, Btrfs and F2FS: there, equal identity, size and times that are old enough mean unchanged. */
export function isLocalDisk(directory: string): boolean {
  try {
    return LOCAL_DISK.has(statfsSync(directory).type);
  } catch {
    return false;
  }
}

/** Flushes the file system of a directory, so that a store to a page that is dirty already moves its times. False where that failed. */
export function flushFileSystem(directory: string): boolean {
  try {
    execFileSync("sync", ["-f", "--", directory], { stdio: "ignore", timeout: 60_000 });
    return true;
  } catch {
    return false;
  }
}

/**
 * The present by the clock that stamps the files of a directory, in nanoseconds: the time of a file without a name,
 * which moves nothing in the directory. Undefined where none can be made there.
 */
export function fileSystemNow(directory: string): bigint | undefined {
  return stampOf(() => openSync(directory, O_TMPFILE | constants.O_RDWR, 0o600));
}

function stampOf(open: () => number): bigint | undefined {
  let fd: number;
  try {
    fd = open();
  } catch {
    return undefined;
  }
  try {
    return fstatSync(fd, { bigint: true }).ctimeNs;
  } finally {
    closeSync(fd);
  }
}
