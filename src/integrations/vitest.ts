import type { TestContext } from "vitest";
import type { CallRequirement, RowsChanged } from "../core/condition.ts";
import { Condition } from "../core/condition.ts";
import { UpheldError } from "../core/errors.ts";
import { DEFAULT_ROOT } from "../core/locator.ts";
import type { Matcher } from "../core/matcher.ts";
import type { Verdict } from "../core/verdict.ts";
import { contextOfObservations, replay } from "../scorers/replay.ts";
import { gapText } from "../report/verdict-text.ts";
import { RecordedRun } from "./recorded-run.ts";
import { UNDETERMINED_VARIABLE } from "./undetermined-reporter.ts";

export { recordRun, RecordedRun } from "./recorded-run.ts";
export type { TestedAgent, TestedRun, TestTurn, ToldCall } from "./recorded-run.ts";
export { undeterminedReporter, type UndeterminedReporter } from "./undetermined-reporter.ts";

/** Which rows changed, and how; at least one where no count is given. */
export type ChangedRows = Omit<RowsChanged, "kind" | "uri">;

/** How a tool was called; at least once where no count is given. */
export type CalledHow = Omit<CallRequirement, "name">;

/** The matchers over a recorded run. Places are uris, or paths below `workspace`; patterns may hold `*`, `**` and `{a,b}`. */
export interface UpheldMatchers<R = unknown> {
  /** The run put content at a place that was not there before: something, a text within it, or what a matcher says. */
  toHaveWritten(place: string, content?: string | Matcher): R;
  /** The run changed what lies at these places, and nothing else in any root. */
  toHaveChangedOnly(...places: readonly string[]): R;
  /** The run inserted, updated or deleted rows of a table. */
  toHaveChangedRows(table: string, rows?: ChangedRows): R;
  /** The run called a tool. */
  toHaveCalled(tool: string, how?: CalledHow): R;
}

declare module "vitest" {
  interface Matchers<T> extends UpheldMatchers<T> {}
}

/** What of vitest's state a matcher uses. */
interface MatcherState {
  readonly isNot?: boolean;
  readonly task?: {
    readonly meta: object;
    readonly context: Pick<TestContext, "skip">;
  };
}

interface MatcherResult {
  readonly pass: boolean;
  readonly message: () => string;
}

type MatcherFunction = (
  this: MatcherState,
  received: unknown,
  ...expected: never[]
) => MatcherResult;

/**
 * For `expect.extend`. Each decides as `upheld` does. What is undetermined neither passes nor fails, under `.not` too: the test ends
 * as skipped with the reason where `undeterminedReporter` counts it, else with an error "undetermined".
 */
export const upheldMatchers = {
  toHaveWritten(this: MatcherState, received: unknown, place: string, content?: string | Matcher) {
    const matcher = typeof content === "string" ? { kind: "contains", value: content } : content;
    const condition = { kind: "content_written", ...located(place), ...(matcher && { matcher }) };
    return decide(this, received, { condition, asked: `to have written ${place}` });
  },
  toHaveChangedOnly(this: MatcherState, received: unknown, ...places: readonly string[]) {
    const allow = places.map((place) => (place === "@noise" ? place : uriOf(place)));
    const condition = { kind: "changed_only", allow };
    return decide(this, received, {
      condition,
      asked: `to have changed only ${places.join(", ")}`,
    });
  },
  toHaveChangedRows(this: MatcherState, received: unknown, table: string, rows: ChangedRows = {}) {
    const condition = { ...rows, kind: "rows_changed", uri: table };
    return decide(this, received, { condition, asked: `to have changed rows of ${table}` });
  },
  toHaveCalled(this: MatcherState, received: unknown, tool: string, how: CalledHow = {}) {
    const condition = { kind: "tools_called", requirements: [{ ...how, name: tool }] };
    return decide(this, received, { condition, asked: `to have called ${tool}` });
  },
} satisfies Record<keyof UpheldMatchers, MatcherFunction>;

function decide(
  state: MatcherState,
  received: unknown,
  { condition, asked }: { readonly condition: object; readonly asked: string },
): MatcherResult {
  if (!(received instanceof RecordedRun))
    throw new UpheldError("argument_invalid", "expected what recordRun() of upheld/vitest returns");
  const { deltas, observations, run } = received.record;
  const all = [...deltas, ...observations];
  const { verdict, rationale } = replay(
    Condition.parse(condition),
    all,
    contextOfObservations(all),
  );
  const outcome = run.agent?.outcome.kind ?? "unknown";
  const wish = `expected the run ${state.isNot === true ? "not " : ""}${asked}`;
  const told = `${wish}: ${verdict.value}\n${detailsOf(verdict, rationale)}\nthe agent: ${outcome}`;
  switch (verdict.value) {
    case "upheld":
    case "refuted":
      return { pass: verdict.value === "upheld", message: () => told };
    case "undetermined":
      return leaveOpen(state, told);
  }
}

/** Neither passes nor fails: it does not return. */
function leaveOpen({ task }: MatcherState, told: string): never {
  if (task !== undefined && process.env[UNDETERMINED_VARIABLE] === "skip") {
    const before = "upheldUndetermined" in task.meta ? [task.meta.upheldUndetermined].flat() : [];
    Object.assign(task.meta, { upheldUndetermined: [...before, told] });
    task.context.skip(told);
  }
  throw new UpheldError("undetermined", told);
}

function detailsOf(verdict: Verdict, rationale: string): string {
  switch (verdict.value) {
    case "upheld":
    case "refuted":
      return rationale;
    case "undetermined":
      return verdict.gaps.map((gap) => `${gapText(gap)}: ${gap.remedy}`).join("\n");
  }
}

function located(place: string): { readonly uri: string; readonly match: "exact" | "glob" } {
  return { uri: uriOf(place), match: /[*?[{]/.test(place) ? "glob" : "exact" };
}

function uriOf(place: string): string {
  return /^[\w-]+:\//.test(place) ? place : `${DEFAULT_ROOT}:/${place.replace(/^\.?\/+/, "")}`;
}
