import type { ToolsCalled } from "../core/condition.ts";
import { gap, nonEmpty, type Gap } from "../core/gap.ts";
import type { Observation } from "../core/observation.ts";
import type { Decision, Scorer } from "../core/scorer.ts";
import { refuted, undetermined, upheld, type EntryRef, type Verdict } from "../core/verdict.ts";
import {
  certainlyExact,
  certainlyInOrder,
  possiblyExact,
  possiblyInOrder,
  type Span,
} from "./call-order.ts";
import {
  callsOf,
  matchingIn,
  spanOf,
  tableOf,
  viewsOf,
  type CallView,
  type MatchedCall,
} from "./call-view.ts";
import { decided } from "./rationale.ts";
import { refOfCall, tellAsked, tellAttempts, tellRecorders } from "./tell-calls.ts";

/**
 * Decides whether tools were called: so many times, with these arguments, this outcome, in this order. A witness settles that
 * something was called even where the record has holes; that it was not needs a recorder that brought every call.
 */
export const toolsCalled: Scorer<ToolsCalled> = {
  kind: "tools_called",
  identifier: () => ({ name: "tools_called", version: "1", parameters: {}, children: [] }),
  needs: (_, context) => (context.calls === undefined ? [] : [{ scorable: context.calls }]),
  decide: (condition, [observation]) => decide(condition, observation),
};

type Held = "yes" | "no" | "open";

/** One requirement over all views. `fewest` and `most`: how many calls of it there were, as far as that is known. */
interface CountedRequirement {
  readonly span: Span;
  readonly fewest: readonly MatchedCall[];
  readonly most: number;
  readonly held: Held;
}

interface Evidence {
  readonly condition: ToolsCalled;
  readonly views: readonly CallView[];
  readonly spans: readonly Span[];
  readonly counted: readonly CountedRequirement[];
  /** Whether some recorder brought every call, and no other can have seen more than it. */
  readonly isWhole: boolean;
  readonly isContradicted: boolean;
}

function decide(condition: ToolsCalled, observation: Observation | undefined): Decision {
  const asked = tellAsked(condition);
  const missing = gap("evidence_kind_missing", "calls:/", {
    detail: "no tool calls were recorded",
  });
  if (observation === undefined) return decided(undetermined([missing]), [asked]);
  const views = viewsOf(condition, observation);
  if (views.length === 0) return decided(undetermined([missing]), [asked]);
  const evidence = evidenceOf(condition, views);
  const refs = (calls: readonly MatchedCall[]): readonly EntryRef[] =>
    calls.map(({ call }) => refOfCall(call, observation.id));
  const verdict = verdictOf(evidence, refs);
  return decided(verdict, [
    tellResult(verdict),
    asked,
    tellAttempts(condition, views),
    ...tellRecorders(observation.payload),
  ]);
}

function evidenceOf(condition: ToolsCalled, views: readonly CallView[]): Evidence {
  const spans = condition.requirements.map((requirement) => spanOf(requirement, condition.order));
  const sums = spans.map((span, index) => {
    const ofViews = views.map((view) => ({
      view,
      sure: matchingIn(view, index, ["yes"]),
      perhaps: matchingIn(view, index, ["yes", "maybe"]).length,
    }));
    const fewest = ofViews.reduce<readonly MatchedCall[]>(
      (best, { sure }) => (sure.length > best.length ? sure : best),
      [],
    );
    const most = Math.max(...ofViews.map(({ perhaps }) => perhaps));
    const isContradicted = ofViews.some(
      ({ view, perhaps }) => view.claimsAll && perhaps < fewest.length,
    );
    // Of calls that may be asked for, such a recorder may turn out to have fewer than another.
    const mayBeContradicted = ofViews.some(
      (own) =>
        own.view.claimsAll &&
        ofViews.some((other) => other !== own && own.sure.length < other.perhaps),
    );
    return { span, fewest, most, isContradicted, mayBeContradicted };
  });
  const isContradicted = sums.some((sum) => sum.isContradicted);
  const mayBeContradicted = sums.some((sum) => sum.mayBeContradicted);
  const isWhole = views.some((view) => view.isComplete) && !mayBeContradicted;
  const counted = sums.map((sum) => ({ ...sum, held: heldOf(sum, isWhole) }));
  return { condition, views, spans, counted, isWhole, isContradicted };
}

function heldOf(
  { span, fewest, most }: Pick<CountedRequirement, "span" | "fewest" | "most">,
  isWhole: boolean,
): Held {
  if (fewest.length > span.most) return "no";
  if (isWhole && most < span.least) return "no";
  const isEnough = fewest.length >= span.least;
  const isNotTooMuch = span.most === Number.POSITIVE_INFINITY || (isWhole && most <= span.most);
  return isEnough && isNotTooMuch ? "yes" : "open";
}

type Refs = (calls: readonly MatchedCall[]) => readonly EntryRef[];

function verdictOf(evidence: Evidence, refs: Refs): Verdict {
  if (evidence.condition.order === "exact") return exactVerdict(evidence, refs);
  const { counted } = evidence;
  if (counted.some(({ held }) => held === "no")) {
    const tooMany = counted.filter(({ span, fewest }) => fewest.length > span.most);
    return refuted(refs(tooMany.flatMap(({ fewest }) => fewest)));
  }
  const inOrder = evidence.condition.order === "any" ? "yes" : orderHeld(evidence);
  if (inOrder === "no") return refuted(refs(counted.flatMap(({ fewest }) => fewest)));
  if (inOrder === "yes" && counted.every(({ held }) => held === "yes"))
    return upheld(refs(counted.flatMap(({ fewest }) => fewest)));
  return open(evidence);
}

function orderHeld({ views, spans, isWhole }: Evidence): Held {
  const tables = views.map(tableOf);
  if (tables.some((table) => certainlyInOrder(spans, table))) return "yes";
  return isWhole && !tables.some((table) => possiblyInOrder(spans, table)) ? "no" : "open";
}

function exactVerdict(evidence: Evidence, refs: Refs): Verdict {
  const { views, spans, isWhole } = evidence;
  const broken = views.find((view) => !possiblyExact(spans, tableOf(view), true));
  if (broken !== undefined) return refuted(refs(outOfPlace(broken)));
  const whole = views.filter((view) => view.claimsAll);
  if (isWhole && whole.every((view) => certainlyExact(spans, tableOf(view)))) {
    const [first] = whole;
    return upheld(first === undefined ? [] : refs(callsOf(first)));
  }
  if (isWhole && whole.every((view) => !possiblyExact(spans, tableOf(view), false)))
    return refuted([]);
  return open(evidence);
}

/** The calls that nothing asks for, or else all of them: together they cannot be in the order. */
function outOfPlace(view: CallView): readonly MatchedCall[] {
  const calls = callsOf(view);
  const unasked = calls.filter(({ matches }) => matches.every(({ value }) => value === "no"));
  return unasked.length === 0 ? calls : unasked;
}

function open({ condition, views, counted, isContradicted }: Evidence): Verdict {
  const isOpen = (index: number): boolean =>
    condition.order !== "any" || counted[index]?.held === "open";
  const ofCalls = views.flatMap((view) =>
    callsOf(view).flatMap(({ matches }) =>
      matches.flatMap((match, index) =>
        match.value === "maybe" && isOpen(index) ? match.gaps : [],
      ),
    ),
  );
  const ofViews = views.some((view) => view.isComplete) ? [] : views.flatMap(({ gaps }) => gaps);
  const contradicted = isContradicted
    ? [
        gap("calls_contradictory", "calls:/", {
          detail: "a recorder that should have brought every call lacks one that another saw",
        }),
      ]
    : [];
  const gaps: readonly Gap[] = [...contradicted, ...ofCalls, ...ofViews];
  return undetermined(nonEmpty(gaps) ?? [orderUnknown()]);
}

function orderUnknown(): Gap {
  return gap("trace_incomplete", "calls:/", {
    detail: "in which order the calls came is not known",
    remedy: "Record the calls with one recorder that keeps their order.",
  });
}

function tellResult(verdict: Verdict): string {
  switch (verdict.value) {
    case "upheld":
      return verdict.total === 0
        ? "Every call is known, and none is against it"
        : `Settled by ${verdict.total} of the calls`;
    case "refuted":
      return verdict.total === 0
        ? "Every call is known, and it does not hold of them"
        : `${verdict.total} of the calls are against it`;
    case "undetermined":
      return "The calls that are known do not settle it";
  }
}
