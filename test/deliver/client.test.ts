import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { digestOf } from "../../src/core/fingerprint.ts";
import { Digest } from "../../src/core/ids.ts";
import { newFence, type Answer } from "../../src/deliver/client.ts";
import { collectorToken, collectorUrl } from "../../src/deliver/destination.ts";
import { makeReceipt, receiptBytes } from "../../src/evidence/receipt.ts";
import type { CollectorFault } from "../../src/testing/collector/fault.ts";
import { receiptOf } from "../../src/testing/collector/probe.ts";
import { startCollectorStandIn } from "../../src/testing/collector/stand-in.ts";
import { thrownBy } from "../support/json-values.ts";
import { clientOf, testTime } from "../worlds/delivery.ts";
import { attempt } from "../worlds/receipts.ts";

const receipt = makeReceipt(receiptOf(attempt()));
const outgoing = { digest: receipt.digest, bytes: receiptBytes(receipt) };
const received: Answer = { kind: "received", duplicate: false };
const status = (code: number, more: object = {}): CollectorFault => ({
  kind: "status",
  status: code,
  ...more,
});

/** What goes wrong, and what comes of it: the answer, the requests, and the waits between them. */
const table: readonly {
  readonly name: string;
  readonly faults: readonly CollectorFault[];
  readonly answer: Partial<Answer>;
  readonly waits: readonly number[];
}[] = [
  { name: "nothing", faults: [], answer: received, waits: [] },
  { name: "500 twice", faults: [status(500), status(503)], answer: received, waits: [500, 1_000] },
  {
    name: "429 with Retry-After",
    faults: [status(429, { retryAfter: "7" })],
    answer: received,
    waits: [7_000],
  },
  {
    name: "503 with a date",
    faults: [status(503, { retryAfter: "Mon, 30 Nov 2026 10:00:09 GMT" })],
    answer: received,
    waits: [9_000],
  },
  {
    name: "429 that asks for a day",
    faults: [status(429, { retryAfter: "86400" })],
    answer: received,
    waits: [60_000],
  },
  {
    name: "429 that asks for less than nothing",
    faults: [status(429, { retryAfter: "-5" })],
    answer: received,
    waits: [500],
  },
  { name: "a hang", faults: [{ kind: "hang" }], answer: received, waits: [500] },
  { name: "nobody reads", faults: [{ kind: "deaf" }], answer: received, waits: [500] },
  { name: "a broken connection", faults: [{ kind: "close" }], answer: received, waits: [500] },
  { name: "half an answer", faults: [{ kind: "close_mid_body" }], answer: received, waits: [500] },
  { name: "garbage with 200", faults: [{ kind: "garbage" }], answer: received, waits: [500] },
  { name: "an endless answer", faults: [{ kind: "endless" }], answer: received, waits: [500] },
  {
    name: "an acknowledgement of something else",
    faults: [{ kind: "wrong_digest" }],
    answer: received,
    waits: [500],
  },
  {
    name: "an answer that was lost after the work",
    faults: [{ kind: "lost_answer" }],
    answer: { kind: "received", duplicate: true },
    waits: [500],
  },
  {
    name: "500 without an end",
    faults: Array.from({ length: 8 }, () => status(500)),
    answer: { kind: "unanswered", tries: 8, isAlive: true, reason: "status 500" },
    waits: [500, 1_000, 2_000, 4_000, 7_500, 7_500, 7_500],
  },
  {
    name: "silence without an end",
    faults: Array.from({ length: 8 }, () => ({ kind: "close" }) as const),
    answer: { kind: "unanswered", tries: 8, isAlive: false },
    waits: [500, 1_000, 2_000, 4_000, 7_500, 7_500, 7_500],
  },
  ...[400, 404, 409, 413, 422].map((code) => ({
    name: `${code} of a collector`,
    faults: [status(code, { code: "some_code" })],
    answer: { kind: "refused", status: code, code: "some_code" } as const,
    waits: [],
  })),
  ...[301, 400, 404, 405, 418].map((code) => ({
    name: `${code} of something else`,
    faults: [status(code)],
    answer: { kind: "foreign", status: code } as const,
    waits: [],
  })),
  ...[401, 403].map((code) => ({
    name: `${code}`,
    faults: [status(code, { code: "unauthorized" })],
    answer: { kind: "fenced", status: code } as const,
    waits: [],
  })),
];

describe("a receipt is sent through", () => {
  test.for(table)("$name", async ({ faults, answer, waits }) => {
    await using collector = await startCollectorStandIn({ faults });
    const { time, waits: waited } = testTime();
    const client = clientOf(collector, { time, idleMs: 1_000 });
    expect(await client.postReceipt(outgoing)).toMatchObject(answer);
    expect(waited).toEqual(waits);
    expect(collector.events.length).toBe(waits.length + 1);
    const stored = collector.events.filter(({ decision }) => decision === "stored");
    expect(stored.length).toBe(answer.kind === "received" ? 1 : 0);
  });
});

describe("an artifact", () => {
  const bytes = new TextEncoder().encode("a log");
  const log = {
    attempt: attempt({ jobId: "Zahlung \u00e9\u{1f4b6}", scenarioKey: "a b%/\n" }),
    kind: "log",
    digest: digestOf(bytes),
    sizeBytes: bytes.length,
    open: () => [bytes],
  };

  test.for([
    { kind: "close" },
    { kind: "deaf" },
    { kind: "lost_answer" },
    { kind: "close_mid_body" },
  ] as const)("is sent again from its start: $kind", async (fault) => {
    await using collector = await startCollectorStandIn({ faults: [fault, fault] });
    const answer = await clientOf(collector, { idleMs: 1_000 }).putArtifact(log);
    expect(answer.kind).toBe("received");
    expect(collector.events.filter(({ decision }) => decision === "stored").length).toBe(1);
  });

  test("damaged on the way is sent once more; damaged here, it is refused", async () => {
    await using collector = await startCollectorStandIn();
    let opened = 0;
    const damaged = new TextEncoder().encode("a dog");
    const open = (): readonly Uint8Array[] => [(opened += 1) === 1 ? damaged : bytes];
    expect(await clientOf(collector).putArtifact({ ...log, open })).toEqual(received);
    const other = { ...log, digest: digestOf(damaged) };
    expect(await clientOf(collector).putArtifact(other)).toMatchObject({ code: "digest_mismatch" });
    expect(collector.events.map(({ decision }) => decision)).toEqual([
      "digest_mismatch",
      "stored",
      "digest_mismatch",
      "digest_mismatch",
    ]);
  });

  test("of 256 MiB is sent in bounded memory", async () => {
    const policy = { maxArtifactBytes: 1 << 30 };
    await using collector = await startCollectorStandIn({ policy });
    const piece = new Uint8Array(256 * 1024).fill(7);
    const { createHash } = await import("node:crypto");
    const hash = createHash("sha256");
    for (let index = 0; index < 1_024; index += 1) hash.update(piece);
    const digest = Digest.parse(`sha256:${hash.digest("hex")}`);
    let peak = 0;
    async function* open(): AsyncGenerator<Uint8Array> {
      for (let index = 0; index < 1_024; index += 1) {
        peak = Math.max(peak, process.memoryUsage().arrayBuffers);
        yield piece;
      }
    }
    const before = process.memoryUsage().arrayBuffers;
    const sizeBytes = 1_024 * piece.length;
    const answer = await clientOf(collector).putArtifact({ ...log, digest, sizeBytes, open });
    expect(answer).toEqual(received);
    // Sender and receiver share this process.
    expect(peak - before).toBeLessThan(64 * 1024 * 1024);
  }, 120_000);
});

test("after a fence nothing is sent, by no client that shares it", async () => {
  await using collector = await startCollectorStandIn();
  const fence = newFence();
  const wrong = { url: collector.url, token: "wrong" };
  expect(await clientOf(wrong, { fence }).postReceipt(outgoing)).toEqual({
    kind: "fenced",
    status: 401,
  });
  expect(await clientOf(collector, { fence }).postReceipt(outgoing)).toEqual({
    kind: "fenced",
    status: 401,
  });
  expect(collector.events.length).toBe(1);
});

test("an abort ends the wait with its reason", async () => {
  await using collector = await startCollectorStandIn({ faults: [{ kind: "hang" }] });
  const controller = new AbortController();
  const reason = new Error("enough");
  const answer = clientOf(collector).postReceipt(outgoing, controller.signal);
  setTimeout(() => controller.abort(reason), 50);
  await expect(answer).rejects.toBe(reason);
});

test("the token follows no redirect", async () => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(request.url ?? "");
    response.writeHead(307, { location: "/elsewhere" }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const client = clientOf({ url: `http://127.0.0.1:${port}`, token: "token" });
    expect(await client.postReceipt(outgoing)).toEqual({ kind: "foreign", status: 307 });
    expect(seen).toEqual(["/v1/receipts"]);
  } finally {
    server.close();
    server.closeAllConnections();
  }
});

describe("the address of a collector", () => {
  test.each([
    ["https://collector.example/", "https://collector.example"],
    ["https://collector.example/team/a//", "https://collector.example/team/a"],
    ["http://127.0.0.1:8080", "http://127.0.0.1:8080"],
    ["http://localhost:8080/x", "http://localhost:8080/x"],
    ["http://[::1]:8080", "http://[::1]:8080"],
  ])("%s", (text, url) => {
    expect(collectorUrl(text)).toBe(url);
  });

  test.each([
    ["http beyond this machine", "http://collector.example"],
    ["a name that only starts like this machine", "http://127.0.0.1.example"],
    ["another scheme", "ftp://collector.example"],
    ["credentials", "https://user:hunter2@collector.example"],
    ["a query", "https://collector.example?token=hunter2"],
    ["a fragment", "https://collector.example#hunter2"],
    ["no URL", "hunter2"],
  ])("is refused, and not repeated: %s", (_name, text) => {
    const error = thrownBy(() => collectorUrl(text));
    expect(error.code).toBe("argument_invalid");
    expect(`${error.message} ${String(error.cause)}`).not.toContain("hunter2");
  });

  test.each([
    ["none", undefined],
    ["an empty one", ""],
    ["two lines", "hunter2\nx: y"],
    ["a space", "hunter2 hunter2"],
  ])("needs a token that a header can hold, not %s", (_name, text) => {
    const error = thrownBy(() => collectorToken(text, "TOKEN"));
    expect(error.code).toBe("argument_invalid");
    expect(error.message).not.toContain("hunter2");
  });
});
