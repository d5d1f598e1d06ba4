// An agent that is traced by the real OpenTelemetry SDK: node otel-agent.mjs json|protobuf orderly|hard [CONVENTION]
import { SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { setTimeout as sleep } from "node:timers/promises";

const [encoding, ending, convention = "genai"] = process.argv.slice(2);
const exporter = encoding === "json" ? new JsonExporter() : new ProtobufExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
provider.register();
const tracer = trace.getTracer("otel-agent");

const CONVENTIONS = {
  genai: ({ name, id, given, result }) => ({
    span: `execute_tool ${name}`,
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": name,
      "gen_ai.tool.call.id": id,
      "gen_ai.tool.call.arguments": JSON.stringify(given),
      "gen_ai.tool.call.result": JSON.stringify(result),
    },
  }),
  openinference: ({ name, given, result }) => ({
    span: name,
    attributes: {
      "openinference.span.kind": "TOOL",
      "tool.name": name,
      "input.value": JSON.stringify(given),
      "input.mime_type": "application/json",
      "output.value": JSON.stringify(result),
    },
  }),
  traceloop: ({ name, given, result }) => ({
    span: `${name}.tool`,
    attributes: {
      "traceloop.span.kind": "tool",
      "traceloop.entity.name": name,
      "traceloop.entity.input": JSON.stringify({ args: [], kwargs: given }),
      "traceloop.entity.output": JSON.stringify(result),
    },
  }),
  vercel: ({ name, id, given, result }) => ({
    span: "ai.toolCall",
    attributes: {
      "ai.toolCall.name": name,
      "ai.toolCall.id": id,
      "ai.toolCall.args": JSON.stringify(given),
      "ai.toolCall.result": JSON.stringify(result),
    },
  }),
};

function call(described, { failed = false, end = true } = {}) {
  const { span: name, attributes } = CONVENTIONS[convention](described);
  return tracer.startActiveSpan(name, { attributes }, (span) => {
    if (failed) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: "disk full" });
      span.recordException(new Error("disk full"));
    }
    if (end) span.end();
  });
}

await tracer.startActiveSpan("invoke_agent", async (root) => {
  tracer.startActiveSpan("chat gpt", (span) => span.end());
  call({ name: "get_order", id: "call_1", given: { order_id: "A-7" }, result: { state: "open" } });
  await sleep(5);
  call(
    { name: "write_file", id: "call_2", given: { path: "a.txt" }, result: null },
    { failed: true },
  );
  if (ending === "hard") {
    await provider.forceFlush();
    call({ name: "cancel_order", id: "call_3", given: { order_id: "A-7" }, result: "done" });
    process.kill(process.pid, "SIGKILL");
    await sleep(60_000);
  }
  root.end();
});
await provider.shutdown();
