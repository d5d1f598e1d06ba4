import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { assert, uint8Array, property, jsonValue } from "fast-check";
import { request } from "node:http";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { argumentsOf, shownName } from "../../../src/core/tool-call.ts";
import { readJsonSpans } from "../../../src/sources/tool-calls/otlp/json.ts";
import { readProtobufSpans } from "../../../src/sources/tool-calls/otlp/protobuf.ts";
import {
  startOtlpReceiver,
  type OtlpReceiver,
} from "../../../src/sources/tool-calls/otlp/receiver.ts";
import { OTLP_LIMITS, type Span } from "../../../src/sources/tool-calls/otlp/span.ts";
import { callLimitsOf } from "../../../src/sources/tool-calls/source.ts";
import { mergeRecordings } from "../../../src/sources/tool-calls/merge.ts";
import { SCOPE } from "../../worlds/calls.ts";

const start = (limits = {}): Promise<OtlpReceiver> =>
  startOtlpReceiver({ limits: callLimitsOf(limits), declaredComplete: true });

interface Answer {
  readonly status: number;
  readonly body: string;
}

function post(
  receiver: OtlpReceiver,
  body: Uint8Array | string,
  headers: Readonly<Record<string, string>> = {},
  path = "/v1/traces",
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${receiver.endpoint}${path}`,
      { method: "POST", headers: { "content-type": "application/x-protobuf", ...headers } },
      (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => (text += chunk.toString()));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
      },
    );
    // A receiver that refuses early closes while the rest is still being sent.
    sent.on("error", (error: NodeJS.ErrnoException) =>
      ["EPIPE", "ECONNRESET"].includes(error.code ?? "")
        ? resolve({ status: 413, body: "" })
        : reject(error),
    );
    sent.end(body);
  });
}

/** A message of the given fields. */
function message(...fields: readonly (readonly [number, Uint8Array | string])[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const [number, value] of fields) {
    writer.tag(number, WireType.LengthDelimited);
    if (typeof value === "string") writer.string(value);
    else writer.bytes(value);
  }
  return writer.finish();
}

const text = (value: string): Uint8Array => message([1, value]);
const attribute = (key: string, value: Uint8Array): Uint8Array => message([1, key], [2, value]);
const requestOf = (...spans: readonly Uint8Array[]): Uint8Array =>
  message([1, message([2, message(...spans.map((span) => [2, span] as const))])]);

function spanOf(id: number, ...attributes: readonly Uint8Array[]): Uint8Array {
  const spanId = Buffer.alloc(8);
  spanId.writeUInt32BE(id + 1, 4);
  const ended = new BinaryWriter().tag(8, WireType.Bit64).fixed64(6n).finish();
  return Buffer.concat([
    message([1, Buffer.alloc(16, 1)], [2, spanId], ...attributes.map((each) => [9, each] as const)),
    ended,
  ]);
}

const call = (id: number, name: string, ...more: readonly Uint8Array[]): Uint8Array =>
  spanOf(
    id,
    attribute("gen_ai.operation.name", text("execute_tool")),
    attribute("gen_ai.tool.name", text(name)),
    ...more,
  );

async function payloadOf(receiver: OtlpReceiver) {
  const recording = await receiver.read({});
  return mergeRecordings(SCOPE, [{ name: receiver.name, kind: receiver.kind, recording }]);
}

const JSON_TYPE = { "content-type": "application/json" };

interface Hostile {
  readonly what: string;
  readonly body: () => Uint8Array | string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
}

const nested = (depth: number): Uint8Array => {
  let value = text("x");
  for (let at = 0; at < depth; at += 1) value = message([5, message([1, value])]);
  return value;
};

const REFUSED: readonly Hostile[] = [
  { what: "what is no protobuf", body: () => "hello", status: 400 },
  { what: "a length beyond the end", body: () => Buffer.from([0x0a, 0xff, 0x7f, 1]), status: 400 },
  {
    what: "a negative length",
    body: () => Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]),
    status: 400,
  },
  { what: "an endless varint", body: () => Buffer.alloc(1_000, 0xff), status: 400 },
  { what: "groups within groups", body: () => Buffer.alloc(100_000, 0x0b), status: 400 },
  {
    what: "a span that is a number",
    body: () => message([1, message([2, Buffer.from([0x10, 1])])]),
    status: 400,
  },
  { what: "JSON that is cut", body: () => '{"resourceSpans":[', headers: JSON_TYPE, status: 400 },
  {
    what: "JSON of another form",
    body: () => '{"resourceSpans":{"a":1}}',
    headers: JSON_TYPE,
    status: 400,
  },
  {
    what: "JSON nested deeply",
    body: () => "[".repeat(5_000_000),
    headers: JSON_TYPE,
    status: 400,
  },
  {
    what: "a million objects",
    body: () => `{"resourceSpans":[${"{},".repeat(1_100_000)}{}]}`,
    headers: JSON_TYPE,
    status: 400,
  },
  {
    what: "what is not gzip",
    body: () => "hello",
    headers: { "content-encoding": "gzip" },
    status: 400,
  },
  {
    what: "an unknown packing",
    body: () => "hello",
    headers: { "content-encoding": "zstd" },
    status: 400,
  },
  {
    what: "a gzip bomb",
    body: () => gzipSync(Buffer.alloc(OTLP_LIMITS.maxBodyBytes + 1)),
    headers: { "content-encoding": "gzip" },
    status: 400,
  },
  {
    what: "a body that is too large",
    body: () => Buffer.alloc(OTLP_LIMITS.maxBodyBytes + 100_000),
    status: 413,
  },
];

describe("a hostile body", { timeout: 60_000 }, () => {
  test.each(REFUSED)("$what is refused, and a gap", async ({ body, headers, status }) => {
    await using receiver = await start();
    expect((await post(receiver, body(), headers)).status).toBe(status);
    // And the receiver goes on.
    expect((await post(receiver, requestOf(call(1, "search")))).status).toBe(200);
    const { calls, recorders } = await payloadOf(receiver);
    expect(calls.map(shownName)).toEqual(["search"]);
    expect(recorders[0]?.gaps.map(({ code }) => code)).toContain("trace_incomplete");
  });

  test("twenty bombs at once take no more room than one", async () => {
    await using receiver = await start();
    const bomb = gzipSync(Buffer.alloc(OTLP_LIMITS.maxBodyBytes - 1));
    const before = process.memoryUsage().rss;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => post(receiver, bomb, { "content-encoding": "gzip" })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(400));
    expect(process.memoryUsage().rss - before).toBeLessThan(600_000_000);
  });

  test("an attribute nested too deeply is cut, and its call kept", async () => {
    await using receiver = await start();
    const body = requestOf(
      call(1, "search", attribute("gen_ai.tool.call.arguments", nested(5_000))),
    );
    expect((await post(receiver, body)).status).toBe(200);
    const { calls, gaps } = await payloadOf(receiver);
    expect(calls.map(argumentsOf)).toEqual([{ kind: "known", value: { kind: "cut", head: "" } }]);
    expect(gaps).toMatchObject([{ code: "call_truncated", location: "calls:/1" }]);
  });

  test("a list of many small things is cut too", async () => {
    await using receiver = await start();
    const items = message([
      5,
      message(...Array.from({ length: 30_000 }, () => [1, Buffer.alloc(0)] as const)),
    ]);
    await post(
      receiver,
      requestOf(call(1, "search", attribute("gen_ai.tool.call.arguments", items))),
    );
    expect((await payloadOf(receiver)).gaps[0]?.code).toBe("call_truncated");
  });

  test("a span of too many attributes says that some were dropped", async () => {
    await using receiver = await start();
    const many = Array.from({ length: 5_000 }, (_, at) => attribute(`a${at}`, text("x")));
    await post(receiver, requestOf(call(1, "search", ...many)));
    const { recorders } = await payloadOf(receiver);
    expect(JSON.stringify(recorders[0]?.gaps)).toContain("were dropped");
  });

  test("arguments and results beyond the limits are cut, their sizes said, their calls kept", async () => {
    await using receiver = await start({ maxCallBytes: 40_000 });
    const big = attribute("gen_ai.tool.call.arguments", text("é".repeat(20_000)));
    await post(
      receiver,
      requestOf(...Array.from({ length: 5 }, (_, at) => call(at, "search", big))),
    );
    const { calls, gaps } = await payloadOf(receiver);
    expect(calls).toHaveLength(5);
    const kept = calls.map(({ sightings: [{ arguments: given }] }) =>
      given?.kind === "cut" ? Buffer.byteLength(given.head) : -1,
    );
    expect([Math.max(...kept), kept.reduce((sum, bytes) => sum + bytes, 0)]).toEqual([
      16_384, 40_000,
    ]);
    expect(gaps.map(({ detail }) => detail)).toEqual(Array(5).fill("arguments of 40000 bytes"));
  });

  test("calls beyond the limit are not kept, and that is a gap", async () => {
    await using receiver = await start({ maxCalls: 3 });
    await post(receiver, requestOf(...Array.from({ length: 9 }, (_, at) => call(at, "search"))));
    const { calls, recorders } = await payloadOf(receiver);
    expect(calls).toHaveLength(3);
    expect(JSON.stringify(recorders[0]?.gaps)).toContain("Raise maxCalls");
  });

  test("a sender that breaks off in its body is a gap", async () => {
    await using receiver = await start();
    const { port, pathname } = new URL(receiver.endpoint);
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), "127.0.0.1", () => {
        socket.write(
          `POST ${pathname}/v1/traces HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\nhalf`,
          () => {
            setTimeout(() => socket.destroy(), 50);
          },
        );
      });
      socket.once("close", () => resolve());
    });
    await expect.poll(() => receiver.hasSpans()).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(JSON.stringify((await payloadOf(receiver)).recorders)).toContain("broke off");
  });
});

describe("the paths", () => {
  test("of logs and metrics are answered, and hold no calls", async () => {
    await using receiver = await start();
    const body = requestOf(call(1, "search"));
    expect((await post(receiver, body, {}, "/v1/logs")).status).toBe(200);
    expect((await post(receiver, "{}", JSON_TYPE, "/v1/metrics")).body).toBe("{}");
    expect((await payloadOf(receiver)).recorders[0]).toMatchObject({
      complete: false,
      gaps: [{ code: "evidence_kind_missing" }],
    });
  });

  test("that nobody was told of are not there: others on this machine cannot add calls", async () => {
    await using receiver = await start();
    const { origin } = new URL(receiver.endpoint);
    const answer = await fetch(`${origin}/v1/traces`, {
      method: "POST",
      body: "{}",
      headers: JSON_TYPE,
    });
    expect(answer.status).toBe(404);
    expect(receiver.hasSpans()).toBe(false);
  });
});

const fields = (more: object): string =>
  JSON.stringify({
    resourceSpans: [
      {
        scopeSpans: [
          {
            spans: [
              {
                traceId: "1".repeat(32),
                spanId: "2".repeat(16),
                name: "s",
                startTimeUnixNano: "5",
                endTimeUnixNano: "6",
                ...more,
              },
            ],
          },
        ],
      },
    ],
  });
const tool = (name: string) => [
  { key: "gen_ai.operation.name", value: { stringValue: "execute_tool" } },
  { key: "gen_ai.tool.name", value: { stringValue: name } },
];

const span = (spanId: string, parentSpanId: string, id?: string) => ({
  traceId: "1".repeat(32),
  spanId: spanId.repeat(16),
  parentSpanId: parentSpanId.repeat(16),
  startTimeUnixNano: "5",
  endTimeUnixNano: "6",
  attributes: [
    ...tool("a"),
    ...(id === undefined ? [] : [{ key: "gen_ai.tool.call.id", value: { stringValue: id } }]),
  ],
});
const counted = async (...spans: readonly object[]): Promise<number> => {
  await using receiver = await start();
  await post(receiver, JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }), JSON_TYPE);
  return (await payloadOf(receiver)).calls.length;
};

describe("what a trace shows of itself", () => {
  test.each([
    ["a parent that did not arrive", { parentSpanId: "3".repeat(16) }, "parents"],
    ["a parent elsewhere is not missing", { parentSpanId: "3".repeat(16), flags: 0x301 }, ""],
    ["no parent", { parentSpanId: "0".repeat(16) }, ""],
    [
      "dropped attributes of a call",
      { attributes: tool("a"), droppedAttributesCount: 2 },
      "dropped",
    ],
    ["dropped attributes of another span", { droppedAttributesCount: 2 }, ""],
    ["a span that was not sampled", { flags: 0x100 }, "not sampled"],
    ["sampling in its state", { traceState: "ot=th:8" }, "sampled"],
    ["a call without a name", { attributes: tool("a").slice(0, 1) }, "without the name"],
  ])("%s", async (_, more, detail) => {
    await using receiver = await start();
    await post(receiver, fields(more), JSON_TYPE);
    const [recorder] = (await payloadOf(receiver)).recorders;
    if (detail === "") expect(recorder?.gaps).toEqual([]);
    else
      expect(recorder?.gaps).toMatchObject([
        { code: "trace_incomplete", detail: expect.stringContaining(detail) },
      ]);
  });

  test("a call without an end is unfinished, until it is sent again with one; and the same span twice is one", async () => {
    await using receiver = await start();
    const begun = fields({ attributes: tool("a"), endTimeUnixNano: "0" });
    await post(receiver, begun, JSON_TYPE);
    await post(receiver, fields({ attributes: tool("a") }), JSON_TYPE);
    await post(receiver, fields({ attributes: tool("a") }), JSON_TYPE);
    const { calls, gaps } = await payloadOf(receiver);
    expect(calls.map(({ sightings }) => sightings.map(({ outcome }) => outcome))).toEqual([["ok"]]);
    expect(gaps).toEqual([]);
    await using other = await start();
    await post(other, begun, JSON_TYPE);
    expect((await payloadOf(other)).gaps).toMatchObject([{ code: "span_unfinished" }]);
  });

  test("two instrumentations of one call are one call; two calls with ids of their own are two", async () => {
    expect(await counted(span("2", "0", "x"), span("3", "2"))).toBe(1);
    expect(await counted(span("2", "0"), span("3", "2", "x"))).toBe(1);
    expect(await counted(span("2", "0"), span("3", "2"))).toBe(1);
    expect(await counted(span("2", "0", "x"), span("3", "2", "y"))).toBe(2);
    expect(await counted(span("2", "0"), span("3", "0"))).toBe(2);
    // A circle of parents is no trap.
    expect(await counted(span("2", "3"), span("3", "2"))).toBe(1);
  });
});

const survives = (read: () => void): void => {
  try {
    read();
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
  }
};

test("whatever the bytes, the readers end with spans or with an error", () => {
  const taken: Span[] = [];
  const whole = requestOf(call(1, "search", attribute("gen_ai.tool.call.arguments", nested(3))));
  assert(
    property(
      uint8Array({ maxLength: 200 }),
      uint8Array({ minLength: 1, maxLength: 4 }),
      (bytes, change) => {
        survives(() => readProtobufSpans(bytes, (span) => taken.push(span)));
        const changed = Buffer.from(whole);
        for (const byte of change) changed[byte % changed.length] = bytes[0] ?? byte;
        survives(() => readProtobufSpans(changed, (span) => taken.push(span)));
      },
    ),
    { numRuns: 3_000 },
  );
  assert(
    property(jsonValue({ maxDepth: 5 }), (value) => {
      const body = {
        resourceSpans: [{ scopeSpans: [{ spans: [{ attributes: value, events: value }, value] }] }],
      };
      survives(() => readJsonSpans(Buffer.from(JSON.stringify(body)), (span) => taken.push(span)));
      const attributes = [
        { key: "a", value },
        { key: "b", value: { arrayValue: { values: value } } },
      ];
      const spans = { resourceSpans: [{ scopeSpans: [{ spans: [{ attributes }] }] }] };
      survives(() => readJsonSpans(Buffer.from(JSON.stringify(spans)), (span) => taken.push(span)));
    }),
    { numRuns: 2_000 },
  );
});
