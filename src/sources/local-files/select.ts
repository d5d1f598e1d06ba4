import { gap, type Gap, type GapCode } from "../../core/gap.ts";
import type { Glob, Progress } from "../../core/glob.ts";
import type { Match } from "../../core/scorable.ts";
import { FLAG, ROOT, type Node } from "./manifest.ts";
import { printableName } from "./name.ts";
import { changeAt, endOf, uriOf, type View } from "./view.ts";

/** What a scorable asks of a root. */
export interface Question {
  readonly glob: Glob;
  readonly match: Match;
  readonly extent: "candidates" | "delta";
}

/** The locations that a scorable names, and the places where more of them could hide. */
export interface Selection {
  /** Locations that are there now and matter. */
  readonly nodes: readonly Node[];
  /** Locations that were there before and are gone. */
  readonly deleted: readonly Node[];
  readonly gaps: readonly Gap[];
  /** Matching files that the run did not change. */
  readonly unchanged: number;
  readonly outsideScope: number;
  /** Links in the pattern that are not among the locations above; absent where there are more than are listed. */
  readonly links?: readonly Node[];
}

/** Links that are listed at most; beyond it they count as not known. */
const MAX_LINKS = 10_000;

/** Walks the listed tree along the pattern. Gaps count only where the pattern could lead. */
export function select(view: View, question: Question): Selection {
  return new Selecting(view, question).run();
}

interface Pending {
  readonly node: Node;
  readonly progress: Progress;
}

class Selecting {
  readonly #view: View;
  readonly #question: Question;
  readonly #nodes: Node[] = [];
  readonly #gaps: Gap[] = [];
  readonly #links: Node[] = [];
  #unchanged = 0;
  #outside = 0;

  constructor(view: View, question: Question) {
    this.#view = view;
    this.#question = question;
  }

  run(): Selection {
    const { tree } = this.#view;
    this.#addGaps(ROOT);
    const pending: Pending[] = [{ node: ROOT, progress: this.#question.glob.start }];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const step = this.#stepsFrom(next.progress);
      for (const child of tree.children(next.node)) {
        const progress = step(child);
        if (this.#meets(child, progress)) pending.push({ node: child, progress });
      }
    }
    this.#addGapsBefore();
    return {
      nodes: this.#nodes,
      deleted: this.#deleted(),
      gaps: this.#gaps,
      unchanged: this.#unchanged,
      outsideScope: this.#outside,
      ...this.#linksElsewhere(),
    };
  }

  /** How far the pattern is at a child. Where it covers everything beneath, names do not matter. */
  #stepsFrom(progress: Progress): (child: Node) => Progress {
    const { glob } = this.#question;
    const { names } = this.#view.tree;
    if (!glob.coversBeneath(progress))
      return (child) => glob.step(progress, printableName(names.get(child)));
    const covered = glob.step(progress, "");
    return () => covered;
  }

  /** Of an overlay only what was written is here: which links there are besides is not known. */
  #linksElsewhere(): { links?: readonly Node[] } {
    if (this.#view.method === "exact" || this.#links.length > MAX_LINKS) return {};
    if (this.#links.length === 0) return { links: [] };
    // An entry of a delta tells what became of the link itself, not of what is behind it.
    const told =
      this.#question.extent === "delta"
        ? this.#nodes.filter((node) => this.#view.changes.of(node) !== "touched")
        : this.#nodes;
    const shown = new Set(told);
    return { links: this.#links.filter((node) => !shown.has(node)) };
  }

  /** True where the walk goes on beneath. */
  #meets(node: Node, progress: Progress): boolean {
    const { glob } = this.#question;
    const accepted = glob.accepts(progress);
    const leads = glob.leadsOn(progress);
    if (!accepted && !leads) return false;
    const type = this.#view.tree.type(node);
    if (type === "link") this.#links.push(node);
    this.#addGaps(node);
    if (accepted) this.#accept(node);
    if (type === "link" && leads) this.#addLinkGap(node, accepted);
    return type === "directory" && leads;
  }

  #accept(node: Node): void {
    if (this.#question.extent === "delta") this.#acceptDelta(node);
    else this.#acceptCandidate(node);
  }

  #acceptCandidate(node: Node): void {
    const { tree } = this.#view;
    const type = tree.type(node);
    if (this.#question.match === "exact" && type !== "file" && type !== "link")
      this.#gaps.push(this.#gap("not_a_file", node, `it is a ${type.replace("_", " ")}`));
    if (type === "directory" || !tree.has(node, FLAG.stat)) return;
    if (type === "link") this.#addEndGap(node);
    this.#sort(node, changeAt(this.#view, node).change !== "unchanged");
  }

  /** An exact location is shown also where the run left it alone. */
  #sort(node: Node, changed: boolean): void {
    if (this.#view.outside.has(node)) this.#outside += 1;
    else if (changed || this.#question.match === "exact") this.#nodes.push(node);
    else if (this.#view.tree.type(node) === "file") this.#unchanged += 1;
  }

  #acceptDelta(node: Node): void {
    const changed = this.#view.changes.of(node) !== "unchanged";
    if (this.#view.outside.has(node)) this.#outside += 1;
    else if (changed) this.#nodes.push(node);
    else if (this.#view.tree.type(node) === "file") this.#unchanged += 1;
  }

  /** What a link leads to could hold content: where it was not read, that is a gap. */
  #addEndGap(node: Node): void {
    const end = endOf(this.#view, node);
    switch (end?.kind) {
      case "outside":
        this.#gaps.push(this.#gap("link_outside_root", node));
        return;
      case "dangling":
        this.#gaps.push(this.#gap("dangling_link", node, end.detail));
        return;
      case "unseen":
        this.#gaps.push(
          this.#gap("link_not_followed", node, "its target lies where nothing was listed"),
        );
        return;
      case "inside":
      case undefined:
    }
  }

  /**
   * A link to a directory is not descended into: what lies there counts under its own name, where the pattern covers that.
   * What stands at the link's own location is told by `#addEndGap`.
   */
  #addLinkGap(node: Node, accepted: boolean): void {
    const end = endOf(this.#view, node);
    if (end === undefined) return;
    if (end.kind === "inside") {
      const isDirectory = this.#view.tree.type(end.node) === "directory";
      if (isDirectory && !this.#covers(end.node))
        this.#gaps.push(this.#gap("link_not_followed", node));
      return;
    }
    if (accepted) return;
    if (end.kind === "outside") this.#gaps.push(this.#gap("link_outside_root", node));
    else if (end.kind === "unseen" || end.detail !== "ENOENT")
      this.#gaps.push(this.#gap("link_not_followed", node));
  }

  #covers(directory: Node): boolean {
    const { glob } = this.#question;
    const progress = glob.reach(this.#view.tree.segments(directory));
    return glob.coversBeneath(progress);
  }

  #addGaps(node: Node): void {
    for (const each of this.#view.gapsAt.get(node) ?? [])
      this.#gaps.push(this.#gap(each.code, node, each.detail));
  }

  /** What stood in a directory that could not be listed before may be gone. Where it still cannot be, that is told already. */
  #addGapsBefore(): void {
    const { before, tree } = this.#view;
    if (before === undefined || this.#question.extent !== "delta") return;
    for (const { node, code } of before.gaps) {
      if (!before.tree.has(node, FLAG.unlisted)) continue;
      const now = tree.find(before.tree.path(node));
      if (now !== undefined && tree.has(now, FLAG.unlisted)) continue;
      const { glob } = this.#question;
      if (glob.leadsOn(glob.reach(before.tree.segments(node))))
        this.#gaps.push(
          gap("baseline_partial", uriOf(this.#view, before.tree, node), { detail: code }),
        );
    }
  }

  #gap(code: GapCode, node: Node, detail?: string): Gap {
    return gap(
      code,
      uriOf(this.#view, this.#view.tree, node),
      detail === undefined ? {} : { detail },
    );
  }

  #deleted(): Node[] {
    const { before, changes } = this.#view;
    if (before === undefined) return [];
    const { tree } = before;
    const found: Node[] = [];
    for (const node of changes.deleted) {
      if (
        this.#question.extent === "candidates" &&
        tree.type(node) === "directory" &&
        this.#question.match !== "exact"
      )
        continue;
      if (this.#question.glob.matches(uriOf(this.#view, tree, node))) found.push(node);
    }
    return found;
  }
}
