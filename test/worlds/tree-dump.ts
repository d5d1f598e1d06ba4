import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** One entry of a dump: what a naive program sees. */
export interface Dumped {
  readonly type: string;
  /** Content, or the target of a link. */
  readonly content: string;
  readonly mode: number;
  /** Identity and times, by which a rewrite with equal content shows. */
  readonly stamp: string;
}

export type Dump = ReadonlyMap<string, Dumped>;

/** Reads a whole tree the simple way: everything, each time. */
export function dumpTree(root: string): Dump {
  const found = new Map<string, Dumped>();
  const pending = [""];
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    for (const name of readdirSync(join(root, folder))) {
      const path = folder === "" ? name : `${folder}/${name}`;
      const full = join(root, path);
      const stat = lstatSync(full, { bigint: true });
      const type = stat.isDirectory() ? "directory" : stat.isSymbolicLink() ? "link" : "file";
      if (type === "directory") pending.push(path);
      found.set(path, {
        type,
        content: type === "file" ? digest(full) : type === "link" ? readlinkSync(full) : "",
        mode: Number(stat.mode & 0o7777n),
        stamp: type === "directory" ? "" : `${stat.ino} ${stat.mtimeNs} ${stat.ctimeNs}`,
      });
    }
  }
  return found;
}

function digest(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

/** The difference of two dumps: "created a", "deleted b", "modified c", "touched d", in order. */
export function differenceOf(before: Dump, after: Dump): string[] {
  const lines: string[] = [];
  for (const [path, is] of after) {
    const was = before.get(path);
    if (was === undefined) lines.push(`created ${path}`);
    else if (was.type !== is.type || was.content !== is.content) lines.push(`modified ${path}`);
    else if (was.mode !== is.mode || was.stamp !== is.stamp) lines.push(`touched ${path}`);
  }
  for (const path of before.keys()) if (!after.has(path)) lines.push(`deleted ${path}`);
  return lines.toSorted();
}
