import { SIGNALS, type Forward, type OtlpSignal } from "./receiver.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const BASE = "OTEL_EXPORTER_OTLP_ENDPOINT";
const FORWARD_TIMEOUT_MS = 10_000;
/** How long spans wait in the agent before they are sent. */
const BATCH_DELAY_MS = "200";

/** Where an agent's telemetry went before. */
export interface PriorEndpoint {
  readonly urls: Readonly<Partial<Record<OtlpSignal, string>>>;
  /** It takes gRPC, into which what arrives is not translated: nothing is given on. */
  readonly isGrpc: boolean;
}

/** The endpoint that an environment names for traces; undefined where it names none. */
export function priorEndpoint(env: Environment): PriorEndpoint | undefined {
  const base = set(env[BASE]);
  const ofTraces = set(env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]);
  if (base === undefined && ofTraces === undefined) return undefined;
  const protocol =
    set(env["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"]) ?? set(env["OTEL_EXPORTER_OTLP_PROTOCOL"]);
  const urls = SIGNALS.map((signal) => {
    const own = set(env[`OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_ENDPOINT`]);
    return [
      signal,
      own ?? (base === undefined ? undefined : `${base.replace(/\/+$/, "")}/v1/${signal}`),
    ];
  });
  return { urls: Object.fromEntries(urls), isGrpc: protocol === "grpc" };
}

/**
 * What is set in the agent's environment, beside what was there: where to send traces, how, soon, and with content. Endpoints of
 * logs and metrics of their own stay. Names that the user has set to a wish of theirs, such as the capture of content, stay too.
 */
export function otlpEnvironment(env: Environment, endpoint: string): Environment {
  return {
    [BASE]: endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${endpoint}/v1/traces`,
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/protobuf",
    OTEL_TRACES_EXPORTER: withOtlp(set(env["OTEL_TRACES_EXPORTER"])),
    OTEL_BSP_SCHEDULE_DELAY: BATCH_DELAY_MS,
    ...unlessSet(env, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true"),
    ...unlessSet(env, "TRACELOOP_TRACE_CONTENT", "true"),
    ...pastProxy(env),
  };
}

/** The user's other exporters go on. "none" is no exporter. */
function withOtlp(exporters: string | undefined): string {
  const others = (exporters ?? "")
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "" && each !== "none" && each !== "otlp");
  return ["otlp", ...others].join(",");
}

/** A proxy of the machine cannot reach our loopback. */
function pastProxy(env: Environment): Environment {
  const hasProxy = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"].some(
    (name) => set(env[name]) !== undefined,
  );
  if (!hasProxy) return {};
  const direct = set(env["no_proxy"]) ?? set(env["NO_PROXY"]);
  const value = direct === undefined ? "127.0.0.1" : `${direct},127.0.0.1`;
  return { NO_PROXY: value, no_proxy: value };
}

function unlessSet(env: Environment, name: string, value: string): Environment {
  return set(env[name]) === undefined ? { [name]: value } : {};
}

/** A sampler that leaves out spans, where the environment asks for one. */
export function samplerOf(env: Environment): string | undefined {
  const sampler = set(env["OTEL_TRACES_SAMPLER"]);
  return sampler === undefined || /^(?:parentbased_)?always_on$/.test(sampler)
    ? undefined
    : sampler;
}

/** The span under which this whole process was started, by W3C trace context. */
export function outerSpanOf(env: Environment): string | undefined {
  return /^[0-9a-f]{2}-[0-9a-f]{32}-([0-9a-f]{16})-/.exec(set(env["TRACEPARENT"]) ?? "")?.[1];
}

function set(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === "" ? undefined : value.trim();
}

const KEPT_HEADERS =
  /^(?:host|connection|keep-alive|transfer-encoding|content-length|upgrade|te|trailer|expect|proxy-.*)$/;

/** Gives on what arrives, unchanged, with its headers. An endpoint that cannot be reached is a bad gateway, which exporters try again. */
export function forwardTo({ urls }: PriorEndpoint): Forward {
  return async ({ signal, body, headers }) => {
    const url = urls[signal];
    if (url === undefined)
      return { status: 200, body: Buffer.alloc(0), contentType: "application/x-protobuf" };
    const given = new Headers();
    for (const [name, value] of Object.entries(headers))
      if (value !== undefined && !KEPT_HEADERS.test(name)) given.set(name, String(value));
    try {
      const answer = await fetch(url, {
        method: "POST",
        headers: given,
        body,
        redirect: "manual",
        signal: AbortSignal.timeout(FORWARD_TIMEOUT_MS),
      });
      const contentType = answer.headers.get("content-type") ?? "application/x-protobuf";
      return { status: answer.status, body: Buffer.from(await answer.arrayBuffer()), contentType };
    } catch {
      return { status: 502, body: Buffer.alloc(0), contentType: "application/x-protobuf" };
    }
  };
}
