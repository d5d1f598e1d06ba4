import { timestampOf } from "../../../core/timestamp.ts";
import {
  wellFormed,
  type CallOutcome,
  type CallValue,
  type Sighting,
} from "../../../core/tool-call.ts";
import type { CallBudget } from "../recording.ts";
import { CUT, type AttributeValue, type Span } from "./span.ts";

/** Where a convention puts what belongs to a call. The first attribute that is there counts. */
interface Convention {
  readonly isCall: (span: Span) => boolean;
  readonly name: readonly string[];
  readonly id: readonly string[];
  readonly given: readonly string[];
  readonly result: readonly string[];
  /** Events that hold one of them in an attribute, as older instrumentations send. */
  readonly events?: Readonly<
    Record<string, { readonly attribute: string; readonly holds: "given" | "result" }>
  >;
}

function is(key: string, wanted: string): (span: Span) => boolean {
  return ({ attributes }) => {
    const value = attributes.get(key);
    return typeof value === "string" && value.toLowerCase() === wanted.toLowerCase();
  };
}

/** In the order in which they are asked: what one lacks, the next may have. */
const CONVENTIONS: readonly Convention[] = [
  // OpenTelemetry GenAI and MCP.
  {
    isCall: (span) =>
      is("gen_ai.operation.name", "execute_tool")(span) ||
      is("mcp.method.name", "tools/call")(span),
    name: ["gen_ai.tool.name", "mcp.tool.name"],
    id: ["gen_ai.tool.call.id"],
    given: ["gen_ai.tool.call.arguments", "tool_arguments"],
    result: ["gen_ai.tool.call.result", "tool_response"],
    events: {
      "gen_ai.tool.message": { attribute: "content", holds: "given" },
      "gen_ai.choice": { attribute: "message", holds: "result" },
    },
  },
  // OpenInference.
  {
    isCall: is("openinference.span.kind", "tool"),
    name: ["tool.name"],
    id: ["tool_call.id", "tool.id"],
    given: ["input.value", "tool.parameters"],
    result: ["output.value"],
  },
  // OpenLLMetry.
  {
    isCall: is("traceloop.span.kind", "tool"),
    name: ["traceloop.entity.name"],
    id: [],
    given: ["traceloop.entity.input"],
    result: ["traceloop.entity.output"],
  },
  // Vercel AI SDK.
  {
    isCall: (span) => span.name === "ai.toolCall" || is("ai.operationId", "ai.toolCall")(span),
    name: ["ai.toolCall.name"],
    id: ["ai.toolCall.id"],
    given: ["ai.toolCall.args", "ai.toolCall.input"],
    result: ["ai.toolCall.result", "ai.toolCall.output"],
  },
];

/** A span that is a call, before it has a place among the others. */
export interface SpanCall {
  readonly id: string | undefined;
  readonly call: Omit<Sighting, "sequence">;
}

/** The call that a span tells of; undefined where it is none, "nameless" where it is one without a name. */
export function callOfSpan(
  span: Span,
  recorder: string,
  budget: CallBudget,
): SpanCall | "nameless" | undefined {
  const conventions = CONVENTIONS.filter(({ isCall }) => isCall(span));
  if (conventions.length === 0 || is("logfire.span_type", "pending_span")(span)) return undefined;
  const name = firstText(span, conventions, "name") ?? nameInSpan(span, conventions);
  if (name === undefined) return "nameless";
  const given = firstValue(span, conventions, "given");
  const result = firstValue(span, conventions, "result");
  return {
    id: firstText(span, conventions, "id"),
    call: {
      recorder,
      provenance: "reported",
      name,
      ...(given === undefined ? {} : { arguments: argumentsOf(given, budget) }),
      ...(result === undefined ? {} : { result: resultOf(result, budget) }),
      outcome: outcomeOf(span),
      ...(span.startNs === 0n ? {} : { startedAt: timestampOf(span.startNs) }),
      ...(span.endNs === 0n ? {} : { endedAt: timestampOf(span.endNs) }),
    },
  };
}

/** "execute_tool search", or the span's own name where the convention names tools so. */
function nameInSpan(span: Span, [first]: readonly Convention[]): string | undefined {
  const isGenAi = first === CONVENTIONS[0];
  const name = isGenAi ? /^(?:execute_tool|tools\/call) (.+)$/s.exec(span.name)?.[1] : span.name;
  return name === undefined || name.trim() === "" ? undefined : wellFormed(name);
}

function firstText(
  { attributes }: Span,
  conventions: readonly Convention[],
  what: "name" | "id",
): string | undefined {
  for (const key of conventions.flatMap((convention) => convention[what])) {
    const value = attributes.get(key);
    if (typeof value === "string" && value.trim() !== "") return wellFormed(value);
  }
  return undefined;
}

function firstValue(
  { attributes, events }: Span,
  conventions: readonly Convention[],
  what: "given" | "result",
): AttributeValue | undefined {
  for (const key of conventions.flatMap((convention) => convention[what])) {
    const value = attributes.get(key);
    if (value !== undefined) return value;
  }
  for (const { events: known = {} } of conventions)
    for (const event of events) {
      const place = known[event.name];
      const value = place?.holds === what ? event.attributes.get(place.attribute) : undefined;
      if (value !== undefined) return value;
    }
  return undefined;
}

function argumentsOf(value: AttributeValue, budget: CallBudget): CallValue {
  if (holdsCut(value)) return { kind: "cut", head: "" };
  if (typeof value !== "string") return budget.argumentsOf(value);
  return unwrap(budget.argumentsOfText(value));
}

function resultOf(value: AttributeValue, budget: CallBudget): CallValue {
  if (holdsCut(value)) return { kind: "cut", head: "" };
  return typeof value === "string" ? budget.resultOfText(value) : budget.resultOf(value);
}

function holdsCut(value: AttributeValue): boolean {
  if (value === CUT) return true;
  if (typeof value !== "object" || value === null) return false;
  return (Array.isArray(value) ? value : Object.values(value)).some(holdsCut);
}

/** A traced function's `{"args": [], "kwargs": {...}}` are the arguments in a wrapper. */
function unwrap(value: CallValue): CallValue {
  const inner =
    value.kind === "json"
      ? /^\{"args":\[\],"kwargs":(\{.*\})\}$/s.exec(value.text)?.[1]
      : undefined;
  return inner === undefined ? value : { kind: "json", text: inner };
}

/** A span says ok or error. What an agent's own instrumentation knows better it says in `upheld.tool.outcome`. */
function outcomeOf({ attributes, isError, endNs, events }: Span): CallOutcome {
  if (endNs === 0n) return "unfinished";
  const said = attributes.get("upheld.tool.outcome");
  if (said === "ok" || said === "refused" || said === "error") return said;
  const failed = attributes.has("error.type") || events.some(({ name }) => name === "exception");
  return isError || failed ? "error" : "ok";
}
