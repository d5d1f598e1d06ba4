import type {
  EntryState,
  RecordedFinding,
  RetainedContent,
  SurfaceEntry,
} from "../../core/entry.ts";
import { Digest } from "../../core/ids.ts";
import { matchContent } from "../../core/match-content.ts";
import { matcherFingerprint, type Matcher } from "../../core/matcher.ts";
import { contentOf } from "../../core/text.ts";
import { timestampOf } from "../../core/timestamp.ts";
import type { Descent } from "./descent.ts";
import { resolveLink } from "./link.ts";
import { FLAG, type Manifest, type Node } from "./manifest.ts";
import type { Budget, Meter } from "./meter.ts";
import { isUtf8Name, printableName } from "./name.ts";
import type { FileReader, Reading } from "./read-file.ts";
import { readNode, type Snapshot } from "./snapshot.ts";
import { changeAt, contentNode, pathBytes, uriOf, type View } from "./view.ts";

/** The most of one file that is held for probes. Beyond it they see the head alone. */
const PROBED_BYTES = 64 << 20;

export interface EntryOptions {
  readonly meter: Meter;
  readonly reading: Budget;
  /** What may still be kept of content. */
  readonly retaining: Budget;
  readonly maxContentBytes: number;
  readonly probes: readonly Matcher[];
  readonly descent: Descent;
  readonly reader: FileReader;
}

/** Turns entries of trees into evidence, reading the files that are there now. */
export class EntryBuilder {
  readonly #view: View;
  readonly #options: EntryOptions;
  readonly #probes: readonly { readonly matcher: Matcher; readonly fingerprint: Digest }[];

  constructor(view: View, options: EntryOptions) {
    this.#view = view;
    this.#options = options;
    this.#probes = options.probes.map((matcher) => ({
      matcher,
      fingerprint: matcherFingerprint(matcher),
    }));
  }

  /** A location that is there now. */
  present(node: Node): SurfaceEntry {
    const { tree, changes, before } = this.#view;
    const { change, through } = changeAt(this.#view, node);
    // What stood at a link is found by following it as it was; only a move tells of another location.
    const was = changes.before(change === "moved" ? through : node);
    const now = this.#now(node);
    const prior = was === undefined || before === undefined ? undefined : this.#before(before, was);
    return {
      uri: uriOf(this.#view, tree, node),
      ...this.#nameBytes(tree, node),
      change,
      ...(change === "moved" && was !== undefined && before !== undefined
        ? { from: uriOf(this.#view, before.tree, was) }
        : {}),
      now,
      ...(prior === undefined || change === "created" ? {} : { before: prior }),
      ...(change === "unknown" ? { reasons: [...changes.reasons(through)] } : {}),
    };
  }

  /** A location that was there before the run and is gone. */
  deleted(node: Node, before: Snapshot): SurfaceEntry {
    return {
      uri: uriOf(this.#view, before.tree, node),
      ...this.#nameBytes(before.tree, node),
      change: "deleted",
      before: this.#before(before, node),
    };
  }

  #nameBytes(tree: Manifest, node: Node): { nameBytes?: string } {
    const plain = isUtf8Name(tree.names.get(node)) && tree.path(node).every(isUtf8Name);
    return plain
      ? {}
      : { nameBytes: Buffer.from(pathBytes(tree, node), "latin1").toString("base64") };
  }

  #now(node: Node): EntryState {
    const { tree } = this.#view;
    const file = contentNode(this.#view, node);
    const reading =
      file === undefined
        ? undefined
        : readNode(
            { descent: this.#options.descent, reader: this.#options.reader, tree },
            file,
            this.#readOptions(),
          );
    const state = stateOf(tree, node);
    if (file === undefined || reading === undefined) return state;
    const sizeBytes = Math.max(tree.sizes.get(file), reading.readBytes);
    return { ...state, sizeBytes, ...this.#contentOfReading(reading) };
  }

  #readOptions() {
    const { meter, reading, maxContentBytes } = this.#options;
    const keepBytes =
      this.#probes.length > 0 ? Math.max(PROBED_BYTES, maxContentBytes) : maxContentBytes;
    return { meter, budget: reading, keepBytes, wants: () => true };
  }

  #contentOfReading(reading: Reading): Partial<EntryState> {
    const kept = this.#retain(reading.head, reading.headIsWhole);
    const found =
      kept?.truncated === false ? [] : this.#find(reading.head, reading.headIsWhole, reading);
    return {
      ...(reading.sha256 === undefined ? {} : { sha256: Digest.parse(`sha256:${reading.sha256}`) }),
      ...(kept === undefined ? {} : { content: kept }),
      ...(found.length === 0 ? {} : { findings: found }),
      ...(reading.missing === undefined
        ? {}
        : { unread: { code: reading.missing.code, detail: reading.missing.detail } }),
    };
  }

  #before(before: Snapshot, node: Node): EntryState {
    const state = stateOf(before.tree, node);
    const unread: Pick<EntryState, "unread"> = { unread: { code: "prior_content_unknown" } };
    const file = this.#fileBefore(before, node);
    if (file === "unseen") return { ...state, ...unread };
    if (file === undefined) return state;
    const bytes = before.prior.get(file);
    const sha256 = before.tree.has(file, FLAG.digest)
      ? { sha256: digestAt(before.tree, file) }
      : {};
    if (bytes === undefined) return { ...state, ...sha256, ...unread };
    const kept = this.#retain(bytes, true);
    const found = kept?.truncated === false ? [] : this.#find(bytes, true, {});
    return {
      ...state,
      ...sha256,
      ...(kept === undefined ? unread : { content: kept }),
      ...(found.length === 0 ? {} : { findings: found }),
    };
  }

  /** The file whose content stood at a location; undefined where none did. */
  #fileBefore(before: Snapshot, node: Node): Node | "unseen" | undefined {
    const { tree } = before;
    if (tree.type(node) === "file") return node;
    if (tree.type(node) !== "link") return undefined;
    const end = resolveLink(tree, node, this.#view.confined.realPath);
    if (end.kind === "inside") return tree.type(end.node) === "file" ? end.node : undefined;
    return end.kind === "dangling" ? undefined : "unseen";
  }

  /** Keeps the head within the budget: as text where it is text, as base64 where not. */
  #retain(head: Buffer, isWhole: boolean): RetainedContent | undefined {
    const length = Math.min(
      head.length,
      this.#options.maxContentBytes,
      Math.max(0, this.#options.retaining.left),
    );
    if (length === 0 && head.length > 0) return undefined;
    this.#options.retaining.spend(length);
    const whole = isWhole && length === head.length;
    const content = contentOf(head.subarray(0, length), whole);
    const value =
      content.encoding === "binary" ? Buffer.from(content.bytes).toString("base64") : content.text;
    return { encoding: content.encoding, value, truncated: !whole };
  }

  #find(
    head: Buffer,
    whole: boolean,
    reading: { readonly sha256?: string | undefined },
  ): RecordedFinding[] {
    if (this.#probes.length === 0) return [];
    const content = contentOf(head, whole);
    const sha256 =
      reading.sha256 === undefined ? undefined : Digest.parse(`sha256:${reading.sha256}`);
    return this.#probes.flatMap(({ matcher, fingerprint }) => {
      const { value } = matchContent(matcher, { sizeBytes: head.length, sha256 }, content);
      return value === "unknown" ? [] : [{ matcher: fingerprint, finding: value }];
    });
  }
}

/** The metadata of an entry. */
function stateOf(tree: Manifest, node: Node): EntryState {
  const target = tree.targets.get(node);
  return {
    type: tree.type(node),
    sizeBytes: tree.sizes.get(node),
    mode: tree.modes.get(node),
    owner: { uid: tree.uids.get(node), gid: tree.gids.get(node) },
    modifiedAt: timestampOf(tree.modified.get(node)),
    changedAt: timestampOf(tree.changed.get(node)),
    ...(tree.born.get(node) === 0n ? {} : { bornAt: timestampOf(tree.born.get(node)) }),
    links: tree.linkCounts.get(node),
    ...(target === undefined ? {} : { linkTarget: printableName(target) }),
  };
}

function digestAt(tree: Manifest, node: Node): Digest {
  return Digest.parse(`sha256:${tree.digests.get(node)?.toString("hex") ?? ""}`);
}
