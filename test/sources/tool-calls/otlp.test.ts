import { spawn } from "node:child_process";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { argumentsOf, outcomeOf, resultOf, shownName } from "../../../src/core/tool-call.ts";
import type { ToolsPayload } from "../../../src/core/observation.ts";
import { systemClock } from "../../../src/run/clock.ts";
import { otlpEnvironment } from "../../../src/sources/tool-calls/otlp/environment.ts";
import { startOtlpReceiver } from "../../../src/sources/tool-calls/otlp/receiver.ts";
import { callLimitsOf, ToolCallSource } from "../../../src/sources/tool-calls/source.ts";
import { MAIN, ended, Workplace } from "../../cli/upheld.ts";
import { SCOPE } from "../../worlds/calls.ts";

const AGENT = join(import.meta.dirname, "../../worlds/otel-agent.mjs");

interface Traced {
  readonly encoding: "json" | "protobuf";
  readonly ending?: "orderly" | "hard";
  readonly convention?: string;
  readonly gzip?: boolean;
  readonly declaredComplete?: boolean;
  readonly env?: NodeJS.ProcessEnv;
}

async function traced({
  encoding,
  ending = "orderly",
  convention = "genai",
  gzip = false,
  declaredComplete = false,
  env = {},
}: Traced): Promise<ToolsPayload> {
  const limits = callLimitsOf();
  await using receiver = await startOtlpReceiver({ limits, declaredComplete });
  const child = spawn(process.execPath, [AGENT, encoding, ending, convention], {
    env: {
      ...process.env,
      ...otlpEnvironment({}, receiver.endpoint),
      ...(gzip ? { OTEL_EXPORTER_OTLP_COMPRESSION: "gzip" } : {}),
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const done = await ended(child);
  expect(done.stderr).toBe("");
  const source = new ToolCallSource(SCOPE, [receiver], { now: systemClock });
  const [observation] = await source.observe([{ scorable: SCOPE }]);
  if (observation?.payload.kind !== "tools") throw new Error("no tools were observed");
  return observation.payload;
}

const told = ({ calls }: ToolsPayload): unknown =>
  calls.map((call) => [shownName(call), outcomeOf(call), argumentsOf(call), resultOf(call)]);

const known = (value: unknown): unknown => ({ kind: "known", value });
const json = (value: unknown): unknown => known({ kind: "json", text: JSON.stringify(value) });

const EXPECTED = [
  ["get_order", known("ok"), json({ order_id: "A-7" }), json({ state: "open" })],
  ["write_file", known("error"), json({ path: "a.txt" }), json(null)],
];

describe("a real OpenTelemetry SDK", { timeout: 60_000 }, () => {
  for (const encoding of ["json", "protobuf"] as const)
    for (const gzip of [false, true])
      test(`sends its calls as ${encoding}${gzip ? ", packed" : ""}`, async () => {
        const payload = await traced({ encoding, gzip, declaredComplete: true });
        expect(told(payload)).toEqual(EXPECTED);
        expect(payload.calls.map(({ id }) => id)).toEqual(["call_1", "call_2"]);
        const [{ startedAt = "", endedAt = "" } = {}] = payload.calls[0]?.sightings ?? [];
        expect(startedAt <= endedAt && startedAt.startsWith("20")).toBe(true);
        expect(payload.recorders).toEqual([
          { name: "otlp", kind: "otlp", complete: true, gaps: [], shown: 2, total: 2 },
        ]);
      });

  test.each(["openinference", "traceloop", "vercel"])("by the names of %s", async (convention) => {
    expect(told(await traced({ encoding: "protobuf", convention }))).toEqual(EXPECTED);
  });

  test("is not complete unless that is declared", async () => {
    const { recorders } = await traced({ encoding: "protobuf" });
    expect(recorders[0]).toMatchObject({ complete: false, gaps: [{ code: "trace_incomplete" }] });
  });

  test("in a process that exits hard loses a call, and the parent that is missing shows it", async () => {
    const { recorders, calls } = await traced({
      encoding: "protobuf",
      ending: "hard",
      declaredComplete: true,
    });
    expect(calls.map(shownName)).toEqual(["get_order", "write_file"]);
    expect(recorders[0]?.gaps).toEqual([
      expect.objectContaining({
        code: "trace_incomplete",
        detail: expect.stringContaining("parents"),
      }),
    ]);
  });
});

interface Upstream extends AsyncDisposable {
  readonly url: string;
  readonly requests: { path: string; bytes: number; headers: IncomingMessage["headers"] }[];
}

async function upstream(status = 200): Promise<Upstream> {
  const requests: Upstream["requests"] = [];
  const server = createServer((request, response) => {
    let bytes = 0;
    request.on("data", (chunk: Buffer) => (bytes += chunk.length));
    request.on("end", () => {
      requests.push({ path: request.url ?? "", bytes, headers: request.headers });
      response.writeHead(status, { "content-type": "application/x-protobuf" }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const CLAIMS = JSON.stringify({
  subGoals: [
    {
      name: "asked",
      condition: {
        kind: "tools_called",
        requirements: [{ name: "get_order", arguments: { order_id: "A-7" }, outcome: "ok" }],
      },
    },
    {
      name: "not-cancelled",
      expect: "refuted",
      condition: { kind: "tools_called", requirements: [{ name: "cancel_order" }] },
    },
  ],
});

async function run(more: readonly string[], agent: readonly string[], env: NodeJS.ProcessEnv = {}) {
  using place = new Workplace();
  const claims = place.write("claims.json", CLAIMS);
  const args = ["run", "--json", "--expect", claims, ...more, "--", process.execPath, AGENT];
  const done = await ended(
    spawn(process.execPath, [MAIN, ...args, ...agent], {
      cwd: place.root,
      env: { ...place.environment, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );
  const report = JSON.parse(done.stdout);
  const values = report.subGoals.map((goal: { verdict: { value: string } }) => goal.verdict.value);
  return { ...done, report, values };
}

describe("upheld run", { timeout: 60_000 }, () => {
  test("receives the calls of a traced agent, and claims no absence from them", async () => {
    const { report, values } = await run([], ["protobuf", "orderly"]);
    expect(values).toEqual(["upheld", "undetermined"]);
    expect(report.calls.counts).toEqual({ ok: 1, refused: 0, error: 1, unfinished: 0 });
    expect(report.subGoals[0].method).toBe("calls reported");
    expect(report.subGoals[0].rationale).toContain("reported by the agent");
  });

  test("believes that there were no others where that is declared", async () => {
    expect((await run(["--otlp-complete"], ["protobuf", "orderly"])).values).toEqual([
      "upheld",
      "refuted",
    ]);
  });

  test("but not of an agent that was killed, whatever was declared", async () => {
    const { values, report } = await run(["--otlp-complete"], ["protobuf", "hard"]);
    expect(values).toEqual(["upheld", "undetermined"]);
    expect(JSON.stringify(report.subGoals[1].verdict.gaps)).toContain("trace_incomplete");
  });

  test("nor of one that samples, or is not traced at all", async () => {
    const sampled = await run(["--otlp-complete"], ["protobuf", "orderly"], {
      OTEL_TRACES_SAMPLER: "traceidratio",
    });
    expect(sampled.values).toContain("undetermined");
    const off = await run(["--otlp-complete"], ["protobuf", "orderly"], {
      OTEL_TRACES_SAMPLER: "always_off",
    });
    expect(off.report.subGoals[1].verdict.value).toBe("undetermined");
  });

  test("gives traces on to the endpoint that was set, unchanged, with their headers", async () => {
    await using collector = await upstream();
    const { values } = await run([], ["protobuf", "orderly"], {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/base/`,
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20abc",
    });
    expect(values).toEqual(["upheld", "undetermined"]);
    expect(collector.requests.length).toBeGreaterThan(0);
    for (const { path, bytes, headers } of collector.requests) {
      expect([path, bytes > 0]).toEqual(["/base/v1/traces", true]);
      expect(headers).toMatchObject({
        authorization: "Bearer abc",
        "content-type": "application/x-protobuf",
      });
    }
  });

  test("and to one of traces alone", async () => {
    await using collector = await upstream();
    await run([], ["json", "orderly"], {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/custom?k=v`,
    });
    expect(collector.requests[0]?.path).toBe("/custom?k=v");
  });

  test("records also where that endpoint is gone or refuses", async () => {
    const gone = await run([], ["protobuf", "orderly"], {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
      OTEL_EXPORTER_OTLP_TIMEOUT: "1000",
    });
    expect(gone.values).toEqual(["upheld", "undetermined"]);
    await using collector = await upstream(400);
    const refused = await run([], ["protobuf", "orderly"], {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    });
    expect(refused.values).toEqual(["upheld", "undetermined"]);
  });

  test("says that gRPC is not given on, and starts no receiver when asked not to", async () => {
    const grpc = await run([], ["protobuf", "orderly"], {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4317",
      OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
    });
    expect(grpc.stderr).toContain("takes gRPC");
    expect(grpc.values).toEqual(["upheld", "undetermined"]);
    const without = await run(["--no-otlp"], ["protobuf", "orderly"], {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
      OTEL_EXPORTER_OTLP_TIMEOUT: "500",
    });
    expect(without.values).toEqual(["undetermined", "undetermined"]);
    expect(without.report).not.toHaveProperty("calls");
  });
});
