import type { EntryState } from "../../core/entry.ts";
import type { Digest } from "../../core/ids.ts";
import { timestampOf, type Timestamp } from "../../core/timestamp.ts";
import type { Manifest, Node } from "./manifest.ts";
import { printableName } from "./name.ts";

/** A state that is still being written: there are many, and spreading each several times costs most of their making. */
export type Draft = { -readonly [Field in keyof EntryState]: EntryState[Field] };

/** The metadata of an entry. */
export function stateOf(tree: Manifest, node: Node): Draft {
  const state: Draft = {
    type: tree.type(node),
    sizeBytes: tree.sizes.get(node),
    mode: tree.modes.get(node),
    owner: ownerOf(tree.uids.get(node), tree.gids.get(node)),
    modifiedAt: textOf(tree.modified.get(node)),
    changedAt: textOf(tree.changed.get(node)),
  };
  const born = tree.born.get(node);
  if (born !== 0n) state.bornAt = textOf(born);
  state.links = tree.linkCounts.get(node);
  const target = tree.targets.get(node);
  if (target !== undefined) state.linkTarget = printableName(target);
  return state;
}

let lastOwner: NonNullable<EntryState["owner"]> | undefined;

/** Most entries have one owner, who is told once. */
function ownerOf(uid: number, gid: number): NonNullable<EntryState["owner"]> {
  if (lastOwner?.uid !== uid || lastOwner.gid !== gid) lastOwner = { uid, gid };
  return lastOwner;
}

let lastTime: { readonly at: bigint; readonly text: Timestamp } | undefined;

/** The times of an entry are mostly one time. */
function textOf(at: bigint): Timestamp {
  if (lastTime?.at !== at) lastTime = { at, text: timestampOf(at) };
  return lastTime.text;
}

/** The digest of a file that has one. */
export function digestAt(tree: Manifest, node: Node): Digest {
  // It has the form by how it is stored.
  return `sha256:${tree.digests.get(node)?.toString("hex") ?? ""}` as Digest;
}
