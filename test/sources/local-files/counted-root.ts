import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/** What was really asked of the system, counted beneath the source: not what the source says of itself. */
export interface Seam {
  calls: number;
  listed: number;
  readBytes: number;
}

/** Every call of the source to the file system. */
const WATCHED = [
  "openSync",
  "closeSync",
  "readSync",
  "fstatSync",
  "lstatSync",
  "readlinkSync",
  "opendirSync",
] as const;

/**
 * Counts the calls to the file system while `work` runs, in this thread. `onCall` is told before each; entries count as they
 * are handed out by a listing, bytes as they are read.
 */
export function counting<T>(work: (seam: Seam) => T, onCall?: (seam: Seam) => void): T {
  const seam: Seam = { calls: 0, listed: 0, readBytes: 0 };
  const originals = new Map<string, unknown>(WATCHED.map((name) => [name, fs[name]]));
  const watched = fs as unknown as Record<string, (...args: unknown[]) => unknown>;
  const apart = new Set<unknown>();
  for (const name of WATCHED) {
    const original = watched[name]?.bind(fs);
    watched[name] = (...args) => {
      seam.calls += 1;
      onCall?.(seam);
      const result = original?.(...args);
      // The list of mounts is the system's, not the root's.
      if (name === "openSync" && /^\/proc\/self\/(mountinfo|fdinfo)/.test(String(args[0])))
        apart.add(result);
      if (name === "closeSync") apart.delete(args[0]);
      if (name === "readSync" && !apart.has(args[0])) seam.readBytes += Number(result);
      if (name === "opendirSync") watchListing(result as fs.Dir, seam, onCall);
      return result;
    };
  }
  syncBuiltinESMExports();
  try {
    return work(seam);
  } finally {
    for (const [name, original] of originals) watched[name] = original as never;
    syncBuiltinESMExports();
  }
}

function watchListing(listing: fs.Dir, seam: Seam, onCall?: (seam: Seam) => void): void {
  const read = listing.readSync.bind(listing);
  listing.readSync = () => {
    seam.calls += 1;
    onCall?.(seam);
    const entry = read();
    if (entry !== null) seam.listed += 1;
    return entry;
  };
}

/** How many handles this process has open. */
export function openHandles(): number {
  return fs.readdirSync("/proc/self/fd").length;
}
