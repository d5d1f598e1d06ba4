import { foldGaps, gap, type Gap, type GapCode } from "../../core/gap.ts";
import type { Limits } from "../../core/limits.ts";
import type { Matcher } from "../../core/matcher.ts";
import type { AttributionMethod } from "../../core/observation.ts";
import type { ConfinedRoot } from "./confined.ts";
import { diff } from "./diff.ts";
import { NO_ITEM, planEvidence, type EvidencePlan, type Wish } from "./evidence-plan.ts";
import { resolveLink } from "./link.ts";
import { FLAG, ROOT, type Manifest, type Node } from "./manifest.ts";
import { layerOf } from "./overlay.ts";
import { Budget, type Meter } from "./meter.ts";
import { proberOf } from "./probe.ts";
import type { ReadingList } from "./reading-list.ts";
import { readAll } from "./reading-team.ts";
import type { SecondThread } from "./second-thread.ts";
import { select, type Question, type Selection } from "./select.ts";
import { isSmall, readSnapshot, type Snapshot, type SnapshotOptions } from "./snapshot.ts";
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
  /** What looks unchanged is read again also where its times are proof. */
  readonly readsAgain: boolean;
  /** Nothing is read of a file that has several names. */
  readonly strict: boolean;
  readonly second?: SecondThread | undefined;
}

/** All that was seen, and what each request gets of it. */
export interface Look {
  readonly list: ReadingList;
  readonly answers: readonly Answer[];
}

/** What one scorable's evidence is made of. */
export interface Answer {
  readonly view: View;
  readonly plan: EvidencePlan;
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
export function observeRoot(context: ObserveContext, requests: readonly Request[]): Look {
  const walked = walkFor(context, requests);
  const { before } = context;
  if (before === undefined)
    return look(walked.tree, (request) => windowView(context, walked, request), context, requests);
  const view = baselineView(context, walked, before);
  return look(walked.tree, () => view, context, requests);
}

/** Answers all requests from what a run wrote in an overlay. `upper` holds what was written, the root what was before. */
export function observeOverlay(
  context: Omit<ObserveContext, "before"> & { readonly upper: ConfinedRoot },
  writeSet: Pick<WriteSet, "entries" | "unlisted" | "limitReached">,
  snapshotOptions: Omit<SnapshotOptions, "meter" | "limits">,
  requests: readonly Request[],
): Look {
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
    // The run saw both layers where the root lies: an absolute link of its own says so.
    realPath: lower.realPath,
    method: "exact",
  };
  return look(after.tree, () => view, base, requests);
}

/** Only where the patterns lead, unless the whole root is asked for or a link leads elsewhere. */
function walkFor(context: ObserveContext, requests: readonly Request[]): Walk {
  const delta = requests.some((request) => request.extent === "delta");
  const listing = new Budget((delta ? context.deltaLimits : context.limits).maxListedEntries);
  const { confined, meter, second } = context;
  if (delta) return walk(confined, { meter, listing, second });
  const globs = requests.map((request) => request.glob);
  const first = walk(confined, { meter, listing, globs });
  return leadsElsewhere(first, context) ? walk(confined, { meter, listing, second }) : first;
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
    readsAgain: context.readsAgain || isSmall(before.tree),
    second: context.second,
  });
  return {
    name: context.name,
    realPath: context.confined.realPath,
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
    realPath: context.confined.realPath,
    tree: walked.tree,
    changes,
    method: request.window === undefined ? "none" : "window",
    outside,
    gapsAt: gapsByNode(walked.gaps),
  };
}

function look(
  tree: Manifest,
  viewFor: (request: Request) => View,
  context: ObserveContext,
  requests: readonly Request[],
): Look {
  const asked = requests.map((request) => askedOf(viewFor(request), request, context));
  const { list, plannedBytes, plans } = planEvidence(asked.map(({ wish }) => wish));
  const { confined, meter, second } = context;
  const place = { confined, tree, meter, prober: proberOf(list.probes) };
  readAll(list, place, plannedBytes, second);
  const { listed } = meter.touched;
  const answers = asked.flatMap(({ wish, rest }, at) => {
    const plan = plans[at];
    return plan === undefined
      ? []
      : [{ view: wish.view, plan, ...rest, listed, readBytes: readBytes(plan, list, wish.view) }];
  });
  return { list, answers };
}

interface Asked {
  readonly wish: Wish;
  readonly rest: Omit<Answer, "view" | "plan" | "listed" | "readBytes">;
}

function askedOf(view: View, request: Request, context: ObserveContext): Asked {
  const limits = request.extent === "delta" ? context.deltaLimits : context.limits;
  const selection = select(view, request);
  const ordered = orderOf(view, selection.nodes);
  const kept = ordered.slice(0, limits.maxFiles);
  const deleted = selection.deleted.slice(0, limits.maxFiles - kept.length);
  const total = ordered.length + selection.deleted.length;
  const shown = kept.length + deleted.length;
  const maxContentBytes =
    request.extent === "delta"
      ? Math.min(limits.maxContentBytes, limits.maxPriorFileBytes)
      : limits.maxContentBytes;
  return {
    wish: {
      view,
      extent: request.extent,
      limits,
      strict: context.strict,
      maxContentBytes,
      probes: request.probes,
      kept,
      deleted,
    },
    rest: {
      gaps: foldGaps(gapsOf(view, request, selection, { shown, total })),
      method: view.method,
      shown,
      total,
      ...(countsUnchanged(view) ? { unchanged: selection.unchanged } : {}),
      outsideScope: selection.outsideScope,
      ...(selection.links === undefined
        ? {}
        : { links: selection.links.map((node) => uriOf(view, view.tree, node)).toSorted() }),
    },
  };
}

function gapsOf(
  view: View,
  request: Request,
  selection: Selection,
  { shown, total }: { readonly shown: number; readonly total: number },
): Gap[] {
  return [
    ...selection.gaps,
    ...deltaGaps(view, request),
    ...goneGaps(view, request),
    ...limitGap(request.uri, shown, total),
  ];
}

/** What a request is charged: every byte that was read for it, also where another one wanted it too. */
function readBytes({ items }: EvidencePlan, list: ReadingList, { tree }: View): number {
  return items.reduce((sum, item) => {
    if (item === NO_ITEM) return sum;
    return sum + (list.miss(item)?.readBytes ?? tree.sizes.get(list.node(item)));
  }, 0);
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
