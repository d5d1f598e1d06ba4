import { isUpheldError } from "../../core/errors.ts";
import { parseStrictJson } from "../../core/strict-json.ts";
import { timestampOf, type Timestamp } from "../../core/timestamp.ts";
import { CallOutcome, wellFormed, type CallValue, type Sighting } from "../../core/tool-call.ts";
import type { CallBudget, IdentifiedSighting } from "./recording.ts";

/** What a line of a calls file holds, or why it holds no call. */
export type CallLine =
  | { readonly kind: "call"; readonly call: IdentifiedSighting }
  | { readonly kind: "gap"; readonly detail: string }
  | { readonly kind: "cut" }
  | { readonly kind: "other"; readonly detail: string };

export interface LineContext {
  readonly recorder: string;
  readonly sequence: number;
  readonly budget: CallBudget;
}

/**
 * Reads one line: `{id?, name, arguments, result, outcome, startedAt?, endedAt?}`. `recorder: "mcp-proxy"` says that a proxy
 * recorded it; `gap` is a recorder's word that a call is missing. Unknown fields are ignored.
 */
export function readCallLine(text: string, context: LineContext): CallLine {
  const read = parsed(text);
  if (read === undefined) return { kind: "cut" };
  const { value, isExact } = read;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { kind: "other", detail: "expected an object" };
  const line = value as Readonly<Record<string, unknown>>; // a plain object of parsed JSON
  if (typeof line["gap"] === "string")
    return { kind: "gap", detail: wellFormed(line["gap"]).slice(0, 200) };
  const name = textOf(line["name"]);
  if (name === undefined) return { kind: "other", detail: "a call needs a name" };
  const outcome = outcomeOf(line);
  if (outcome === undefined)
    return { kind: "other", detail: `outcome must be ${CallOutcome.options.join(", ")}` };
  return {
    kind: "call",
    call: {
      id: idOf(line["id"]),
      sighting: sightingOf(line, { ...context, name, outcome, isExact }),
    },
  };
}

function sightingOf(line: Readonly<Record<string, unknown>>, known: KnownLine): Sighting {
  const by = textOf(line["by"]);
  return {
    recorder: known.recorder,
    provenance: line["recorder"] === "mcp-proxy" ? "recorded" : "reported",
    ...(by === undefined ? {} : { by: by.slice(0, 200) }),
    sequence: known.sequence,
    name: known.name,
    ...valueIn("arguments", line["arguments"], line["argumentsCut"], known),
    ...valueIn("result", resultIn(line), line["resultCut"], known),
    outcome: known.outcome,
    ...timeIn(line, "startedAt"),
    ...timeIn(line, "endedAt"),
  };
}

interface KnownLine extends LineContext {
  readonly name: string;
  readonly outcome: CallOutcome;
  /** False where a number of the line cannot be kept exactly: that makes its values unknown, never the call. */
  readonly isExact: boolean;
}

function valueIn(
  key: "arguments" | "result",
  value: unknown,
  cut: unknown,
  { budget, isExact }: KnownLine,
): { readonly [K in typeof key]?: CallValue } {
  if (value === undefined) {
    const head = headOfCut(cut, budget);
    return head === undefined ? {} : { [key]: head };
  }
  if (!isExact) return { [key]: { kind: "cut", head: "" } };
  return { [key]: key === "arguments" ? budget.argumentsOf(value) : budget.resultOf(value) };
}

/** What a recorder kept of a value that was too large for it. */
function headOfCut(cut: unknown, budget: CallBudget): CallValue | undefined {
  if (typeof cut !== "object" || cut === null || !("head" in cut)) return undefined;
  if (typeof cut.head !== "string") return undefined;
  const sizeBytes = "sizeBytes" in cut && isCount(cut.sizeBytes) ? cut.sizeBytes : undefined;
  const kept = budget.resultOfText(cut.head);
  return {
    kind: "cut",
    head: kept.kind === "cut" ? kept.head : kept.text,
    ...(sizeBytes === undefined ? {} : { sizeBytes }),
  };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** Harnesses write `output` and `is_error` for the same. */
function resultIn(line: Readonly<Record<string, unknown>>): unknown {
  return line["result"] === undefined ? line["output"] : line["result"];
}

function outcomeOf(line: Readonly<Record<string, unknown>>): CallOutcome | undefined {
  const parsedOutcome = CallOutcome.safeParse(line["outcome"]);
  if (parsedOutcome.success) return parsedOutcome.data;
  if (line["outcome"] !== undefined || typeof line["is_error"] !== "boolean") return undefined;
  return line["is_error"] ? "error" : "ok";
}

function parsed(text: string): { readonly value: unknown; readonly isExact: boolean } | undefined {
  try {
    return { value: parseStrictJson(text), isExact: true };
  } catch (error) {
    if (!isUpheldError(error)) throw error;
  }
  try {
    return { value: JSON.parse(text), isExact: false };
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? wellFormed(value) : undefined;
}

function idOf(value: unknown): string | undefined {
  return typeof value === "number" ? String(value) : textOf(value);
}

function timeIn(
  line: Readonly<Record<string, unknown>>,
  key: "startedAt" | "endedAt",
): { readonly [K in typeof key]?: Timestamp } {
  const at = readTime(line[key]);
  return at === undefined ? {} : { [key]: at };
}

const TIME =
  /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d{2}:\d{2})$/;

/** "2026-11-30T18:48:15Z", with a fraction or an offset; undefined for anything else. */
export function readTime(value: unknown): Timestamp | undefined {
  const [, date = "", time = "", fraction = "", zone = ""] =
    typeof value === "string" ? (TIME.exec(value) ?? []) : [];
  const at = Date.parse(`${date}T${time}${zone.toUpperCase()}`);
  if (Number.isNaN(at)) return undefined;
  return timestampOf(BigInt(at) * 1_000_000n + BigInt(fraction.padEnd(9, "0")));
}
