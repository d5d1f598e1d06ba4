import { z } from "zod";
import { LocatorText } from "./locator.ts";
import { Matcher } from "./matcher.ts";
import { defineKinds } from "./registry.ts";
import { Cell } from "./row.ts";
import { Match } from "./scorable.ts";
import { CallOutcome } from "./tool-call.ts";

/** "existential": one witness settles it. "universal": one counterexample does. "exact": both sides need proof. */
export const Polarity = z.enum(["existential", "universal", "exact"]);
export type Polarity = z.infer<typeof Polarity>;

/** Something that matches was put at a location by the run, and was not there before. */
export const ContentWritten = z
  .strictObject({
    kind: z.literal("content_written"),
    uri: LocatorText,
    match: Match.default("exact"),
    matcher: Matcher.optional(),
  })
  .readonly();
export type ContentWritten = z.infer<typeof ContentWritten>;

/** Something that was at a location before the run is gone. */
export const ContentRemoved = z
  .strictObject({
    kind: z.literal("content_removed"),
    uri: LocatorText,
    match: Match.default("exact"),
  })
  .readonly();
export type ContentRemoved = z.infer<typeof ContentRemoved>;

/** The run changed what is allowed, and nothing else. `@noise` stands for a named list that is printed and counted. */
export const ChangedOnly = z
  .strictObject({
    kind: z.literal("changed_only"),
    allow: z.array(z.union([z.literal("@noise"), LocatorText])).readonly(),
  })
  .readonly();
export type ChangedOnly = z.infer<typeof ChangedOnly>;

const cells = z
  .record(z.string().min(1), Cell)
  .readonly()
  .refine((given) => Object.keys(given).length > 0, "name at least one column");
const rowCount = z.int().min(0);

/**
 * So many rows of a table were inserted, updated or deleted by the run; at least one where no count is given. `where` must hold
 * of the row before or after, `before` and `after` of the side that they name. A row rewritten with equal values did not change.
 */
export const RowsChanged = z
  .strictObject({
    kind: z.literal("rows_changed"),
    uri: LocatorText,
    change: z.enum(["inserted", "updated", "deleted"]).optional(),
    where: cells.optional(),
    before: cells.optional(),
    after: cells.optional(),
    count: rowCount.optional(),
    atLeast: rowCount.optional(),
    atMost: rowCount.optional(),
  })
  .readonly()
  .refine(
    ({ count, atLeast, atMost }) =>
      count === undefined || (atLeast === undefined && atMost === undefined),
    "either count, or atLeast and atMost",
  )
  .refine(
    ({ atLeast, atMost }) => atLeast === undefined || atMost === undefined || atLeast <= atMost,
    "atLeast is above atMost",
  )
  .refine(
    ({ change, before }) => change !== "inserted" || before === undefined,
    "an inserted row has no before",
  )
  .refine(
    ({ change, after }) => change !== "deleted" || after === undefined,
    "a deleted row has no after",
  );
export type RowsChanged = z.infer<typeof RowsChanged>;

const callCount = z.int().min(0).max(1_000_000);

/**
 * Calls of one tool: each named argument equal, others may stand beside; without an outcome every attempt counts. At least one
 * where no count is given, and exactly one where the order is exact.
 */
export const CallRequirement = z
  .strictObject({
    name: z.string().min(1),
    arguments: z.record(z.string(), z.json()).readonly().optional(),
    outcome: CallOutcome.optional(),
    count: callCount.optional(),
    atLeast: callCount.optional(),
    atMost: callCount.optional(),
  })
  .readonly()
  .refine(
    ({ count, atLeast, atMost }) =>
      count === undefined || (atLeast === undefined && atMost === undefined),
    "either count, or atLeast and atMost",
  )
  .refine(
    ({ atLeast, atMost }) => atLeast === undefined || atMost === undefined || atLeast <= atMost,
    "atLeast is above atMost",
  );
export type CallRequirement = z.infer<typeof CallRequirement>;

/**
 * Tools were called. "any": so many calls of each, in whatever order. "in_order": and the required calls stand in this order,
 * others between them. "exact": these calls in this order, and no other call at all.
 */
export const ToolsCalled = z
  .strictObject({
    kind: z.literal("tools_called"),
    requirements: z.array(CallRequirement).min(1).max(100).readonly(),
    order: z.enum(["any", "in_order", "exact"]).default("any"),
  })
  .readonly();
export type ToolsCalled = z.infer<typeof ToolsCalled>;

/** A message of the conversation matches. */
export const Said = z
  .strictObject({
    kind: z.literal("said"),
    matcher: Matcher,
    role: z.enum(["user", "assistant", "system", "tool"]).optional(),
  })
  .readonly();
export type Said = z.infer<typeof Said>;

/** What no code can settle: the objective was met, in the eyes of a judge. */
export const ObjectiveMet = z
  .strictObject({ kind: z.literal("objective_met"), objective: z.string().min(1).optional() })
  .readonly();
export type ObjectiveMet = z.infer<typeof ObjectiveMet>;

type Parts = readonly [Condition, ...Condition[]];

const parts: z.ZodType<Parts> = z.lazy(() => z.tuple([Condition], Condition).readonly());
const part: z.ZodType<Condition> = z.lazy(() => Condition);

/** Every part holds. */
export const All = z.strictObject({ kind: z.literal("all"), of: parts }).readonly();
/** At least one part holds. */
export const Any = z.strictObject({ kind: z.literal("any"), of: parts }).readonly();
/** The part does not hold. */
export const Not = z.strictObject({ kind: z.literal("not"), of: part }).readonly();
/** More than half of the parts hold. */
export const Majority = z.strictObject({ kind: z.literal("majority"), of: parts }).readonly();

export type Composite =
  | { readonly kind: "all" | "any" | "majority"; readonly of: Parts }
  | { readonly kind: "not"; readonly of: Condition };

export type LeafCondition =
  | ContentWritten
  | ContentRemoved
  | RowsChanged
  | ChangedOnly
  | ToolsCalled
  | Said
  | ObjectiveMet;

/** What is looked for. Neutral: whether it is wished for stands outside. */
export type Condition = LeafCondition | Composite;

export const Condition: z.ZodType<Condition> = z.discriminatedUnion("kind", [
  ContentWritten,
  ContentRemoved,
  RowsChanged,
  ChangedOnly,
  ToolsCalled,
  Said,
  ObjectiveMet,
  All,
  Any,
  Not,
  Majority,
]);

/** The kinds of conditions, each with its polarity. A composite takes that of its parts. */
export const conditionKinds = defineKinds("condition", [
  { kind: "content_written", schema: ContentWritten, polarity: "existential" as Polarity },
  { kind: "content_removed", schema: ContentRemoved, polarity: "existential" as Polarity },
  // By its counts: at least is existential, at most universal; a count is both.
  { kind: "rows_changed", schema: RowsChanged, polarity: "exact" as Polarity },
  { kind: "changed_only", schema: ChangedOnly, polarity: "universal" as Polarity },
  // By its counts and its order, see polarityOfCalls.
  { kind: "tools_called", schema: ToolsCalled, polarity: "exact" as Polarity },
  { kind: "said", schema: Said, polarity: "existential" as Polarity },
  { kind: "objective_met", schema: ObjectiveMet, polarity: "existential" as Polarity },
]);

/** At least so many is existential, at most universal, and a count or an exact order both. */
export function polarityOfCalls({ requirements, order }: ToolsCalled): Polarity {
  const isExistential = requirements.every(
    ({ count, atMost }) => count === undefined && atMost === undefined,
  );
  if (order !== "exact" && isExistential) return "existential";
  const isUniversal = requirements.every(
    ({ count, atLeast = 0, atMost }) =>
      count === undefined && atLeast === 0 && atMost !== undefined,
  );
  return order === "any" && isUniversal ? "universal" : "exact";
}

/** True for a condition made of others. */
export function isComposite(condition: Condition): condition is Composite {
  return "of" in condition;
}

/** The conditions at the leaves, in order. */
export function leavesOf(condition: Condition): readonly LeafCondition[] {
  if (!isComposite(condition)) return [condition];
  return condition.kind === "not" ? leavesOf(condition.of) : condition.of.flatMap(leavesOf);
}
