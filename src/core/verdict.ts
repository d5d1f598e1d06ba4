import { z } from "zod";
import { Change } from "./change.ts";
import { Gap, foldGaps, gap, nonEmpty, type NonEmpty } from "./gap.ts";
import { ObservationId } from "./ids.ts";

/** Points at the piece of evidence that a verdict rests on. Holds no content. */
export const EntryRef = z
  .object({
    uri: z.string().min(1),
    change: Change.optional(),
    observation: ObservationId.optional(),
    detail: z.string().optional(),
  })
  .readonly();
export type EntryRef = z.infer<typeof EntryRef>;

const refs = z.array(EntryRef).readonly();
const total = z.int().min(0);

/**
 * The three answers. `total` counts the witnesses or counterexamples of which at most `MAX_SHOWN_REFS` are shown;
 * a refutation without counterexamples rests on exhaustion: everything was looked at.
 */
export const Verdict = z.discriminatedUnion("value", [
  z.object({ value: z.literal("upheld"), witnesses: refs, total }).readonly(),
  z.object({ value: z.literal("refuted"), counterexamples: refs, total }).readonly(),
  z.object({ value: z.literal("undetermined"), gaps: z.tuple([Gap], Gap).readonly() }).readonly(),
]);
export type Verdict = z.infer<typeof Verdict>;
export type VerdictValue = Verdict["value"];

/** How many witnesses or counterexamples a verdict shows. */
export const MAX_SHOWN_REFS = 100;

/** Holds: by these witnesses, or by exhaustion where there are none to show (a universal condition). */
export function upheld(
  witnesses: readonly EntryRef[],
  counted: number = witnesses.length,
): Verdict {
  return { value: "upheld", witnesses: witnesses.slice(0, MAX_SHOWN_REFS), total: counted };
}

/** Does not hold: by these counterexamples, or by exhaustion where there are none. */
export function refuted(
  counterexamples: readonly EntryRef[] = [],
  counted: number = counterexamples.length,
): Verdict {
  return {
    value: "refuted",
    counterexamples: counterexamples.slice(0, MAX_SHOWN_REFS),
    total: counted,
  };
}

/** Not known, for these reasons. It cannot be built without one. */
export function undetermined(gaps: NonEmpty<Gap>): Verdict {
  const [first, ...rest] = foldGaps(gaps);
  return { value: "undetermined", gaps: [first ?? gaps[0], ...rest] };
}

/** All hold. One refuted settles it; else any undetermined; none at all is nothing to decide. */
export function all(verdicts: readonly Verdict[]): Verdict {
  const counter = verdicts.filter((verdict) => verdict.value === "refuted");
  if (counter.length > 0) return refutedBy(counter);
  return openOf(verdicts) ?? upheldBy(verdicts);
}

/** At least one holds: the dual of `all`. */
export function any(verdicts: readonly Verdict[]): Verdict {
  const holding = verdicts.filter((verdict) => verdict.value === "upheld");
  if (holding.length > 0) return upheldBy(holding);
  return openOf(verdicts) ?? refutedBy(verdicts);
}

/** Swaps upheld and refuted; what is not known stays so. */
export function not(verdict: Verdict): Verdict {
  switch (verdict.value) {
    case "upheld":
      return { value: "refuted", counterexamples: verdict.witnesses, total: verdict.total };
    case "refuted":
      return { value: "upheld", witnesses: verdict.counterexamples, total: verdict.total };
    case "undetermined":
      return verdict;
  }
}

/** More than half hold. Decided as soon as what is not known cannot change it; a tie is refuted. */
export function majority(verdicts: readonly Verdict[]): Verdict {
  const open = openOf(verdicts);
  if (verdicts.length === 0) return open ?? nothing();
  const holding = verdicts.filter((verdict) => verdict.value === "upheld").length;
  const unknown = verdicts.filter((verdict) => verdict.value === "undetermined").length;
  if (holding * 2 > verdicts.length) return upheldBy(verdicts);
  if ((holding + unknown) * 2 <= verdicts.length) return refutedBy(verdicts);
  return open ?? nothing();
}

function openOf(verdicts: readonly Verdict[]): Verdict | undefined {
  if (verdicts.length === 0) return nothing();
  const gaps = nonEmpty(
    verdicts.flatMap((verdict) => (verdict.value === "undetermined" ? verdict.gaps : [])),
  );
  return gaps === undefined ? undefined : undetermined(gaps);
}

function nothing(): Verdict {
  return undetermined([gap("nothing_to_decide", "composite")]);
}

function upheldBy(verdicts: readonly Verdict[]): Verdict {
  const holding = verdicts.filter((verdict) => verdict.value === "upheld");
  return upheld(
    holding.flatMap((verdict) => verdict.witnesses),
    sum(holding),
  );
}

function refutedBy(verdicts: readonly Verdict[]): Verdict {
  const broken = verdicts.filter((verdict) => verdict.value === "refuted");
  return refuted(
    broken.flatMap((verdict) => verdict.counterexamples),
    sum(broken),
  );
}

function sum(verdicts: readonly { readonly total: number }[]): number {
  return verdicts.reduce((counted, verdict) => counted + verdict.total, 0);
}
