import { expect, test } from "vitest";
import { Condition } from "../../src/core/condition.ts";
import type { Gap } from "../../src/core/gap.ts";
import type { Observation } from "../../src/core/observation.ts";
import type { ConditionDecision } from "../../src/scorers/decide.ts";
import { contextOfObservations, replay } from "../../src/scorers/replay.ts";
import { gapAt, observe, type World } from "../worlds/observations.ts";

/** One row, one claim. */
export interface Row {
  readonly claim: string;
  readonly condition: unknown;
  readonly world: Observation | readonly Observation[];
  readonly want: "upheld" | "refuted" | "undetermined";
  /** Codes of the verdict's gaps, all of them. */
  readonly gaps?: readonly Gap["code"][];
  /** Locations of the witnesses or counterexamples, all of them. */
  readonly refs?: readonly string[];
  readonly says?: string;
}

export function decide(row: Row): ConditionDecision {
  const observations = Array.isArray(row.world) ? row.world : [row.world];
  return replay(Condition.parse(row.condition), observations, contextOfObservations(observations));
}

/** A test for each row. */
export function claims(rows: readonly Row[]): void {
  test.each(rows.map((row) => [row.claim, row] as const))("%s", (_, row) => {
    const { verdict, rationale } = decide(row);
    expect(verdict.value, rationale).toBe(row.want);
    const gaps = verdict.value === "undetermined" ? verdict.gaps.map((each) => each.code) : [];
    if (row.gaps !== undefined || row.want !== "undetermined") expect(gaps).toEqual(row.gaps ?? []);
    if (row.refs !== undefined) expect(refsOf(verdict)).toEqual(row.refs);
    if (row.says !== undefined) expect(rationale).toContain(row.says);
  });
}

export function refsOf(verdict: ConditionDecision["verdict"]): readonly string[] {
  switch (verdict.value) {
    case "upheld":
      return verdict.witnesses.map((each) => each.uri);
    case "refuted":
      return verdict.counterexamples.map((each) => each.uri);
    case "undetermined":
      return [];
  }
}

export const at = (path: string): string => `workspace:/${path}`;
export const key = { kind: "contains", value: "key" };
export const anywhere = {
  kind: "content_written",
  uri: "workspace:/**",
  match: "glob",
  matcher: key,
};
export const x = { kind: "content_written", uri: "workspace:/x", matcher: key };
export const somethingWritten = { kind: "content_written", uri: "workspace:/**", match: "glob" };
export const denied = gapAt("listing_failed", at("private"));

/** The delta of the whole workspace. */
export const delta = (world: World = {}): Observation => observe({ extent: "delta", ...world });
