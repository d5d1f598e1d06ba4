import { UpheldError } from "../../core/errors.ts";
import { gap } from "../../core/gap.ts";
import { limitsOf, type Limits } from "../../core/limits.ts";
import { jsonAt } from "../../core/matcher.ts";
import type { AgentOutcome } from "../../core/run.ts";
import type { Agent, Turn, TurnOptions, TurnResult } from "../agent.ts";
import { readBody, type FetchedBody } from "./endpoint-body.ts";
import { commonAnswer, type EndpointAnswer } from "./endpoint-answer.ts";
import { replyOf } from "./reply-output.ts";
import { limitTurn } from "./turn-ending.ts";

export interface EndpointAgentOptions {
  /** Sent with each request, such as an authorization. Never shown, never recorded. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Put beside `messages` and `conversation_id` in the body, such as `model`. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Makes the whole body instead. */
  readonly body?: (turn: Turn) => unknown;
  /** Where the answer's text stands: a JSON pointer such as "/choices/0/message/content". Default: `commonAnswer`. */
  readonly answer?: string;
  readonly limits?: Partial<Pick<Limits, "maxReplyBytes">>;
  /** Bytes read of one answer; a longer one is a failure. Default 8 388 608. */
  readonly maxBodyBytes?: number;
  /** The client. Default: `fetch` of the runtime. */
  readonly fetch?: (url: URL, init: RequestInit) => Promise<Response>;
}

/**
 * An agent behind an HTTP address: each turn is a POST of `{ messages: [{ role, content }], conversation_id }`. Another status
 * than 2xx (redirects too: credentials are not carried elsewhere), an answer that cannot be read and a broken
 * connection are the outcome "failed", with a reason that names the origin and no more of the address.
 * Throws "argument_invalid" on an address that is not http or https. Gaps: "text_not_retained", "call_truncated" where the
 * model stopped at its own limit.
 */
export function endpointAgent(address: string | URL, options: EndpointAgentOptions = {}): Agent {
  const { maxReplyBytes } = limitsOf(options.limits);
  const endpoint = parseEndpoint(address);
  if (options.answer !== undefined && !/^(?:\/[^/]*)*$/.test(options.answer))
    throw new UpheldError(
      "argument_invalid",
      `answer must be a JSON pointer such as /choices/0/message/content, got ${JSON.stringify(options.answer)}`,
    );
  return {
    kind: "endpoint",
    ownsTerminal: false,
    identifier: () => ({
      name: "endpoint-agent",
      version: "1",
      parameters: { origin: endpoint.url.origin, answer: options.answer ?? "", maxReplyBytes },
      children: [],
    }),
    run: (turn, turnOptions = {}) => post(endpoint, options, maxReplyBytes, turn, turnOptions),
  };
}

interface Endpoint {
  /** Without credentials. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

function parseEndpoint(address: string | URL): Endpoint {
  const url = URL.canParse(String(address)) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new UpheldError("argument_invalid", "the endpoint must be an http or https address");
  if (url.username === "" && url.password === "") return { url, headers: {} };
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  url.username = "";
  url.password = "";
  return {
    url,
    headers: { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` },
  };
}

async function post(
  endpoint: Endpoint,
  options: EndpointAgentOptions,
  maxReplyBytes: number,
  turn: Turn,
  { signal, timeoutMs }: TurnOptions,
): Promise<TurnResult> {
  const limit = limitTurn(timeoutMs, signal);
  const from = performance.now();
  const ended = (outcome: AgentOutcome): TurnResult => ({
    outcome,
    durationMs: performance.now() - from,
    replies: [],
    gaps: [],
  });
  try {
    const fetched = request(endpoint, options, turn, limit.signal);
    const first = await Promise.race([fetched, limit.passed]);
    if (first.kind === "aborted") throw first.reason;
    if (first.kind !== "body") return ended(first);
    const answer = answerOf(first, options.answer);
    if (answer === undefined)
      return ended({ kind: "failed", reason: unreadable(endpoint, first, options.answer) });
    const { reply, gaps } = replyOf(answer.text, maxReplyBytes, "reply");
    const cut = answer.cut
      ? [
          gap("call_truncated", "reply", {
            detail: "the model stopped at its own limit",
            remedy: "Raise the limit of the model's output.",
          }),
        ]
      : [];
    return { ...ended({ kind: "answered" }), replies: [reply], gaps: [...gaps, ...cut] };
  } finally {
    limit.clear();
  }
}

type Failed = { readonly kind: "failed"; readonly reason: string };

/** Never rejects: what goes wrong on the way is a reason. */
async function request(
  { url, headers }: Endpoint,
  options: EndpointAgentOptions,
  turn: Turn,
  signal: AbortSignal,
): Promise<FetchedBody | Failed> {
  const failed = (what: string): Failed => ({ kind: "failed", reason: `${url.origin} ${what}` });
  try {
    const send = options.fetch ?? fetch;
    const response = await send(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/plain;q=0.9",
        ...headers,
        ...options.headers,
      },
      body: JSON.stringify(bodyOf(options, turn)),
      redirect: "manual",
      signal,
    });
    const body = await readBody(response, options.maxBodyBytes ?? 8_388_608);
    if (response.ok) return body ?? failed("sent more than maxBodyBytes");
    return failed(`answered ${response.status}${errorCode(body)}`);
  } catch (error) {
    return failed(`could not be asked (${networkCode(error)})`);
  }
}

function bodyOf({ body, fields }: EndpointAgentOptions, turn: Turn): unknown {
  if (body !== undefined) return body(turn);
  const { messages, conversationId } = turn;
  return {
    ...fields,
    messages: messages.map(({ role, text }) => ({ role, content: text })),
    ...(conversationId === undefined ? {} : { conversation_id: conversationId }),
  };
}

function answerOf({ text, json, type }: FetchedBody, pointer?: string): EndpointAnswer | undefined {
  if (pointer === undefined) {
    const common = json === undefined ? undefined : commonAnswer(json.value);
    return common ?? (type === "text/plain" ? { text, cut: false } : undefined);
  }
  const value = json === undefined ? undefined : jsonAtSafely(text, pointer);
  return typeof value === "string" ? { text: value, cut: false } : undefined;
}

function jsonAtSafely(text: string, pointer: string): unknown {
  try {
    return jsonAt(text, pointer);
  } catch {
    return undefined;
  }
}

function unreadable(
  { url }: Endpoint,
  { json, type, text }: FetchedBody,
  pointer?: string,
): string {
  const bytes = `${Buffer.byteLength(text)} bytes`;
  if (json === undefined)
    return `${url.origin} answered with no JSON (${type === "" ? "no type given" : type}, ${bytes})`;
  const missing = pointer === undefined ? "no text in a known place" : `no text at ${pointer}`;
  return `${url.origin} answered with ${missing} (${bytes})`;
}

/** What the service calls the fault, where that is a plain word: no text of an answer is shown, it could hold anything. */
function errorCode(body: FetchedBody | undefined): string {
  const error: unknown = Reflect.get(Object(body?.json?.value), "error");
  const codes = ["code", "type"].map((name): unknown => Reflect.get(Object(error), name));
  const word = codes.find((code) => typeof code === "string" && /^[a-z_]{3,40}$/.test(code));
  return typeof word === "string" ? ` (${word})` : "";
}

function networkCode(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  const code: unknown = Reflect.get(Object(cause ?? error), "code");
  if (typeof code === "string" && /^[A-Z_0-9]{3,60}$/.test(code)) return code;
  return error instanceof Error ? error.name : "unknown";
}
