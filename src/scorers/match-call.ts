import { canonicalJson } from "../core/canonical-json.ts";
import type { CallRequirement } from "../core/condition.ts";
import { gap, type Gap } from "../core/gap.ts";
import { holdsMask } from "../core/mask.ts";
import { parseStrictJson } from "../core/strict-json.ts";
import {
  argumentsOf,
  nameOf,
  outcomeOf,
  type CallValue,
  type Settled,
  type Sighting,
  type ToolCall,
} from "../core/tool-call.ts";

/** Whether a call is one that is required: "maybe" with what keeps it from being known. */
export type CallMatch =
  | { readonly value: "yes" }
  | { readonly value: "no" }
  | { readonly value: "maybe"; readonly gaps: readonly Gap[] };

const YES: CallMatch = { value: "yes" };
const NO: CallMatch = { value: "no" };

/** Compares a call with a requirement: name, the named arguments by canonical JSON, outcome. */
export function matchCall(requirement: CallRequirement, call: ToolCall): CallMatch {
  if (!call.sightings.some((each) => mayBeNamed(each, requirement.name))) return NO;
  const name = matchName(requirement, call);
  const parts = [name, matchArguments(requirement, call), matchOutcome(requirement, call)];
  if (parts.some(({ value }) => value === "no")) return NO;
  const gaps = parts.flatMap((part) => (part.value === "maybe" ? part.gaps : []));
  return gaps.length === 0 ? YES : { value: "maybe", gaps };
}

/** A name from which a secret was removed could have been any. */
function mayBeNamed({ name, redacted }: Sighting, wanted: string): boolean {
  return redacted === true || name === wanted;
}

function matchName({ name }: CallRequirement, call: ToolCall): CallMatch {
  if (call.sightings.some(({ redacted }) => redacted === true))
    return maybe(gap("content_redacted", call.uri, { detail: "its name" }));
  return matchSettled(nameOf(call), name, call);
}

function matchSettled(fact: Settled<string>, wanted: string, call: ToolCall): CallMatch {
  switch (fact.kind) {
    case "known":
      return fact.value === wanted ? YES : NO;
    case "not_recorded":
      return maybe(gap("evidence_kind_missing", call.uri));
    case "contradicted":
      return fact.values.includes(wanted)
        ? maybe(gap("calls_contradictory", call.uri, { detail: fact.values.join(", ") }))
        : NO;
  }
}

function matchOutcome({ outcome }: CallRequirement, call: ToolCall): CallMatch {
  if (outcome === undefined) return YES;
  const fact = outcomeOf(call);
  // How a call would have ended of which no end was recorded is not known.
  const isOpen = fact.kind === "known" && fact.value === "unfinished" && outcome !== "unfinished";
  return isOpen ? maybe(gap("span_unfinished", call.uri)) : matchSettled(fact, outcome, call);
}

function matchArguments({ arguments: wanted }: CallRequirement, call: ToolCall): CallMatch {
  if (wanted === undefined || Object.keys(wanted).length === 0) return YES;
  const fact = argumentsOf(call);
  switch (fact.kind) {
    case "known":
      return matchValue(fact.value, wanted, call.uri);
    case "not_recorded":
      return maybe(
        gap("evidence_kind_missing", call.uri, { detail: "the arguments were not recorded" }),
      );
    case "contradicted": {
      const each = fact.values.map((value) => matchValue(value, wanted, call.uri).value);
      return each.every((value) => value === "no")
        ? NO
        : maybe(gap("calls_contradictory", call.uri, { detail: "arguments" }));
    }
  }
}

function matchValue(
  value: CallValue,
  wanted: Readonly<Record<string, unknown>>,
  uri: string,
): CallMatch {
  switch (value.kind) {
    case "json":
      return holdsAll(value, wanted, uri);
    case "text":
      return maybe(
        gap("evidence_kind_missing", uri, { detail: "the arguments were recorded as plain text" }),
      );
    case "cut":
      return maybe(gap("call_truncated", uri, { detail: "arguments" }));
  }
}

function holdsAll(
  { text, redacted }: Extract<CallValue, { kind: "json" }>,
  wanted: Readonly<Record<string, unknown>>,
  uri: string,
): CallMatch {
  const value = parseStrictJson(text);
  const isPartlyKnown = redacted === true;
  const hidden = maybe(gap("content_redacted", uri, { detail: "arguments" }));
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return isPartlyKnown && typeof value === "string" && holdsMask(value) ? hidden : NO;
  const given = value as Readonly<Record<string, unknown>>; // a plain object of parsed JSON
  const parts = Object.entries(wanted).map(([name, expected]) => {
    const found = Object.hasOwn(given, name) ? canonicalJson(given[name]) : undefined;
    // An argument that is not there may be the one whose name is masked.
    const told = found ?? Object.keys(given).join(" ");
    if (isPartlyKnown && holdsMask(told)) return hidden;
    return found === canonicalJson(expected) ? YES : NO;
  });
  return parts.find((part) => part.value === "no") ?? parts.find((part) => part !== YES) ?? YES;
}

function maybe(...gaps: readonly Gap[]): CallMatch {
  return { value: "maybe", gaps };
}
