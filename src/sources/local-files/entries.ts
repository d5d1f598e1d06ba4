import { isUtf8 } from "node:buffer";
import type {
  EntryState,
  RecordedFinding,
  RetainedContent,
  SurfaceEntry,
} from "../../core/entry.ts";
import { matcherFingerprint, type Matcher } from "../../core/matcher.ts";
import { contentOf } from "../../core/text.ts";
import { wordsColumn } from "./column.ts";
import { digestAt, stateOf, type Draft } from "./entry-state.ts";
import { isRefused, NO_ITEM, type EvidencePlan } from "./evidence-plan.ts";
import { FLAG, ROOT, type Node } from "./manifest.ts";
import { proberOf } from "./probe.ts";
import { FOUND, type Found, type ReadingList } from "./reading-list.ts";
import { priorOf, type Snapshot } from "./snapshot.ts";
import { Uris } from "./uris.ts";
import { changeAt, contentNode, fileBefore, nodeBefore, type World } from "./view.ts";

/** What was read for a request. */
export interface EntryEvidence {
  readonly world: World;
  readonly list: ReadingList;
  readonly plan: EvidencePlan;
  /** Entries that other requests of the look got from the same world. */
  readonly written?: WrittenEntries;
}

/** What was to be read and kept of a location. */
interface Wanted {
  readonly item: number;
  readonly nowBytes: number;
  readonly beforeBytes: number;
}

/** Entries by the node that is there now, each with what was wanted of it: columns, since there are as many as entries. */
export class WrittenEntries {
  readonly #entries: SurfaceEntry[] = [];
  /** Places in the list behind 1. */
  readonly #places = wordsColumn();
  readonly #items = wordsColumn();
  readonly #nowBytes = wordsColumn();
  readonly #beforeBytes = wordsColumn();

  /** The entry of a node, where just this was wanted of it. */
  of(node: Node, { item, nowBytes, beforeBytes }: Wanted): SurfaceEntry | undefined {
    const place = this.#places.get(node) - 1;
    const isSame =
      place >= 0 &&
      this.#items.get(place) === item + 1 &&
      this.#nowBytes.get(place) === nowBytes &&
      this.#beforeBytes.get(place) === beforeBytes;
    return isSame ? this.#entries[place] : undefined;
  }

  add(node: Node, entry: SurfaceEntry, { item, nowBytes, beforeBytes }: Wanted): void {
    const place = this.#entries.push(entry) - 1;
    this.#places.set(node, place + 1);
    // The place of an item that is none is -1.
    this.#items.set(place, item + 1);
    this.#nowBytes.set(place, nowBytes);
    this.#beforeBytes.set(place, beforeBytes);
  }
}

/** An entry that is still being written. */
type EntryDraft = { -readonly [Field in keyof SurfaceEntry]: SurfaceEntry[Field] };

/** Turns what a request gets of a look into its entries. */
export class EntryBuilder {
  readonly #world: World;
  readonly #list: ReadingList;
  readonly #plan: EvidencePlan;
  readonly #findings: readonly Findings[];
  readonly #written: WrittenEntries;
  readonly #uris: Uris;
  readonly #urisBefore: Uris;

  constructor({ world, list, plan, written = new WrittenEntries() }: EntryEvidence) {
    this.#world = world;
    this.#list = list;
    this.#plan = plan;
    this.#findings = list.probes.map(findingsOf);
    this.#written = written;
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
      : this.#shared(node, at);
  }

  /** Requests that want the same of a location get one entry; candidates and a delta tell a link differently. */
  #shared(node: Node, at: number): SurfaceEntry {
    const { items, nowBytes, beforeBytes } = this.#plan;
    const wanted = {
      item: items[at] ?? NO_ITEM,
      nowBytes: nowBytes[at] ?? 0,
      beforeBytes: beforeBytes[at] ?? 0,
    };
    if (this.#world.tree.type(node) === "link") return this.#present(node, at);
    const written = this.#written.of(node, wanted);
    if (written !== undefined) return written;
    const entry = this.#present(node, at);
    this.#written.add(node, entry, wanted);
    return entry;
  }

  #present(node: Node, at: number): SurfaceEntry {
    const { changes } = this.#world;
    // A delta tells what became of the link itself; what stands behind it has an entry of its own.
    const isDelta = this.#plan.extent === "delta";
    const { change, through } = isDelta
      ? { change: changes.of(node), through: node }
      : changeAt(this.#world, node);
    const was = isDelta ? changes.before(node) : nodeBefore(this.#world, node);
    const prior = was === undefined || change === "created" ? undefined : this.#before(was, at);
    const entry: EntryDraft = { uri: this.#uris.of(node), change };
    const nameBytes = this.#uris.bytesOf(node);
    if (nameBytes !== undefined) entry.nameBytes = nameBytes;
    if (change === "moved" && was !== undefined) entry.from = this.#urisBefore.of(was);
    entry.now = this.#now(node, at);
    if (prior !== undefined) entry.before = prior;
    if (change === "unknown") entry.reasons = [...changes.reasons(through)];
    return entry;
  }

  /** A location that was there before the run and is gone. */
  #deleted(node: Node, at: number): SurfaceEntry {
    const before = this.#before(node, at);
    const nameBytes = this.#urisBefore.bytesOf(node);
    return {
      uri: this.#urisBefore.of(node),
      change: "deleted",
      ...(nameBytes === undefined ? {} : { nameBytes }),
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
    if (isRefused(this.#plan, tree, file))
      return { ...state, sizeBytes: size, unread: severalNames(tree.linkCounts.get(file)) };
    if (item === NO_ITEM)
      return {
        ...state,
        sizeBytes: size,
        unread: { code: "read_limit_exceeded", detail: `0 of ${size} bytes were read` },
      };
    return this.#read(state, file, item, this.#plan.nowBytes[at] ?? 0);
  }

  #read(state: Draft, file: Node, item: number, nowBytes: number): EntryState {
    const { tree } = this.#world;
    const size = tree.sizes.get(file);
    const miss = this.#list.miss(item);
    const readBytes = miss === undefined ? size : miss.readBytes;
    state.sizeBytes = Math.max(size, readBytes);
    if (this.#list.isWhole(item)) state.sha256 = digestAt(tree, file);
    this.#addContent(state, item, nowBytes, readBytes);
    if (miss !== undefined) state.unread = { code: miss.code, detail: miss.detail };
    return state;
  }

  /** What is kept of it; else what the probes found while it was read. */
  #addContent(state: Draft, item: number, nowBytes: number, readBytes: number): void {
    const head = this.#head(item, Math.min(nowBytes, readBytes));
    const isWhole = this.#list.isWhole(item) && head.length === readBytes;
    const isKept = head.length > 0 || readBytes === 0;
    if (isKept) state.content = retainedOf(head, isWhole);
    const findings = isKept && isWhole ? undefined : this.#found(item);
    if (findings !== undefined) state.findings = findings;
  }

  #head(item: number, length: number): Buffer {
    const unplanned = this.#list.miss(item)?.head;
    if (unplanned !== undefined)
      return Buffer.from(unplanned).subarray(0, this.#plan.maxContentBytes);
    const from = this.#list.keptFrom(item);
    return this.#list.kept.subarray(from, from + Math.min(length, this.#list.keepBytes(item)));
  }

  #found(item: number): readonly RecordedFinding[] | undefined {
    const found = this.#findings.map((_, probe) => this.#list.found(item, probe) as Found);
    // One list for all entries of which a single probe says the same.
    return found.length === 1
      ? this.#findings[0]?.[found[0] ?? FOUND.unknown]
      : this.#recorded(found);
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
    if (isRefused(this.#plan, before.tree, file))
      return { ...state, unread: severalNames(before.tree.linkCounts.get(file)) };
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
    return proberOf(this.#list.probes)(Buffer.from(bytes), true, undefined);
  }
}

function severalNames(count: number): NonNullable<EntryState["unread"]> {
  return { code: "confinement_unverified", detail: `it has ${count} names` };
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

/** Text as it is, all else as base64. Whole UTF-8, the commonest, is read where it lies. */
function retainedOf(shared: Buffer, isWhole: boolean): RetainedContent {
  if (isWhole && !shared.includes(0) && isUtf8(shared))
    return { encoding: "utf-8", value: shared.toString("utf8"), truncated: false };
  const content = contentOf(Buffer.from(shared), isWhole);
  const value =
    content.encoding === "binary" ? Buffer.from(content.bytes).toString("base64") : content.text;
  return { encoding: content.encoding, value, truncated: !isWhole };
}
