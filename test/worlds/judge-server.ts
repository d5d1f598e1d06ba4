import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What the server does at one call: answers with a text, or what a server answers when it does not. */
export type Answer =
  | { readonly reply: unknown; readonly finish?: Finish }
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: unknown;
    }
  | { readonly refuse: string }
  | { readonly silence: true }
  | { readonly hangUp: true };

export type Finish = "stop" | "length" | "filter";

/** One request as it came. */
export interface Asked {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly model: string;
  /** The body as it was sent. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly system: string;
  readonly user: string;
}

export interface JudgeServer extends AsyncDisposable {
  readonly url: string;
  readonly asked: Asked[];
}

interface Message {
  readonly role: string;
  readonly content: string | readonly { readonly text: string }[];
}

/**
 * A server that speaks both protocols, not streamed, in the shapes that the makers document: POST /v1/chat/completions and POST
 * /v1/messages. It answers call by call; the last answer is given again.
 */
export async function judgeServer(
  answers: readonly Answer[] | ((asked: Asked) => Answer),
): Promise<JudgeServer> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
      const one = askedOf(request.url ?? "", request.headers, body);
      asked.push(one);
      const answer =
        typeof answers === "function"
          ? answers(one)
          : (answers[Math.min(asked.length, answers.length) - 1] ?? { status: 500 });
      give(answer, one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function askedOf(
  path: string,
  headers: IncomingHttpHeaders,
  body: { model: string; system?: readonly { text: string }[]; messages: readonly Message[] },
): Asked {
  const textOf = ({ content }: Message): string =>
    typeof content === "string" ? content : content.map(({ text }) => text).join("");
  const system =
    body.system?.map(({ text }) => text).join("") ??
    body.messages
      .filter(({ role }) => role === "system")
      .map(textOf)
      .join("");
  return {
    path,
    headers,
    model: body.model,
    body: { ...body },
    system,
    user: body.messages
      .filter(({ role }) => role === "user")
      .map(textOf)
      .join(""),
  };
}

function give(answer: Answer, asked: Asked, response: ServerResponse): void {
  if ("silence" in answer) return;
  if ("hangUp" in answer) {
    response.destroy();
    return;
  }
  const send = (
    status: number,
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): void => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
  const isAnthropic = asked.path === "/v1/messages";
  if (!isAnthropic && asked.path !== "/v1/chat/completions")
    send(404, { error: { message: "no such path" } });
  else if ("status" in answer)
    send(answer.status, answer.body ?? errorBody(isAnthropic, answer.status), answer.headers);
  else send(200, isAnthropic ? message(answer, asked) : completion(answer, asked));
}

function errorBody(isAnthropic: boolean, status: number): unknown {
  const message = `status ${status}`;
  return isAnthropic
    ? { type: "error", error: { type: "api_error", message }, request_id: "req_1" }
    : { error: { message, type: "server_error", param: null, code: null } };
}

function textOf(reply: unknown, asked: Asked): string {
  return typeof reply === "string" ? reply : JSON.stringify(withIds(reply, asked));
}

/** A citation that is no id stands for the piece of evidence that holds its text. */
function withIds(reply: unknown, { user }: Asked): unknown {
  const lines = user.split("\n").filter((line) => line.startsWith('{"evidence":"E'));
  return JSON.parse(JSON.stringify(reply), (key, value) => {
    if (key !== "evidence" || /^E\d+$/.test(value)) return value;
    const line = lines.find((each) => each.includes(JSON.stringify(value).slice(1, -1)));
    return line === undefined ? value : JSON.parse(line).evidence;
  });
}

function completion(
  answer: Extract<Answer, { reply: unknown } | { refuse: string }>,
  asked: Asked,
): unknown {
  const refused = "refuse" in answer;
  const finish = refused
    ? "stop"
    : { stop: "stop", length: "length", filter: "content_filter" }[answer.finish ?? "stop"];
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1_764_500_000,
    model: `${asked.model}-2026`,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: refused ? null : textOf(answer.reply, asked),
          refusal: refused ? answer.refuse : null,
          annotations: [],
        },
        logprobs: null,
        finish_reason: finish,
      },
    ],
    usage: {
      prompt_tokens: 1000,
      completion_tokens: 50,
      total_tokens: 1050,
      completion_tokens_details: { reasoning_tokens: 0 },
    },
    service_tier: "default",
    system_fingerprint: null,
  };
}

function message(
  answer: Extract<Answer, { reply: unknown } | { refuse: string }>,
  asked: Asked,
): unknown {
  const refused = "refuse" in answer;
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: `${asked.model}-2026`,
    content: [{ type: "text", text: refused ? answer.refuse : textOf(answer.reply, asked) }],
    stop_reason: refused
      ? "refusal"
      : { stop: "end_turn", length: "max_tokens", filter: "refusal" }[answer.finish ?? "stop"],
    stop_sequence: null,
    usage: {
      input_tokens: 1000,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 50,
      service_tier: "standard",
    },
  };
}
