import type { SurfaceEntry } from "../../core/entry.ts";
import { foldGaps, gap, type Gap, type GapCode } from "../../core/gap.ts";
import type { Limits } from "../../core/limits.ts";
import type { Matcher } from "../../core/matcher.ts";
import type { AttributionMethod } from "../../core/observation.ts";
import type { ConfinedRoot } from "./confined.ts";
import { Descent } from "./descent.ts";
import { diff } from "./diff.ts";
import { EntryBuilder } from "./entries.ts";
import { resolveLink } from "./link.ts";
import { FLAG, ROOT, type Node } from "./manifest.ts";
import { layerOf } from "./overlay.ts";
import { Budget, type Meter } from "./meter.ts";
import { FileReader } from "./read-file.ts";
import { select, type Question } from "./select.ts";
import { readSnapshot, type Snapshot, type SnapshotOptions } from "./snapshot.ts";
import { gapsByNode, uriOf, type View } from "./view.ts";
import type { PlaceGap, Walk } from "./place-gap.ts";
import { walk } from "./walk.ts";
import { readWindow, type Span } from "./window.ts";
import { writtenTree, type WriteSet } from "./write-set.ts";

/** One scorable, as this source answers it. */
export interface Request extends Question {
  readonly uri: string;
  readonly probes: readonly Matcher[];
  readonly window?: Span;
  /** Keys of its scope that would narrow the evidence and that no file shows. */
  readonly notApplied: readonly GapCode[];
}

export interface ObserveContext {
  readonly name: string;
  readonly confined: ConfinedRoot;
  readonly before?: Snapshot;
  readonly meter: Meter;
  readonly limits: Limits;
  readonly deltaLimits: Limits;
}

/** What one scorable's evidence is made of. */
export interface Answer {
  readonly entries: readonly SurfaceEntry[];
  readonly gaps: readonly Gap[];
  readonly method: AttributionMethod;
  readonly listed: number;
  readonly readBytes: number;
  readonly shown: number;
  readonly total: number;
  readonly unchanged?: number;
  readonly outsideScope: number;
  readonly links?: readonly string[];
}

/** Answers all requests from one walk of the root. */
export function observeRoot(context: ObserveContext, requests: readonly Request[]): Answer[] {
  const walked = walkFor(context, requests);
  if (context.before === undefined)
    return requests.map((request) =>
      answer(windowView(context, walked, request), request, context),
    );
  const view = baselineView(context, walked, context.before);
  return requests.map((request) => answer(view, request, context));
}

/** Answers all requests from what a run wrote in an overlay. `upper` holds what was written, the root what was before. */
export function observeOverlay(
  context: Omit<ObserveContext, "before"> & { readonly upper: ConfinedRoot },
  writeSet: Pick<WriteSet, "entries" | "unlisted" | "limitReached">,
  snapshotOptions: Omit<SnapshotOptions, "meter" | "limits">,
  requests: readonly Request[],
): Answer[] {
  const { meter, deltaLimits: limits, confined: lower, upper } = context;
  const listing = new Budget(limits.maxListedEntries);
  const written = writtenTree(writeSet);
  const after = layerOf(upper, "upper", written, { meter, listing });
  const was = layerOf(lower, "lower", written, { meter, listing });
  const before = readSnapshot(lower, was, { ...snapshotOptions, meter, limits });
  const cut: PlaceGap[] = writeSet.limitReached
    ? [{ node: ROOT, code: "listing_limit_exceeded", detail: "of what the run wrote" }]
    : [];
  const gaps = [...after.gaps, ...cut];
  const base = { ...context, confined: upper, before };
  const view: View = {
    ...baselineView(base, { tree: after.tree, gaps }, before),
    method: "exact",
  };
  return requests.map((request) => answer(view, request, base));
}

/** Only where the patterns lead, unless the whole root is asked for or a link leads elsewhere. */
function walkFor(context: ObserveContext, requests: readonly Request[]): Walk {
  const delta = requests.some((request) => request.extent === "delta");
  const listing = new Budget((delta ? context.deltaLimits : context.limits).maxListedEntries);
  if (delta) return walk(context.confined, { meter: context.meter, listing });
  const globs = requests.map((request) => request.glob);
  const first = walk(context.confined, { meter: context.meter, listing, globs });
  return leadsElsewhere(first, context)
    ? walk(context.confined, { meter: context.meter, listing })
    : first;
}

function leadsElsewhere({ tree }: Walk, { confined }: ObserveContext): boolean {
  for (const link of tree.targets.keys()) {
    const end = resolveLink(tree, link, confined.realPath);
    if (end.kind === "unseen" && !tree.has(end.node, FLAG.unlisted)) return true;
    if (end.kind === "inside" && !tree.has(end.node, FLAG.stat)) return true;
  }
  return false;
}

function baselineView(context: ObserveContext, walked: Walk, before: Snapshot): View {
  const changes = diff(context.confined, before, walked, {
    meter: context.meter,
    reading: new Budget(context.deltaLimits.maxReadBytes),
    digesting: new Budget(context.deltaLimits.maxDigestBytes),
  });
  return {
    name: context.name,
    confined: context.confined,
    tree: walked.tree,
    changes,
    method: changes.byTimesAlone > 0 ? "baseline (stat)" : "baseline",
    before,
    outside: new Set(),
    gapsAt: gapsByNode(walked.gaps),
  };
}

function windowView(context: ObserveContext, walked: Walk, request: Request): View {
  const { changes, outside } = readWindow(walked.tree, request.window, {
    skewNs: BigInt(context.limits.clockSkewMs) * 1_000_000n,
    notApplied: request.notApplied,
    realPath: context.confined.realPath,
  });
  return {
    name: context.name,
    confined: context.confined,
    tree: walked.tree,
    changes,
    method: request.window === undefined ? "none" : "window",
    outside,
    gapsAt: gapsByNode(walked.gaps),
  };
}

function answer(view: View, request: Request, context: ObserveContext): Answer {
  const limits = request.extent === "delta" ? context.deltaLimits : context.limits;
  const selection = select(view, request);
  const ordered = orderOf(view, selection.nodes);
  const kept = ordered.slice(0, limits.maxFiles);
  const deleted = selection.deleted.slice(0, limits.maxFiles - kept.length);
  const total = ordered.length + selection.deleted.length;
  const shown = kept.length + deleted.length;
  const gaps = [
    ...selection.gaps,
    ...deltaGaps(view, request),
    ...goneGaps(view, request),
    ...limitGap(request.uri, shown, total),
  ];
  const before = context.meter.touched.readBytes;
  const entries = buildEntries(view, request, { kept, deleted }, context, limits);
  return {
    entries,
    gaps: foldGaps(gaps),
    method: view.method,
    listed: context.meter.touched.listed,
    readBytes: context.meter.touched.readBytes - before,
    shown,
    total,
    ...(countsUnchanged(view) ? { unchanged: selection.unchanged } : {}),
    outsideScope: selection.outsideScope,
    ...(selection.links === undefined
      ? {}
      : { links: selection.links.map((node) => uriOf(view, view.tree, node)).toSorted() }),
  };
}

function buildEntries(
  view: View,
  request: Request,
  { kept, deleted }: { readonly kept: readonly Node[]; readonly deleted: readonly Node[] },
  context: ObserveContext,
  limits: Limits,
): SurfaceEntry[] {
  const descent = new Descent(view.confined, view.tree);
  try {
    const builder = new EntryBuilder(view, {
      meter: context.meter,
      reading: new Budget(limits.maxReadBytes),
      retaining: new Budget(limits.maxRetainedBytes),
      maxContentBytes:
        request.extent === "delta"
          ? Math.min(limits.maxContentBytes, limits.maxPriorFileBytes)
          : limits.maxContentBytes,
      probes: request.probes,
      descent,
      reader: new FileReader(view.confined),
    });
    const entries = kept.map((node) => builder.present(node));
    const { before } = view;
    if (before !== undefined) entries.push(...deleted.map((node) => builder.deleted(node, before)));
    return entries.toSorted((left, right) =>
      left.uri < right.uri ? -1 : left.uri > right.uri ? 1 : 0,
    );
  } finally {
    descent[Symbol.dispose]();
  }
}

/** What provably came with the run first, then the small: a large decoy cannot starve the target. */
function orderOf(view: View, nodes: readonly Node[]): Node[] {
  const rank = (node: Node): number => (view.changes.of(node) === "unknown" ? 1 : 0);
  return nodes.toSorted(
    (left, right) =>
      rank(left) - rank(right) || view.tree.sizes.get(left) - view.tree.sizes.get(right),
  );
}

/** Without a world before, what was removed or only rewritten cannot be seen. */
function deltaGaps(view: View, request: Request): Gap[] {
  return request.extent === "delta" && view.before === undefined
    ? [gap("baseline_missing", request.uri)]
    : [];
}

/** Of an overlay only what was written is looked at. */
function countsUnchanged({ before, method }: View): boolean {
  return before !== undefined && method !== "exact";
}

/** A directory that could not be listed before the run and is gone: what was in it is not known. */
function goneGaps({ name, before, changes }: View, { glob }: Request): Gap[] {
  if (before === undefined) return [];
  return before.gaps
    .filter(({ node }) => changes.deleted.has(node))
    .filter(({ node }) => glob.leadsOn(glob.reach(before.tree.segments(node))))
    .map(({ node, detail }) =>
      gap(
        "baseline_partial",
        uriOf({ name }, before.tree, node),
        detail === undefined ? {} : { detail },
      ),
    );
}

function limitGap(uri: string, shown: number, total: number): Gap[] {
  if (shown === total) return [];
  const detail = `${shown} of ${total} candidates were read`;
  return [
    gap("file_limit_exceeded", uri, {
      detail,
      count: total - shown,
      remedy: `Raise maxFiles to ${total}.`,
    }),
  ];
}
