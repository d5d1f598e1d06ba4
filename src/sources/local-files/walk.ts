import type { EntryType } from "../../core/entry.ts";
import type { GapCode } from "../../core/gap.ts";
import type { Glob, Progress } from "../../core/glob.ts";
import { errnoOf, isAbsent, type ConfinedRoot, type Directory } from "./confined.ts";
import { Descent } from "./descent.ts";
import { FLAG, Manifest, ROOT, TYPES, type Node } from "./manifest.ts";
import { isMuchToLookAt, readAllMetadata } from "./metadata-team.ts";
import { lookAt, type MetadataPlace } from "./metadata.ts";
import { Aborted, type Budget, type Meter } from "./meter.ts";
import { mountIdOf, mountsBelow } from "./mounts.ts";
import { printableName, type ByteName } from "./name.ts";
import type { PlaceGap, Walk } from "./place-gap.ts";
import type { SecondThread } from "./second-thread.ts";
import { directoriesOf } from "./traverse.ts";

export interface WalkOptions {
  readonly meter: Meter;
  readonly listing: Budget;
  /** Only directories that one of these could lead through are listed; absent: all are. */
  readonly globs?: readonly Glob[];
  readonly second?: SecondThread | undefined;
}

/** The types as characters behind a name. */
const TYPE_CHARS: ReadonlyMap<EntryType, string> = new Map(
  TYPES.map((type, index) => [type, String.fromCharCode(index)]),
);

interface Pending {
  readonly node: Node;
  readonly progress: readonly Progress[] | undefined;
}

/**
 * Lists a tree beneath a confined root: iterative, each directory once, through held handles; the metadata of every entry
 * that is asked for. A directory that changed meanwhile is listed once more. Gaps: listing_failed, listing_limit_exceeded,
 * other_filesystem, changed_during_walk, read_failed (metadata), root_replaced.
 */
export function walk(confined: ConfinedRoot, options: WalkOptions): Walk {
  return new Walker(confined, options).run();
}

class Walker {
  readonly #confined: ConfinedRoot;
  readonly #options: WalkOptions;
  readonly #tree = new Manifest();
  readonly #gaps: PlaceGap[] = [];
  readonly #descent: Descent;
  readonly #pending: Pending[] = [];
  readonly #progressOf = new Map<Node, readonly Progress[]>();
  /** Whether metadata is read once all is listed, which several threads can share; else with the listing of each directory. */
  #looksLater: boolean;
  #mounts: ReadonlySet<ByteName>;
  #rootMount: string | undefined;

  constructor(confined: ConfinedRoot, options: WalkOptions) {
    this.#confined = confined;
    this.#options = options;
    this.#looksLater = options.globs === undefined;
    this.#tree.add(ROOT, "", "directory");
    this.#tree.setStat(ROOT, confined.rootStat);
    this.#descent = new Descent(confined, this.#tree);
    this.#mounts = mountsBelow(confined.realPath);
    this.#rootMount = mountIdOf(confined.root.fd);
  }

  run(): Walk {
    try {
      this.#pending.push({ node: ROOT, progress: this.#options.globs?.map((glob) => glob.start) });
      this.#drain();
      if (this.#looksLater) this.#lookAtAll();
      this.#listChangedAgain();
      this.#markMounted();
      this.#descent[Symbol.dispose]();
      this.#checkEnd();
    } finally {
      this.#descent[Symbol.dispose]();
    }
    return { tree: this.#tree, gaps: this.#gaps };
  }

  #drain(): void {
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      this.#visit(next);
      if (this.#looksLater && isMuchToLookAt(this.#tree)) this.#options.second?.start();
    }
  }

  #visit(pending: Pending): void {
    const { node } = pending;
    if (pending.progress !== undefined) this.#progressOf.set(node, pending.progress);
    try {
      this.#descent.use(node, (directory) => {
        if (this.#isElsewhere(node, directory)) this.#miss(node, "other_filesystem");
        else this.#list(pending, directory);
      });
    } catch (error) {
      if (error instanceof Aborted) throw error;
      this.#missBy(node, error);
    }
  }

  /** A directory that was there when it was listed, and is not any more or is another by now, changed under the walk. */
  #missBy(node: Node, error: unknown): void {
    const gone = isAbsent(error) || errnoOf(error) === "ELOOP" || errnoOf(error) === "EUNCONFINED";
    this.#miss(node, gone ? "changed_during_walk" : "listing_failed", errnoOf(error));
  }

  #miss(node: Node, code: GapCode, detail?: string): void {
    this.#tree.mark(node, FLAG.unlisted);
    this.#gaps.push({ node, code, ...(detail === undefined ? {} : { detail }) });
  }

  #isElsewhere(node: Node, directory: Directory): boolean {
    if (node === ROOT) return false;
    if (this.#tree.devices.get(node) !== this.#confined.rootStat.dev) return true;
    return this.#mounts.size > 0 && mountIdOf(directory.fd) !== this.#rootMount;
  }

  #list(pending: Pending, directory: Directory): void {
    const { node } = pending;
    const start = this.#tree.count;
    const progress = new Map<Node, readonly Progress[]>();
    for (const found of this.#readNames(node, directory)) {
      const name = found.slice(0, -2);
      const child = this.#tree.add(
        node,
        name,
        TYPES[found.charCodeAt(found.length - 1)] ?? "other",
      );
      const steps = this.#step(pending.progress, name);
      if (steps !== undefined) progress.set(child, steps);
    }
    this.#tree.childStarts.set(node, start);
    this.#tree.childCounts.set(node, this.#tree.count - start);
    const directories: Node[] = [];
    for (let child = start; child < this.#tree.count; child += 1) {
      if (!this.#looksLater && this.#wants(pending.progress, progress.get(child)))
        this.#gaps.push(...lookAt(directory, child, this.#place()));
      if (
        this.#tree.type(child) === "directory" &&
        this.#leads(pending.progress, progress.get(child))
      )
        directories.push(child);
    }
    for (const child of directories.toReversed())
      this.#pending.push({ node: child, progress: progress.get(child) });
  }

  /** The names in the order of their bytes, each with a NUL and its type behind it: one flat list, however many there are. */
  #readNames(node: Node, directory: Directory): string[] {
    const { meter, listing } = this.#options;
    const found: string[] = [];
    let cut = false;
    this.#confined.list(directory, (name, type) => {
      if (!listing.take(1)) {
        cut = true;
        return false;
      }
      meter.listed();
      found.push(`${name}\0${TYPE_CHARS.get(type) ?? "\0"}`);
      return true;
    });
    if (cut)
      this.#miss(
        node,
        "listing_limit_exceeded",
        `${found.length} names of it were listed, more are there`,
      );
    else this.#tree.mark(node, FLAG.listed);
    return found.toSorted();
  }

  #step(
    progress: readonly Progress[] | undefined,
    name: ByteName,
  ): readonly Progress[] | undefined {
    if (progress === undefined) return undefined;
    const text = printableName(name);
    return this.#options.globs?.map((glob, index) => glob.step(progress[index] ?? [], text));
  }

  #leads(parent: readonly Progress[] | undefined, own: readonly Progress[] | undefined): boolean {
    if (parent === undefined) return true;
    return this.#options.globs?.some((glob, index) => glob.leadsOn(own?.[index] ?? [])) ?? true;
  }

  #wants(parent: readonly Progress[] | undefined, own: readonly Progress[] | undefined): boolean {
    if (parent === undefined || this.#leads(parent, own)) return true;
    return this.#options.globs?.some((glob, index) => glob.accepts(own?.[index] ?? [])) ?? true;
  }

  /** The directories that were listed had theirs read when they were opened: what changes in them from then on is noticed. */
  #lookAtAll(): void {
    this.#looksLater = false;
    // Those that look hold handles of their own.
    this.#descent[Symbol.dispose]();
    for (const each of readAllMetadata(this.#place(), this.#options.second)) this.#gaps.push(each);
  }

  #place(): MetadataPlace {
    return { confined: this.#confined, tree: this.#tree, meter: this.#options.meter };
  }

  /** Of what is mounted over something else than a directory only the metadata is seen. */
  #markMounted(): void {
    for (const path of this.#mounts) {
      const node = this.#tree.find(path.split("/"));
      if (node === undefined || !this.#tree.has(node, FLAG.stat)) continue;
      if (this.#tree.type(node) === "directory") continue;
      this.#tree.mark(node, FLAG.elsewhere);
      this.#gaps.push({ node, code: "other_filesystem" });
    }
  }

  /** What was moved out of a directory that was not yet listed into one that was would be missed by both listings. */
  #listChangedAgain(): void {
    const moved = this.#changedDirectories();
    for (const node of moved) this.#relist(node);
    this.#drain();
    if (moved.length === 0) return;
    for (const node of this.#changedDirectories())
      this.#gaps.push({ node, code: "changed_during_walk", detail: "it changed again" });
  }

  #changedDirectories(): Node[] {
    const changed: Node[] = [];
    for (const node of directoriesOf(this.#tree)) {
      this.#options.meter.tick();
      try {
        const stat = this.#descent.use(node, (directory) =>
          this.#confined.statDirectory(directory),
        );
        if (stat.ctimeNs !== this.#tree.changed.get(node)) changed.push(node);
      } catch {
        changed.push(node);
      }
    }
    return changed;
  }

  #relist(node: Node): void {
    const old = new Map(
      [...this.#tree.children(node)].map((child) => [this.#tree.names.get(child), child] as const),
    );
    this.#tree.unmark(node, FLAG.listed);
    const before = this.#pending.length;
    try {
      this.#descent.use(node, (directory) => {
        this.#tree.setStat(node, this.#confined.statDirectory(directory));
        this.#list({ node, progress: this.#progressOf.get(node) }, directory);
      });
    } catch (error) {
      if (error instanceof Aborted) throw error;
      this.#missBy(node, error);
      return;
    }
    this.#keepListed(old, before);
  }

  /** A subdirectory that is the same one as before keeps what was listed beneath it. */
  #keepListed(old: ReadonlyMap<ByteName, Node>, before: number): void {
    const fresh: Pending[] = [];
    for (const pending of this.#pending.splice(before)) {
      const same = old.get(this.#tree.names.get(pending.node));
      if (
        same === undefined ||
        !this.#tree.has(same, FLAG.listed) ||
        this.#tree.inodes.get(same) !== this.#tree.inodes.get(pending.node)
      )
        fresh.push(pending);
      else this.#adopt(same, pending.node);
    }
    this.#pending.push(...fresh);
  }

  #adopt(from: Node, to: Node): void {
    this.#tree.childStarts.set(to, this.#tree.childStarts.get(from));
    this.#tree.childCounts.set(to, this.#tree.childCounts.get(from));
    this.#tree.changed.set(to, this.#tree.changed.get(from));
    this.#tree.mark(to, FLAG.listed);
    for (const child of this.#tree.children(to)) this.#tree.parents.set(child, to);
  }

  #checkEnd(): void {
    if (!this.#confined.stillThere()) this.#gaps.push({ node: ROOT, code: "root_replaced" });
    const mounts = mountsBelow(this.#confined.realPath);
    for (const path of mounts)
      if (!this.#mounts.has(path))
        this.#gaps.push({
          node: ROOT,
          code: "changed_during_walk",
          detail: "a file system was mounted below the root",
        });
    this.#mounts = mounts;
  }
}
