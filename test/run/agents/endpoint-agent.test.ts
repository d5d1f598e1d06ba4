import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ConversationId } from "../../../src/core/ids.ts";
import type { TurnOptions, TurnResult } from "../../../src/run/agent.ts";
import {
  endpointAgent,
  type EndpointAgentOptions,
} from "../../../src/run/agents/endpoint-agent.ts";
import { turnOf } from "../turn.ts";

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

let server: Server;
let origin: string;
let handle: Handler;
const turn = { ...turnOf("hello"), conversationId: ConversationId.parse("talk") };

beforeEach(async () => {
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += String(chunk);
    });
    request.on("end", () => handle(request, response, body));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => {
    server.close(resolve);
  });
});

const answering =
  (value: unknown, type: string = "application/json", status: number = 200): Handler =>
  (_, response) => {
    response.writeHead(status, { "content-type": type });
    response.end(typeof value === "string" ? value : JSON.stringify(value));
  };

const run = (
  options: EndpointAgentOptions = {},
  turnOptions: TurnOptions = {},
  address: string = `${origin}/agent?key=sk-secret`,
): Promise<TurnResult> => endpointAgent(address, options).run(turn, turnOptions);

const echo: Handler = (request, response, body) =>
  answering({
    text: JSON.stringify({
      method: request.method,
      headers: request.headers,
      body: JSON.parse(body),
    }),
  })(request, response, body);
const sent = (
  result: TurnResult,
): { method: string; headers: Record<string, string>; body: unknown } =>
  JSON.parse(result.replies[0]?.text ?? "null");

describe("what is sent", () => {
  test("the messages and the conversation", async () => {
    handle = echo;
    const { method, headers, body } = sent(await run());
    expect(method).toBe("POST");
    expect(headers["content-type"]).toBe("application/json");
    expect(body).toEqual({
      messages: [{ role: "user", content: "hello" }],
      conversation_id: "talk",
    });
  });

  test("further fields, headers, and credentials of the address as a header", async () => {
    handle = echo;
    const address = `${origin.replace("http://", "http://me:p%40ss@")}/`;
    const result = await run({ fields: { model: "m" }, headers: { "x-key": "k" } }, {}, address);
    const { headers, body } = sent(result);
    expect(body).toMatchObject({ model: "m", conversation_id: "talk" });
    expect(headers["x-key"]).toBe("k");
    expect(headers["authorization"]).toBe(`Basic ${btoa("me:p@ss")}`);
  });

  test("a body of the caller's own making", async () => {
    handle = echo;
    const result = await run({ body: ({ messages }) => ({ prompt: messages.at(-1)?.text }) });
    expect(sent(result).body).toEqual({ prompt: "hello" });
  });
});

describe("answers that are understood", () => {
  test.each<[string, unknown, string]>([
    ["OpenAI chat", { choices: [{ message: { role: "assistant", content: "hi" } }] }, "hi"],
    [
      "OpenAI chat, in parts",
      {
        choices: [
          {
            message: {
              content: [
                { type: "text", text: "h" },
                { type: "text", text: "i" },
              ],
            },
          },
        ],
      },
      "hi",
    ],
    ["OpenAI refusal", { choices: [{ message: { content: null, refusal: "no" } }] }, "no"],
    ["OpenAI calls only", { choices: [{ message: { content: null, tool_calls: [] } }] }, ""],
    ["OpenAI completion", { choices: [{ text: "hi" }] }, "hi"],
    [
      "OpenAI response",
      {
        status: "completed",
        output: [
          { type: "reasoning" },
          { type: "message", content: [{ type: "output_text", text: "hi" }] },
        ],
      },
      "hi",
    ],
    ["Anthropic", { type: "message", content: [{ type: "text", text: "hi" }] }, "hi"],
    ["Ollama", { message: { role: "assistant", content: "hi" }, done: true }, "hi"],
    ["reply", { reply: "hi" }, "hi"],
    ["answer", { answer: "hi" }, "hi"],
    ["a JSON text", JSON.stringify("hi"), "hi"],
    ["an empty answer", { answer: "" }, ""],
  ])("%s", async (_, answer, text) => {
    handle = answering(answer);
    const { outcome, replies, gaps } = await run();
    expect([outcome, replies[0]?.text, gaps]).toEqual([{ kind: "answered" }, text, []]);
  });

  test("plain text", async () => {
    handle = answering("just 42", "text/plain; charset=utf-8");
    expect((await run()).replies[0]?.text).toBe("just 42");
  });

  test("a text at a place of the caller's choice", async () => {
    handle = answering({ result: [{ say: "hi" }], text: "other" });
    expect((await run({ answer: "/result/0/say" })).replies[0]?.text).toBe("hi");
  });

  test("one that the model cut is a gap", async () => {
    handle = answering({ choices: [{ message: { content: "hi" }, finish_reason: "length" }] });
    expect((await run()).gaps).toMatchObject([{ code: "call_truncated" }]);
  });

  test("one that is longer than what is kept is cut", async () => {
    handle = answering({ text: "é".repeat(100) });
    const { replies, gaps } = await run({ limits: { maxReplyBytes: 21 } });
    expect(replies[0]).toMatchObject({
      text: "é".repeat(10),
      textTruncated: true,
      totalBytes: 200,
    });
    expect(gaps).toMatchObject([{ code: "text_not_retained" }]);
  });
});

describe("an endpoint that fails", () => {
  test.each<[string, Handler, string]>([
    ["500", answering("oops", "text/html", 500), "answered 500"],
    [
      "401 with a code",
      answering(
        { error: { code: "invalid_api_key", message: "sk-secret is wrong" } },
        "application/json",
        401,
      ),
      "answered 401 (invalid_api_key)",
    ],
    [
      "a code that could be a secret",
      answering({ error: { code: "sk-secret-1234" } }, "application/json", 400),
      "answered 400",
    ],
    [
      "a redirect, which is not followed",
      (_, response) => response.writeHead(307, { location: "http://example.com/" }).end(),
      "answered 307",
    ],
    ["HTML", answering("<p>hi</p>", "text/html"), "answered with no JSON (text/html, 9 bytes)"],
    [
      "cut JSON",
      answering('{"text": "h', "application/json"),
      "answered with no JSON (application/json, 11 bytes)",
    ],
    ["nothing", answering("", ""), "answered with no JSON (no type given, 0 bytes)"],
    [
      "JSON without a text",
      answering({ ok: true }),
      "answered with no text in a known place (11 bytes)",
    ],
    [
      "a broken connection",
      (request) => request.socket.destroy(),
      "could not be asked (UND_ERR_SOCKET)",
    ],
    [
      "a connection that breaks midway",
      (request, response) => {
        response.writeHead(200, { "content-length": "1000" });
        response.write("{");
        setTimeout(() => request.socket.destroy(), 10);
      },
      "could not be asked (UND_ERR_SOCKET)",
    ],
    ["too much", answering({ text: "x".repeat(2_000) }), "sent more than maxBodyBytes"],
  ])("%s", async (_, handler, reason) => {
    handle = handler;
    const { outcome, replies } = await run({ maxBodyBytes: 1_000 });
    expect(outcome).toEqual({ kind: "failed", reason: `${origin} ${reason}` });
    expect(replies).toEqual([]);
  });

  test("without a text where it was looked for", async () => {
    handle = answering({ text: "hi" });
    const { outcome } = await run({ answer: "/nope" });
    expect(outcome).toEqual({
      kind: "failed",
      reason: `${origin} answered with no text at /nope (13 bytes)`,
    });
  });

  test("and is not there", async () => {
    const gone = createServer();
    await new Promise<void>((resolve) => {
      gone.listen(0, "127.0.0.1", resolve);
    });
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => {
      gone.close(resolve);
    });
    const address = `http://me:hunter2@127.0.0.1:${port}/agent?key=sk-secret`;
    const reason = `http://127.0.0.1:${port} could not be asked (ECONNREFUSED)`;
    expect((await run({}, {}, address)).outcome).toEqual({ kind: "failed", reason });
  });

  test("to answer in time", async () => {
    handle = () => {};
    expect((await run({}, { timeoutMs: 50 })).outcome).toEqual({ kind: "timed_out", afterMs: 50 });
  });

  test("to end its answer in time", async () => {
    handle = (_, response) => void response.write("{");
    expect((await run({}, { timeoutMs: 50 })).outcome).toEqual({ kind: "timed_out", afterMs: 50 });
  });
});

test("an abort closes the connection and rejects with its reason", async () => {
  const abort = new AbortController();
  const reason = new Error("enough");
  const closed = new Promise((resolve) => {
    handle = (request) => {
      request.socket.once("close", resolve);
      abort.abort(reason);
    };
  });
  await expect(run({}, { signal: abort.signal })).rejects.toBe(reason);
  await closed;
});

test.each(["ftp://example.com", "no address", "", "file:///etc/passwd"])(
  "the address %j is refused, and not shown",
  (address) => {
    expect(() => endpointAgent(address)).toThrowError(
      expect.objectContaining({
        code: "argument_invalid",
        message: "the endpoint must be an http or https address",
      }),
    );
  },
);

test("what identifies it holds no secret", () => {
  const agent = endpointAgent("https://me:hunter2@example.com/x?key=sk-secret", {
    headers: { authorization: "Bearer sk-secret" },
  });
  expect(JSON.stringify(agent.identifier())).not.toMatch(/hunter2|sk-secret/);
});
