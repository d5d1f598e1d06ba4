import type { GapCode } from "../../core/gap.ts";
import { Changes } from "./changes.ts";
import { resolveLink } from "./link.ts";
import { FLAG, ROOT, type Manifest, type Node } from "./manifest.ts";
import type { ByteName } from "./name.ts";
import { directoriesOf } from "./traverse.ts";

/** A span of the clock, in nanoseconds, closed at both ends. */
export interface Span {
  readonly from: bigint;
  readonly to: bigint;
}

/** What the times of the entries say about a window. */
export interface WindowReading {
  readonly changes: Changes;
  /** Entries that provably lie outside: they and every directory above are older than the window. */
  readonly outside: ReadonlySet<Node>;
}

export interface WindowOptions {
  readonly skewNs: bigint;
  /** Reasons that keep even a birth from counting. */
  readonly notApplied: readonly GapCode[];
  readonly realPath: ByteName;
}

/** A kernel stamps with its last tick. */
const TICK_NS = 20_000_000n;

/**
 * Reads times, which prove little: born inside the window with times that agree is created; older in every time, with every
 * directory above older too, is outside; all else is unknown.
 */
export function readWindow(
  tree: Manifest,
  window: Span | undefined,
  options: WindowOptions,
): WindowReading {
  const { skewNs, notApplied } = options;
  if (window === undefined) return nothingKnown(tree, ["baseline_missing", ...notApplied]);
  const changes = new Changes();
  const outside = new Set<Node>();
  const wide = { from: window.from - skewNs - TICK_NS, to: window.to + skewNs + TICK_NS };
  const recent = new Set<Node>();
  for (const directory of directoriesOf(tree)) {
    const above = directory !== ROOT && recent.has(tree.parents.get(directory));
    if (above || tree.changed.get(directory) >= wide.from) recent.add(directory);
    for (const node of tree.children(directory)) {
      if (!tree.has(node, FLAG.stat)) continue;
      const old = !recent.has(directory) && newestOf(tree, node) < wide.from;
      if (old) outside.add(node);
      else classify(changes, tree, node, { window, wide, notApplied });
    }
  }
  countLinks({ changes, outside }, tree, options);
  return { changes, outside };
}

/** A link that is old itself is not ruled out where a link on its way or the file behind it is not. */
function countLinks(
  { changes, outside }: { readonly changes: Changes; readonly outside: Set<Node> },
  tree: Manifest,
  options: WindowOptions,
): void {
  for (const link of tree.targets.keys()) {
    if (!outside.has(link)) continue;
    const end = resolveLink(tree, link, options.realPath);
    if (end.kind !== "inside" || [...end.via, end.node].every((node) => outside.has(node)))
      continue;
    const born = changes.of(end.node) === "created" && end.via.every((node) => outside.has(node));
    outside.delete(link);
    if (!born) changes.setUnknown(link, ["baseline_missing", ...options.notApplied]);
  }
}

function nothingKnown(tree: Manifest, reasons: readonly GapCode[]): WindowReading {
  const changes = new Changes();
  for (const directory of directoriesOf(tree))
    for (const node of tree.children(directory)) changes.setUnknown(node, reasons);
  return { changes, outside: new Set() };
}

interface Windows {
  readonly window: Span;
  readonly wide: Span;
  readonly notApplied: readonly GapCode[];
}

function classify(
  changes: Changes,
  tree: Manifest,
  node: Node,
  { window, wide, notApplied }: Windows,
): void {
  const agree = timesAgree(tree, node, wide);
  if (agree && bornWithin(tree, node, window) && notApplied.length === 0) {
    changes.set(node, "created");
    return;
  }
  changes.setUnknown(node, [
    "baseline_missing",
    ...(agree ? [] : (["clock_uncertain"] as const)),
    ...notApplied,
  ]);
}

function bornWithin(tree: Manifest, node: Node, window: Span): boolean {
  const born = tree.born.get(node);
  return born !== 0n && born >= window.from && born <= window.to;
}

/** No time lies ahead of the window, and what was born was not modified before that. */
function timesAgree(tree: Manifest, node: Node, wide: Span): boolean {
  const modified = tree.modified.get(node);
  const changed = tree.changed.get(node);
  const born = tree.born.get(node);
  if (modified > wide.to || changed > wide.to || born > wide.to) return false;
  return born === 0n || modified >= born - TICK_NS;
}

function newestOf(tree: Manifest, node: Node): bigint {
  const times = [tree.modified.get(node), tree.changed.get(node), tree.born.get(node)];
  return times.reduce((newest, time) => (time > newest ? time : newest));
}
