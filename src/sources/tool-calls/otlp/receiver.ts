import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";
import type { CallRecorder } from "../recording.ts";
import { readJsonSpans } from "./json.ts";
import { OTLP, SpanLog, type SpanLogOptions } from "./span-log.ts";
import { OTLP_LIMITS } from "./span.ts";

/** The kinds of telemetry, by the end of their paths. */
export const SIGNALS = ["traces", "metrics", "logs"] as const;
export type OtlpSignal = (typeof SIGNALS)[number];

/** Gives one request on to where the agent's telemetry went before; answers as that endpoint does. */
export type Forward = (request: {
  readonly signal: OtlpSignal;
  readonly body: Buffer;
  readonly headers: IncomingMessage["headers"];
}) => Promise<{ readonly status: number; readonly body: Buffer; readonly contentType: string }>;

export interface ReceiverOptions extends SpanLogOptions {
  readonly forward?: Forward | undefined;
}

/** An OTLP endpoint on loopback, under a path that nobody can guess, so that what arrives is of this run. */
export interface OtlpReceiver extends CallRecorder, AsyncDisposable {
  /** The base that an exporter is given; it adds "/v1/traces". */
  readonly endpoint: string;
  /** Something happened by which spans may be lost: a gap. */
  doubt(detail: string): void;
  /** Whether any request with spans came in. */
  hasSpans(): boolean;
  /** Ends when the requests that came in are answered, at the latest after a second. */
  close(): Promise<void>;
}

const DRAIN_MS = 1_000;
const REQUEST_TIMEOUT_MS = 30_000;

interface UnpackOptions {
  readonly maxOutputLength: number;
  readonly chunkSize: number;
}

const UNPACK_CHUNK_BYTES = 1_048_576;

const UNPACK: Readonly<Record<string, (body: Buffer, options: UnpackOptions) => Promise<Buffer>>> =
  {
    gzip: promisify<Buffer, UnpackOptions, Buffer>(gunzip),
    deflate: promisify<Buffer, UnpackOptions, Buffer>(inflate),
    br: promisify<Buffer, UnpackOptions, Buffer>(brotliDecompress),
  };

/**
 * Starts a receiver of OTLP over HTTP, in JSON and protobuf, packed or not. It answers the paths of logs and metrics and keeps
 * nothing of them. Bodies are bounded; one that cannot be read is refused, and a gap. Rejects where no port can be had.
 */
export async function startOtlpReceiver(options: ReceiverOptions): Promise<OtlpReceiver> {
  const log = new SpanLog(options);
  const prefix = `/${randomBytes(16).toString("hex")}`;
  const desk = new Desk(log, prefix, options.forward);
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS, maxHeaderSize: 65_536 });
  server.on("request", (request, response) => void desk.serve(request, response));
  await listen(server);
  const { port } = server.address() as AddressInfo; // listening on a port, not a path
  const close = (): Promise<void> => shut(server, desk);
  return {
    name: OTLP,
    kind: OTLP,
    endpoint: `http://127.0.0.1:${port}${prefix}`,
    doubt: (detail) => log.refuse(detail),
    hasSpans: () => log.isHeard,
    close,
    // Whoever asks has seen the agent's end: what is under way is waited for, and nothing more is taken.
    async read() {
      await close();
      return log.recording();
    },
    [Symbol.asyncDispose]: close,
  };
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
}

async function shut(server: Server, desk: Desk): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const late = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await Promise.all([closed, desk.settled()]);
  clearTimeout(late);
}

/** Serves requests one by one, and holds at most so many bytes of them at a time. */
class Desk {
  readonly #log: SpanLog;
  readonly #prefix: string;
  readonly #forward: Forward | undefined;
  readonly #serving = new Set<Promise<void>>();
  #heldBytes = 0;
  /** One body is unpacked and read at a time: many small ones can unpack to much. */
  #lastRead: Promise<unknown> = Promise.resolve();

  constructor(log: SpanLog, prefix: string, forward: Forward | undefined) {
    this.#log = log;
    this.#prefix = prefix;
    this.#forward = forward;
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#serving);
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const serving = this.#answer(request, response).catch(() => {
      // Not even an answer could be given: the sender is gone.
      response.destroy();
    });
    this.#serving.add(serving);
    await serving;
    this.#serving.delete(serving);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const signal = SIGNALS.find((each) => request.url === `${this.#prefix}/v1/${each}`);
    if (signal === undefined || request.method !== "POST") {
      request.resume();
      reply(response, signal === undefined ? 404 : 405);
      return;
    }
    if (signal === "traces") this.#log.countRequest();
    const body = await this.#bodyOf(request);
    if (typeof body === "number") {
      if (signal === "traces") this.#log.refuse(REFUSALS[body] ?? "a request was refused");
      request.resume();
      reply(response, body);
      return;
    }
    try {
      await this.#take({ signal, body, request, response });
    } finally {
      this.#heldBytes -= body.length;
    }
  }

  async #take({ signal, body, request, response }: Taken): Promise<void> {
    const isRead = signal !== "traces" || (await this.#readInTurn(body, request));
    if (this.#forward !== undefined) {
      const answer = await this.#forward({ signal, body, headers: request.headers });
      reply(response, answer.status, answer.contentType, answer.body);
      return;
    }
    reply(response, isRead ? 200 : 400, isJson(request) ? JSON_TYPE : PROTOBUF_TYPE);
  }

  #readInTurn(body: Buffer, request: IncomingMessage): Promise<boolean> {
    const read = this.#lastRead.then(() => this.#read(body, request));
    this.#lastRead = read;
    return read;
  }

  /** True where every span of the body was read. */
  async #read(body: Buffer, request: IncomingMessage): Promise<boolean> {
    try {
      const unpacked = await unpack(body, request.headers["content-encoding"]);
      // The wire format is loaded with the first body in it: most runs have none.
      const read = isJson(request)
        ? readJsonSpans
        : (await import("./protobuf.ts")).readProtobufSpans;
      read(unpacked, (span) => this.#log.add(span));
      return true;
    } catch {
      this.#log.refuse("a request could not be read");
      return false;
    }
  }

  /** The body, or the status with which it is refused. */
  async #bodyOf(request: IncomingMessage): Promise<Buffer | number> {
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        size += chunk.length;
        this.#heldBytes += chunk.length;
        chunks.push(chunk);
        const status = this.#refusalOf(size);
        if (status === undefined) continue;
        this.#heldBytes -= size;
        return status;
      }
      return Buffer.concat(chunks);
    } catch {
      this.#heldBytes -= size;
      return BROKEN_OFF;
    }
  }

  #refusalOf(size: number): number | undefined {
    if (size > OTLP_LIMITS.maxBodyBytes) return 413;
    return this.#heldBytes > OTLP_LIMITS.maxInFlightBytes ? 503 : undefined;
  }
}

interface Taken {
  readonly signal: OtlpSignal;
  readonly body: Buffer;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

const BROKEN_OFF = 400;
const REFUSALS: Readonly<Record<number, string>> = {
  [BROKEN_OFF]: "a request broke off",
  413: `a request was larger than ${OTLP_LIMITS.maxBodyBytes} bytes`,
  503: "a request came while too much was waiting",
};

const JSON_TYPE = "application/json";
const PROTOBUF_TYPE = "application/x-protobuf";

function isJson({ headers }: IncomingMessage): boolean {
  return headers["content-type"]?.toLowerCase().startsWith(JSON_TYPE) ?? false;
}

async function unpack(body: Buffer, encoding: string | undefined): Promise<Buffer> {
  const name = encoding?.trim().toLowerCase() ?? "";
  if (name === "" || name === "identity") return body;
  const unpackBody = UNPACK[name];
  if (unpackBody === undefined) throw new RangeError(`unknown encoding ${name}`);
  return unpackBody(body, {
    maxOutputLength: OTLP_LIMITS.maxBodyBytes,
    chunkSize: UNPACK_CHUNK_BYTES,
  });
}

/** An empty protobuf message, and an empty JSON object: everything was taken. */
function reply(
  response: ServerResponse,
  status: number,
  contentType: string = JSON_TYPE,
  body: Buffer = Buffer.from(contentType === JSON_TYPE ? "{}" : ""),
): void {
  const headers: Record<string, string | number> = {
    "content-type": contentType,
    "content-length": body.length,
  };
  if (status === 503) headers["retry-after"] = 1;
  // A sender that still has much to send is not listened to any longer.
  if (status === 413) headers["connection"] = "close";
  response.writeHead(status, headers).end(body);
}
