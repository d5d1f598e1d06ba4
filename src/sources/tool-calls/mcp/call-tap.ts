import { isUpheldError } from "../../../core/errors.ts";
import { parseStrictJson } from "../../../core/strict-json.ts";
import { callValue, CallOutcome } from "../../../core/tool-call.ts";
import { LineSplitter } from "../lines.ts";

/** The longest message that is looked into. A longer one passes as all do, and is recorded as one that was not read. */
export const MAX_MESSAGE_BYTES = 67_108_864;

/** The most that is written of one value. The reader has a limit of its own. */
const MAX_VALUE_BYTES = 1_048_576;

/** A line of a calls file, as `call-line.ts` reads it. */
export type RecordedLine = Readonly<Record<string, unknown>>;

export interface TapOptions {
  /** Tells this connection from others that write to the same file. */
  readonly session: string;
  /** The server, as the agent named it: a program's name, never its arguments. */
  readonly server: string;
  readonly now: () => string;
  readonly record: (line: RecordedLine) => void;
}

interface OpenCall {
  readonly id: string;
  readonly line: RecordedLine;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Listens to both directions of an MCP connection over stdio. A call is recorded when it is asked for, before the server sees the
 * question's end, and again with its result when the answer passes: no call that reached the server is missing, whenever this
 * process is ended.
 */
export class CallTap {
  readonly #options: TapOptions;
  readonly #open = new Map<string, OpenCall>();
  readonly #fromClient: LineSplitter;
  readonly #fromServer: LineSplitter;
  #count = 0;

  constructor(options: TapOptions) {
    this.#options = options;
    this.#fromClient = new LineSplitter(MAX_MESSAGE_BYTES, (line, isCut) =>
      this.#each(line, isCut, (message, isExact) => this.#asked(message, isExact)),
    );
    this.#fromServer = new LineSplitter(MAX_MESSAGE_BYTES, (line, isCut) =>
      this.#each(line, isCut, (message, isExact) => this.#answered(message, isExact)),
    );
  }

  /** Bytes that the client sent and the server is about to get. */
  fromClient(chunk: Uint8Array): void {
    this.#fromClient.push(chunk);
  }

  /** Bytes that the server sent and the client is about to get. */
  fromServer(chunk: Uint8Array): void {
    this.#fromServer.push(chunk);
  }

  /** What stands without a line break at the end, as both sides are gone. */
  end(): void {
    this.#fromClient.end();
    this.#fromServer.end();
  }

  #each(line: Uint8Array, isCut: boolean, take: (message: Fields, isExact: boolean) => void): void {
    if (isCut) {
      this.#options.record({ gap: `a message was longer than ${MAX_MESSAGE_BYTES} bytes` });
      return;
    }
    const text = new TextDecoder().decode(line);
    const read = text.trim() === "" ? undefined : parsed(text);
    if (read === undefined) return;
    const { value, isExact } = read;
    for (const message of Array.isArray(value) ? value : [value])
      if (isFields(message)) take(message, isExact);
  }

  #asked({ method, id, params }: Fields, isExact: boolean): void {
    if (method !== "tools/call" || !isId(id)) return;
    const given = isFields(params) ? params : {};
    this.#count += 1;
    const call = {
      id: toolCallId(given) ?? `mcp:${this.#options.session}:${this.#count}`,
      line: {
        recorder: "mcp-proxy",
        by: this.#options.server,
        name:
          typeof given["name"] === "string" && given["name"] !== "" ? given["name"] : "(no name)",
        ...valueFields("arguments", given["arguments"] ?? {}, isExact),
        startedAt: this.#options.now(),
      },
    };
    this.#open.set(keyOf(id), call);
    this.#options.record({ id: call.id, ...call.line, outcome: CallOutcome.enum.unfinished });
  }

  #answered({ id, method, result, error }: Fields, isExact: boolean): void {
    if (method !== undefined || !isId(id)) return;
    const call = this.#open.get(keyOf(id));
    if (call === undefined) return;
    this.#open.delete(keyOf(id));
    this.#options.record({
      id: call.id,
      ...call.line,
      ...valueFields("result", (error === undefined ? result : error) ?? null, isExact),
      outcome: error === undefined ? outcomeOfResult(result) : outcomeOfError(error),
      endedAt: this.#options.now(),
    });
  }
}

function parsed(text: string): { readonly value: unknown; readonly isExact: boolean } | undefined {
  try {
    return { value: parseStrictJson(text), isExact: true };
  } catch (error) {
    if (!isUpheldError(error)) throw error;
  }
  try {
    return { value: JSON.parse(text), isExact: false };
  } catch {
    return undefined;
  }
}

/** A value for a line: whole, its head where it is large, nothing where it cannot be written without loss. */
function valueFields(key: "arguments" | "result", value: unknown, isExact: boolean): RecordedLine {
  if (!isExact) return {};
  const kept = callValue(value, MAX_VALUE_BYTES);
  return kept.kind === "cut"
    ? { [`${key}Cut`]: { head: kept.head, sizeBytes: kept.sizeBytes } }
    : { [key]: value };
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A request has an id; without one a message is a notification, which no server answers. */
function isId(id: unknown): id is string | number {
  return typeof id === "string" || typeof id === "number";
}

function keyOf(id: string | number): string {
  return `${typeof id}:${id}`;
}

/** The id that the model gave to the call, where the client passes it on beside the question ("claudecode/toolUseId"). */
function toolCallId({ _meta: meta }: Fields): string | undefined {
  if (!isFields(meta)) return undefined;
  const [, id] =
    Object.entries(meta).find(
      ([key, value]) =>
        typeof value === "string" &&
        value !== "" &&
        /(?:^|[/._-])tool_?(?:use|call)_?id$/i.test(key),
    ) ?? [];
  return typeof id === "string" ? id : undefined;
}

/** A tool's own failure comes as a result that says so. */
function outcomeOfResult(result: unknown): CallOutcome {
  return isFields(result) && result["isError"] === true ? "error" : "ok";
}

const [METHOD_NOT_FOUND, INVALID_PARAMS] = [-32_601, -32_602];

/** A server that knows no such tool, or takes no such arguments, has refused; it did not crash. */
function outcomeOfError(error: unknown): CallOutcome {
  const code = isFields(error) ? error["code"] : undefined;
  return code === METHOD_NOT_FOUND || code === INVALID_PARAMS ? "refused" : "error";
}
