import type {
  EntryState,
  RecordedFinding,
  RetainedContent,
  SurfaceEntry,
} from "../../core/entry.ts";
import type { Digest } from "../../core/ids.ts";
import { matcherFingerprint, type Matcher } from "../../core/matcher.ts";
import { contentOf } from "../../core/text.ts";
import { timestampOf, type Timestamp } from "../../core/timestamp.ts";
import { NO_ITEM, type EvidencePlan } from "./evidence-plan.ts";
import { FLAG, ROOT, type Manifest, type Node } from "./manifest.ts";
import { isUtf8Name, printableName } from "./name.ts";
import { proberOf } from "./probe.ts";
import { FOUND, type Found, type ReadingList } from "./reading-list.ts";
import { priorOf, type Snapshot } from "./snapshot.ts";
import { changeAt, contentNode, fileBefore, nodeBefore, pathBytes, type World } from "./view.ts";

/** What was read for a request. */
export interface EntryEvidence {
  readonly world: World;
  readonly list: ReadingList;
  readonly plan: EvidencePlan;
  readonly probes: readonly Matcher[];
}

/** Turns what a request gets of a look into its entries. */
export class EntryBuilder {
  readonly #world: World;
  readonly #list: ReadingList;
  readonly #plan: EvidencePlan;
  readonly #probes: readonly Matcher[];
  readonly #findings: readonly Findings[];
  readonly #uris: Uris;
  readonly #urisBefore: Uris;

  constructor({ world, list, plan, probes }: EntryEvidence) {
    this.#world = world;
    this.#list = list;
    this.#plan = plan;
    this.#probes = probes;
    this.#findings = probes.map(findingsOf);
    this.#uris = new Uris(world.name, world.tree);
    this.#urisBefore = new Uris(world.name, (world.before ?? world).tree);
  }

  get count(): number {
    return this.#plan.kept.length + this.#plan.deleted.length;
  }

  /** The entry at a place of the plan: what is there now first, then what is gone. */
  entry(at: number): SurfaceEntry {
    const { kept, deleted } = this.#plan;
    const node = kept[at];
    return node === undefined
      ? this.#deleted(deleted[at - kept.length] ?? ROOT, at)
      : this.#present(node, at);
  }

  #present(node: Node, at: number): SurfaceEntry {
    const { tree, changes } = this.#world;
    const { change, through } = changeAt(this.#world, node);
    const was = nodeBefore(this.#world, node);
    const prior = was === undefined || change === "created" ? undefined : this.#before(was, at);
    return {
      uri: this.#uris.of(node),
      ...nameBytes(tree, node),
      change,
      ...(change === "moved" && was !== undefined ? { from: this.#urisBefore.of(was) } : {}),
      now: this.#now(node, at),
      ...(prior === undefined ? {} : { before: prior }),
      ...(change === "unknown" ? { reasons: [...changes.reasons(through)] } : {}),
    };
  }

  /** A location that was there before the run and is gone. */
  #deleted(node: Node, at: number): SurfaceEntry {
    const { tree } = this.#world.before ?? this.#world;
    const before = this.#before(node, at);
    return {
      uri: this.#urisBefore.of(node),
      ...nameBytes(tree, node),
      change: "deleted",
      ...(before === undefined ? {} : { before }),
    };
  }

  #now(node: Node, at: number): EntryState {
    const { tree } = this.#world;
    const state = stateOf(tree, node);
    const file = tree.type(node) === "file" ? node : contentNode(this.#world, node);
    if (file === undefined) return state;
    const item = this.#plan.items[at] ?? NO_ITEM;
    const size = tree.sizes.get(file);
    if (item === NO_ITEM)
      return {
        ...state,
        sizeBytes: size,
        unread: { code: "read_limit_exceeded", detail: `0 of ${size} bytes were read` },
      };
    return this.#read(state, file, item, this.#plan.nowBytes[at] ?? 0);
  }

  #read(state: EntryState, file: Node, item: number, nowBytes: number): EntryState {
    const { tree } = this.#world;
    const size = tree.sizes.get(file);
    const miss = this.#list.miss(item);
    const readBytes = miss === undefined ? size : miss.readBytes;
    const digest = this.#list.isWhole(item) ? { sha256: digestAt(tree, file) } : {};
    return {
      ...state,
      sizeBytes: Math.max(size, readBytes),
      ...digest,
      ...this.#content(item, nowBytes, readBytes),
      ...(miss === undefined ? {} : { unread: { code: miss.code, detail: miss.detail } }),
    };
  }

  /** What is kept of it; else what the probes found while it was read. */
  #content(
    item: number,
    nowBytes: number,
    readBytes: number,
  ): Pick<EntryState, "content" | "findings"> {
    const head = this.#head(item, Math.min(nowBytes, readBytes));
    const isWhole = this.#list.isWhole(item) && head.length === readBytes;
    const isKept = head.length > 0 || readBytes === 0;
    const findings = isKept && isWhole ? undefined : this.#found(item);
    return {
      ...(isKept ? { content: retainedOf(head, isWhole) } : {}),
      ...(findings === undefined ? {} : { findings }),
    };
  }

  #head(item: number, length: number): Buffer {
    const unplanned = this.#list.miss(item)?.head;
    if (unplanned !== undefined)
      return Buffer.from(unplanned).subarray(0, this.#plan.maxContentBytes);
    const from = this.#list.keptFrom(item);
    return this.#list.kept.subarray(from, from + Math.min(length, this.#list.keepBytes(item)));
  }

  #found(item: number): readonly RecordedFinding[] | undefined {
    const [first, ...more] = this.#plan.probes;
    if (first === undefined) return undefined;
    // One list for all entries of which a single probe says the same.
    if (more.length === 0) return this.#findings[0]?.[this.#list.found(item, first) as Found];
    return this.#recorded(this.#plan.probes.map((probe) => this.#list.found(item, probe) as Found));
  }

  #recorded(found: readonly Found[]): readonly RecordedFinding[] | undefined {
    const findings = found.flatMap((value, at) => this.#findings[at]?.[value] ?? []);
    return findings.length === 0 ? undefined : findings;
  }

  #before(node: Node, at: number): EntryState | undefined {
    const { before } = this.#world;
    if (before === undefined) return undefined;
    const state = stateOf(before.tree, node);
    const file = fileBefore(this.#world, before.tree, node);
    if (file === "unseen") return { ...state, unread: { code: "prior_content_unknown" } };
    if (file === undefined) return state;
    const digest = before.tree.has(file, FLAG.digest)
      ? { sha256: digestAt(before.tree, file) }
      : {};
    return { ...state, ...digest, ...this.#contentBefore(before, file, at) };
  }

  #contentBefore(
    before: Pick<Snapshot, "tree" | "prior">,
    node: Node,
    at: number,
  ): Pick<EntryState, "content" | "findings" | "unread"> {
    const unread = { unread: { code: "prior_content_unknown" } } as const;
    const bytes = priorOf(before, node);
    if (bytes === undefined) return unread;
    const length = Math.min(this.#plan.beforeBytes[at] ?? 0, bytes.length);
    const content =
      length === 0 && bytes.length > 0
        ? undefined
        : retainedOf(bytes.subarray(0, length), length === bytes.length);
    const findings = content?.truncated === false ? undefined : this.#recorded(this.#findIn(bytes));
    return {
      ...(content === undefined ? unread : { content }),
      ...(findings === undefined ? {} : { findings }),
    };
  }

  #findIn(bytes: Buffer): readonly Found[] {
    return proberOf(this.#probes)(Buffer.from(bytes), true, undefined);
  }
}

/** What a probe's finding looks like in evidence; an unknown one is not recorded. */
type Findings = Readonly<Record<Found, readonly RecordedFinding[] | undefined>>;

function findingsOf(probe: Matcher): Findings {
  const matcher = matcherFingerprint(probe);
  return {
    [FOUND.unknown]: undefined,
    [FOUND.present]: [{ matcher, finding: "present" }],
    [FOUND.absent]: [{ matcher, finding: "absent" }],
  };
}

/** Text as it is, all else as base64. */
function retainedOf(shared: Buffer, isWhole: boolean): RetainedContent {
  const content = contentOf(Buffer.from(shared), isWhole);
  const value =
    content.encoding === "binary" ? Buffer.from(content.bytes).toString("base64") : content.text;
  return { encoding: content.encoding, value, truncated: !isWhole };
}

/** The metadata of an entry. */
function stateOf(tree: Manifest, node: Node): EntryState {
  const target = tree.targets.get(node);
  const born = tree.born.get(node);
  return {
    type: tree.type(node),
    sizeBytes: tree.sizes.get(node),
    mode: tree.modes.get(node),
    owner: { uid: tree.uids.get(node), gid: tree.gids.get(node) },
    modifiedAt: textOf(tree.modified.get(node)),
    changedAt: textOf(tree.changed.get(node)),
    ...(born === 0n ? {} : { bornAt: textOf(born) }),
    links: tree.linkCounts.get(node),
    ...(target === undefined ? {} : { linkTarget: printableName(target) }),
  };
}

let lastTime: { readonly at: bigint; readonly text: Timestamp } | undefined;

/** The times of an entry are mostly one time. */
function textOf(at: bigint): Timestamp {
  if (lastTime?.at !== at) lastTime = { at, text: timestampOf(at) };
  return lastTime.text;
}

function digestAt(tree: Manifest, node: Node): Digest {
  // It has the form by how it is stored.
  return `sha256:${tree.digests.get(node)?.toString("hex") ?? ""}` as Digest;
}

function nameBytes(tree: Manifest, node: Node): { nameBytes?: string } {
  const plain = isUtf8Name(tree.names.get(node)) && tree.path(node).every(isUtf8Name);
  return plain
    ? {}
    : { nameBytes: Buffer.from(pathBytes(tree, node), "latin1").toString("base64") };
}

/** The uris of a tree, each directory's made once. */
class Uris {
  readonly #tree: Manifest;
  readonly #directories = new Map<Node, string>();

  constructor(name: string, tree: Manifest) {
    this.#tree = tree;
    this.#directories.set(ROOT, `${name}:`);
  }

  of(node: Node): string {
    if (node === ROOT) return `${this.#directories.get(ROOT) ?? ""}/`;
    const parent = this.#tree.parents.get(node);
    return `${this.#directory(parent)}/${printableName(this.#tree.names.get(node))}`;
  }

  #directory(node: Node): string {
    const known = this.#directories.get(node);
    if (known !== undefined) return known;
    const uri = this.of(node);
    this.#directories.set(node, uri);
    return uri;
  }
}
