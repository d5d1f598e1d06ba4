import { request as startHttp, type IncomingMessage } from "node:http";
import { request as startHttps } from "node:https";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** Bytes of an answer that are read; what is longer is no answer of a collector. */
const MAX_ANSWER_BYTES = 65_536;

/** One request and how long it may take. */
export interface Sending {
  readonly url: string;
  readonly method: "PUT" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  /** Opened anew for each try. */
  readonly body: () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  /** Milliseconds in which nothing moves before it is given up. */
  readonly idleMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** What came back, or why nothing did. Texts of an answer are never told: they could hold anything. */
export type Exchange =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly retryAfter: string | null;
      /** The answer's JSON; undefined where it is none, or more than may be read. */
      readonly value: unknown;
    }
  | { readonly kind: "silence"; readonly reason: string };

/**
 * Sends once. Rejects only with the signal's reason. A redirect is not followed: the token is for one place. (`fetch` of
 * Node 20 holds the whole body of an upload in memory, however it is handed over.)
 */
export async function exchange(sending: Sending): Promise<Exchange> {
  const { signal } = sending;
  using idle = idleLimit(sending.idleMs, signal);
  try {
    return await answered(sending, idle);
  } catch (error) {
    signal?.throwIfAborted();
    return { kind: "silence", reason: idle.signal.aborted ? "no answer in time" : codeOf(error) };
  }
}

async function answered(sending: Sending, idle: IdleLimit): Promise<Exchange> {
  const url = new URL(sending.url);
  const { method, headers } = sending;
  const start = url.protocol === "https:" ? startHttps : startHttp;
  const request = start(url, { method, headers, signal: idle.signal });
  try {
    const response = new Promise<IncomingMessage>((resolve, reject) => {
      request.once("response", resolve).on("error", reject);
    });
    const body = Readable.from(moving(sending.body(), idle.moved), { objectMode: false });
    // What goes wrong here is an error of the request, too.
    pipeline(body, request).catch(() => undefined);
    return await answerOf(await response, idle.moved);
  } finally {
    // An answer can come before everything was sent: the rest is not wanted.
    if (!request.writableFinished) request.destroy();
  }
}

async function answerOf(response: IncomingMessage, moved: () => void): Promise<Exchange> {
  const value = jsonOf(await boundedText(response, moved));
  const retryAfter = response.headers["retry-after"] ?? null;
  return { kind: "answer", status: response.statusCode ?? 0, retryAfter, value };
}

interface IdleLimit extends Disposable {
  readonly signal: AbortSignal;
  /** Something moved: the time starts again. */
  readonly moved: () => void;
}

function idleLimit(idleMs: number, outer: AbortSignal | undefined): IdleLimit {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  const timer = setTimeout(abort, idleMs);
  if (outer?.aborted === true) abort();
  outer?.addEventListener("abort", abort, { once: true });
  return {
    signal: controller.signal,
    moved: () => void timer.refresh(),
    [Symbol.dispose]() {
      clearTimeout(timer);
      outer?.removeEventListener("abort", abort);
    },
  };
}

async function* moving(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  moved: () => void,
): AsyncGenerator<Uint8Array> {
  for await (const piece of body) {
    moved();
    yield piece;
  }
}

async function boundedText(response: IncomingMessage, moved: () => void): Promise<string | null> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of response as AsyncIterable<Uint8Array>) {
    moved();
    pieces.push(piece);
    size += piece.length;
    if (size > MAX_ANSWER_BYTES) return null;
  }
  return Buffer.concat(pieces).toString("utf8");
}

function jsonOf(text: string | null): unknown {
  try {
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function codeOf(error: unknown): string {
  const code: unknown = Reflect.get(Object(error), "code");
  return typeof code === "string" && /^[A-Z_0-9]{3,60}$/.test(code) ? code : "the connection broke";
}
