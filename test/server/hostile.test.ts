import { connect } from "node:net";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SCOPES } from "../../src/server/auth.ts";
import type { ContractCollector } from "../../src/testing/collector/probe.ts";
import { CollectorWorld, ask, shop, type Answered } from "../worlds/collector.ts";
import { judgmentOver } from "../worlds/judgments.ts";
import { deliver, type ShelvedRun } from "../worlds/shelved-run.ts";

const TIMEOUT_MS = 300_000;
const RUNS = process.env["UPHELD_SOAK"] === undefined ? 300 : 5_000;

const world = new CollectorWorld();
let collector: ContractCollector;
let all: string;
let run: ShelvedRun;
let routes: readonly (readonly [method: string, path: string])[];

beforeAll(async () => {
  collector = await world.start({ requestsPerSecond: 1_000_000 });
  all = await world.token(shop, SCOPES);
  run = await deliver(collector);
  const document = (await (await fetch(`${collector.url}/v1/openapi.json`)).json()) as {
    paths: Record<string, object>;
  };
  routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => [method.toUpperCase(), path] as const),
  );
}, TIMEOUT_MS);
afterAll(() => world[Symbol.asyncDispose](), TIMEOUT_MS);

/** A piece of an address: of the right form, nearly of it, or anything. */
const piece = fc.oneof(
  fc.constantFrom(
    "1",
    "0",
    "-1",
    "999999999999999999",
    "9223372036854775808",
    "%00",
    "%ff",
    "..",
    "%2e%2e",
  ),
  fc.stringMatching(/^[0-9a-f]{64}$/),
  fc.uuid(),
  fc.string({ unit: "binary", maxLength: 40 }).map(encoded),
);

function encoded(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return "%EF%BF%BD";
  }
}

const query = fc.dictionary(
  fc.constantFrom("search", "limit", "before", "status", "job", "all", "review", "x"),
  piece,
  { maxKeys: 4 },
);

const headerValue = fc.oneof(
  piece.filter((text) => /^[\x20-\x7e]*$/.test(text)),
  fc.constantFrom(
    "evidence",
    "log",
    "toString",
    "1",
    "1e3",
    "NaN",
    "%00",
    "%F0%9F%92%B6",
    "x".repeat(500),
  ),
);
const headers = fc.record(
  Object.fromEntries(
    ["kind", "size"]
      .map((name) => `upheld-artifact-${name}`)
      .concat([
        "upheld-job",
        "upheld-attempt",
        "upheld-attempt-number",
        "upheld-scenario-key",
        "upheld-scenario-attempt",
      ])
      .map((name) => [name, headerValue]),
  ),
  { requiredKeys: [] },
);

/** A body: any bytes, any JSON, or a valid one with some of it replaced. */
const body = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.json({ maxDepth: 8 }),
  fc
    .tuple(fc.constantFrom("receipt", "judgment"), fc.nat(), fc.json({ maxDepth: 2 }))
    .map(([what, at, value]) => ({ what, at, value })),
);

function bodyOf(
  given: typeof body extends fc.Arbitrary<infer T> ? T : never,
): NonNullable<RequestInit["body"]> {
  if (typeof given === "string") return given;
  if (given instanceof Uint8Array) return Buffer.from(given);
  const text =
    given.what === "receipt"
      ? new TextDecoder().decode(run.receipt)
      : JSON.stringify(judgmentOver(run.bundle, "a\0b"));
  const entries = Object.entries(JSON.parse(text));
  const key = entries[given.at % entries.length]?.[0] ?? "";
  return JSON.stringify({ ...JSON.parse(text), [key]: JSON.parse(given.value) });
}

describe("no request is answered with 500", () => {
  test(
    "whatever stands in its path, query, headers and body",
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.nat(),
          fc.array(piece, { minLength: 1, maxLength: 1 }),
          query,
          headers,
          body,
          async (at, [name = ""], asked, given, sent) => {
            const [method = "GET", path = "/"] = routes[at % routes.length] ?? [];
            const address = `${collector.url}${path.replace(/\{\w+\}/, name)}?${Object.entries(
              asked,
            )
              .map((pair) => pair.join("="))
              .join("&")}`;
            const init: RequestInit = {
              method,
              headers: { ...given, authorization: `Bearer ${all}` },
            };
            if (method === "PUT" || method === "POST") init.body = bodyOf(sent);
            const response = await fetch(address, init);
            await response.arrayBuffer();
            expect(response.status).toBeLessThan(500);
          },
        ),
        { numRuns: RUNS },
      );
      expect(world.failures).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    "whatever bytes come in place of HTTP",
    async () => {
      const { port } = new URL(collector.url);
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 2_000 }), async (bytes) => {
          await new Promise((resolve, reject) => {
            const socket = connect(Number(port), "127.0.0.1", () => socket.end(Buffer.from(bytes)));
            socket.on("error", reject).on("close", resolve).resume();
          }).catch(() => undefined);
        }),
        { numRuns: 50 },
      );
      expect((await fetch(`${collector.url}/health`)).status).toBe(200);
    },
    TIMEOUT_MS,
  );
});

const send = (path: string, options: RequestInit): Promise<Answered> =>
  ask(`${collector.url}${path}`, all, options);
const deep = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;

describe("a bomb is bounded", () => {
  test.each([
    ["JSON that nests 1,000,000 deep", () => deep(1_000_000), [413, 422]],
    ["JSON that nests 100,000 deep", () => deep(100_000), [422]],
    [
      "an object of 200,000 keys",
      () => `{${Array.from({ length: 200_000 }, (_, at) => `"k${at}":1`).join(",")}}`,
      [422],
    ],
    ["one key of 3 MB", () => `{"${"k".repeat(3_000_000)}":1}`, [422]],
    ["a number of 1 MB", () => `{"a":${"9".repeat(1_000_000)}}`, [422]],
    ["8 MB", () => "x".repeat(8_000_000), [413]],
  ])("%s as a receipt", async (_, text, statuses) => {
    const { status, body: answer } = await send("/v1/receipts", { method: "POST", body: text() });
    expect(statuses).toContain(status);
    expect(JSON.stringify(answer).length).toBeLessThan(2_000);
  });

  test.each([
    ["JSON that nests 100,000 deep", () => deep(100_000)],
    ["one unknown key of 900 KB", () => `{"${"k".repeat(900_000)}":1}`],
    [
      "50,000 unknown keys",
      () => `{${Array.from({ length: 50_000 }, (_x, at) => `"k${at}":1`).join(",")}}`,
    ],
  ])("%s as a judgment", async (_, text) => {
    const { status, body: answer } = await send("/v1/judgments", { method: "POST", body: text() });
    expect(status).toBe(400);
    expect(JSON.stringify(answer).length).toBeLessThan(2_000);
  });

  test("a body without an end is cut off at the most that may come", async () => {
    let sent = 0;
    const endless = new ReadableStream({
      pull(controller) {
        sent += 65_536;
        controller.enqueue(new Uint8Array(65_536));
      },
    });
    const init = { method: "POST", body: endless, duplex: "half" as const };
    // Either the answer is seen, or the connection is closed on the sender that goes on.
    const status = await send("/v1/receipts", init).then(
      (answer) => answer.status,
      () => 413,
    );
    expect(status).toBe(413);
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });

  test("a path or a header of 100 KB is refused before it is looked at", async () => {
    const path = await fetch(`${collector.url}/v1/runs/${"1".repeat(100_000)}`);
    const header = await fetch(`${collector.url}/v1/runs`, { headers: { x: "1".repeat(100_000) } });
    expect([path.status, header.status]).toEqual([431, 431]);
  });

  test("it still answers", async () => {
    expect((await fetch(`${collector.url}/ready`)).status).toBe(200);
    expect(world.failures).toEqual([]);
  });
});
