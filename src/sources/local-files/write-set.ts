import type { ByteName } from "./name.ts";

/** A name that a run wrote or removed in an overlay. `path` is the bytes below the root with "/" between names. */
export interface WriteSetName {
  readonly path: Uint8Array;
  readonly kind: "present" | "removed";
}

/** All that a run wrote in an overlay over the root. */
export interface WriteSet {
  /** The directory that holds what was written, by the same paths. */
  readonly upperDir: string;
  readonly entries: readonly WriteSetName[];
  /** Directories whose changes could not be listed, with the system's error. */
  readonly unlisted: readonly { readonly path: Uint8Array; readonly code: string }[];
  /** True where the listing ended at its limit: names are missing. */
  readonly limitReached: boolean;
}

/** The names of a write set as a tree. */
export interface WrittenNode {
  readonly name: ByteName;
  readonly children: Map<ByteName, WrittenNode>;
  kind: "present" | "removed" | "passed";
  /** True where it is a directory now; what another kind of entry replaced is gone with all beneath it. */
  isDirectory: boolean;
  /** The system's error where its own changes could not be listed. */
  unlisted?: string;
}

/** Brings the names of a write set into a tree from the root down. */
export function writtenTree(writeSet: Pick<WriteSet, "entries" | "unlisted">): WrittenNode {
  const root: WrittenNode = { name: "", children: new Map(), kind: "passed", isDirectory: false };
  for (const { path, kind } of writeSet.entries) reach(root, path).kind = kind;
  for (const { path, code } of writeSet.unlisted) reach(root, path).unlisted = code;
  return root;
}

function reach(root: WrittenNode, path: Uint8Array): WrittenNode {
  const names = Buffer.from(path)
    .toString("latin1")
    .split("/")
    .filter((name) => name !== "");
  return names.reduce((at, name) => {
    const known = at.children.get(name);
    if (known !== undefined) return known;
    const made: WrittenNode = { name, children: new Map(), kind: "passed", isDirectory: false };
    at.children.set(name, made);
    return made;
  }, root);
}
