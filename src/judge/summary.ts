import type { ClaimJudgment } from "./judge-bundle.ts";
import type { Asking, Judgment } from "./judgment.ts";

/** How claims came out. What no judge decided is kept apart from what one could not tell. */
export interface JudgingCounts {
  readonly claims: number;
  readonly upheld: number;
  readonly refuted: number;
  /** A judge answered, and the answer settles nothing. */
  readonly undecided: number;
  /** Not put to a judge: a kind of evidence is missing. */
  readonly insufficient: number;
  /** The judge failed. */
  readonly failed: number;
  /** Left when the budget was spent. */
  readonly unaffordable: number;
}

/** What all questions took, each counted once. */
export interface JudgingCost {
  readonly questions: number;
  readonly attempts: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Null where no price was given for any. */
  readonly costUsd: number | null;
}

/** Counts what claims came to. */
export function judgingCounts(judged: readonly ClaimJudgment[]): JudgingCounts {
  const of = (fate: Exclude<keyof JudgingCounts, "claims">): number =>
    judged.filter(({ judgment }) => fateOf(judgment) === fate).length;
  return {
    claims: judged.length,
    upheld: of("upheld"),
    refuted: of("refuted"),
    undecided: of("undecided"),
    insufficient: of("insufficient"),
    failed: of("failed"),
    unaffordable: of("unaffordable"),
  };
}

/** What became of one claim. */
export function fateOf(judgment: Judgment | undefined): Exclude<keyof JudgingCounts, "claims"> {
  if (judgment === undefined) return "unaffordable";
  if (judgment.verdict.value !== "undetermined") return judgment.verdict.value;
  switch (judgment.outcome.kind) {
    case "answered":
      return "undecided";
    case "not_asked":
      return "insufficient";
    case "failed":
      return "failed";
    case "panel":
      return fateOfPanel(judgment.outcome.members);
  }
}

/** A panel failed where a member did and no verdict stands: with its vote there might be one. */
function fateOfPanel(
  members: Extract<Judgment["outcome"], { kind: "panel" }>["members"],
): "failed" | "insufficient" | "undecided" {
  if (members.some(({ outcome }) => outcome === "failed")) return "failed";
  return members.every(({ outcome }) => outcome === "not_asked") ? "insufficient" : "undecided";
}

/** Sums what was newly asked; the judgments of one question share it. */
export function judgingCost(judgments: readonly Judgment[]): JudgingCost {
  const askings = new Map<string, Asking>();
  for (const { asking } of judgments) if (asking !== undefined) askings.set(asking.id, asking);
  const all = [...askings.values()];
  const sum = (of: (asking: Asking) => number | undefined): number =>
    all.reduce((total, asking) => total + (of(asking) ?? 0), 0);
  return {
    questions: all.length,
    attempts: sum(({ attempts }) => attempts),
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    costUsd: all.some(({ costUsd }) => costUsd !== undefined)
      ? sum(({ costUsd }) => costUsd)
      : null,
  };
}
