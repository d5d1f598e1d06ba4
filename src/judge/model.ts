import type { Judge, JudgePrompt, Reply, Usage } from "./judge.ts";
import { parseModelUrl, plainFetch, retryAfterMs } from "./endpoint.ts";
import { PROMPT_VERSION } from "./prompt.ts";

/** The two protocols that are spoken: that of OpenAI, which most servers speak, and that of Anthropic. */
export type ModelApi = "openai" | "anthropic";

export interface ModelJudgeOptions {
  readonly api: ModelApi;
  readonly model: string;
  /** Where the API is, up to its version: "https://api.openai.com/v1". Default: that of the maker. */
  readonly url?: string | undefined;
  /** Never shown, never recorded. */
  readonly key?: string | undefined;
  /** Not sent where it is not given: some models refuse it. */
  readonly temperature?: number | undefined;
  /** Default: 8 192 for Anthropic, which needs one; else the server's. */
  readonly maxOutputTokens?: number | undefined;
  /** Milliseconds for one answer. Default 120 000. */
  readonly timeoutMs?: number | undefined;
}

const DEFAULT_URL: Readonly<Record<ModelApi, string>> = {
  openai: "https://api.openai.com/v1",
  anthropic: "https://api.anthropic.com/v1",
};
const DEFAULT_TIMEOUT_MS = 120_000;
const ANTHROPIC_OUTPUT_TOKENS = 8_192;
const MAX_DETAIL = 300;

/** A language model, as far as it is used. */
interface LanguageModel {
  doGenerate(options: {
    readonly prompt: [
      { role: "system"; content: string },
      { role: "user"; content: [{ type: "text"; text: string }] },
    ];
    readonly abortSignal: AbortSignal;
    readonly temperature?: number;
    readonly maxOutputTokens?: number;
  }): PromiseLike<Generated>;
}

interface Generated {
  readonly content: readonly { readonly type: string; readonly text?: unknown }[];
  readonly finishReason: { readonly unified: string; readonly raw: string | undefined };
  readonly usage: {
    readonly inputTokens: { readonly total: number | undefined };
    readonly outputTokens: { readonly total: number | undefined };
  };
  readonly response?: { readonly modelId?: string | undefined };
}

/** A model behind an API as a judge. Throws "argument_invalid" on an address that is neither https nor this machine. */
export function modelJudge(options: ModelJudgeOptions): Judge {
  const { api, model, temperature, key } = options;
  const url = parseModelUrl(options.url ?? DEFAULT_URL[api]);
  const maxOutputTokens =
    options.maxOutputTokens ?? (api === "anthropic" ? ANTHROPIC_OUTPUT_TOKENS : undefined);
  const endpoint = `${url.origin}${url.pathname}`.replace(/\/$/, "");
  const parameters = {
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
  };
  const loaded = { api, model, endpoint, key };
  return {
    identity: {
      kind: "model",
      name: model,
      promptVersion: PROMPT_VERSION,
      parameters: { api, endpoint, ...parameters },
      members: [],
    },
    async ask(prompt, { signal }) {
      const timeout = AbortSignal.timeout(options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
      const abortSignal = AbortSignal.any([signal, timeout]);
      try {
        const languageModel = await loadModel(loaded);
        return replyOf(
          await languageModel.doGenerate({
            prompt: messagesOf(prompt),
            abortSignal,
            ...parameters,
          }),
        );
      } catch (error) {
        signal.throwIfAborted();
        return timeout.aborted ? timedOut() : failureOf(error, key);
      }
    },
  };
}

function messagesOf({
  system,
  user,
}: JudgePrompt): Parameters<LanguageModel["doGenerate"]>[0]["prompt"] {
  return [
    { role: "system", content: system },
    { role: "user", content: [{ type: "text", text: user }] },
  ];
}

interface ModelAddress {
  readonly api: ModelApi;
  readonly model: string;
  readonly endpoint: string;
  readonly key: string | undefined;
}

/** Loaded when it is needed: the clients take a while. A key is always handed over, so that none is taken from elsewhere. */
async function loadModel({ api, model, endpoint, key }: ModelAddress): Promise<LanguageModel> {
  switch (api) {
    case "openai": {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const provider = createOpenAICompatible({
        name: "judge",
        baseURL: endpoint,
        fetch: plainFetch,
        ...(key === undefined ? {} : { apiKey: key }),
      });
      return provider.chatModel(model);
    }
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      const provider = createAnthropic({ baseURL: endpoint, fetch: plainFetch, apiKey: key ?? "" });
      return provider(model);
    }
  }
}

function replyOf({ content, finishReason, usage: used, response }: Generated): Reply {
  const text = content
    .map((part) => (part.type === "text" && typeof part.text === "string" ? part.text : ""))
    .join("");
  const usage: Usage = {
    model: response?.modelId,
    inputTokens: used.inputTokens.total,
    outputTokens: used.outputTokens.total,
  };
  const failed = (
    code: "answer_refused" | "answer_cut" | "answer_empty",
    detail: string,
  ): Reply => ({
    kind: "failure",
    code,
    detail,
    retry: true,
    text,
    usage,
  });
  const raw = (finishReason.raw ?? finishReason.unified).slice(0, 100);
  if (finishReason.unified === "content-filter") return failed("answer_refused", raw);
  if (finishReason.unified === "length") return failed("answer_cut", raw);
  if (text.trim() === "") return failed("answer_empty", raw);
  return { kind: "answer", text, usage };
}

function timedOut(): Reply {
  return { kind: "failure", code: "timed_out", detail: "no answer in time", retry: true };
}

/** What an API's client throws, as far as it is used. */
interface ApiError {
  readonly statusCode?: unknown;
  readonly responseHeaders?: Readonly<Record<string, string>>;
  readonly message: string;
}

function failureOf(error: unknown, key: string | undefined): Reply {
  const { statusCode, responseHeaders, message }: ApiError =
    error instanceof Error ? error : { message: String(error) };
  const status = typeof statusCode === "number" ? statusCode : undefined;
  const told = withoutKey(message, key).slice(0, MAX_DETAIL);
  const detail = status === undefined ? told : `HTTP ${status}: ${told}`;
  return {
    kind: "failure",
    ...failureOfStatus(status),
    detail,
    retryAfterMs: retryAfterMs(responseHeaders, Date.now()),
  };
}

function failureOfStatus(
  status: number | undefined,
): Pick<Extract<Reply, { kind: "failure" }>, "code" | "retry"> {
  if (status === undefined) return { code: "unreachable", retry: true };
  if (status === 429) return { code: "rate_limited", retry: true };
  if (status >= 500 || status === 408) return { code: "server_error", retry: true };
  // The server answered, and not in its own protocol.
  if (status >= 200 && status < 300) return { code: "answer_malformed", retry: true };
  return { code: "request_refused", retry: false };
}

/** Servers like to quote the key that they refuse. */
function withoutKey(text: string, key: string | undefined): string {
  return key === undefined || key === "" ? text : text.replaceAll(key, "[key]");
}
