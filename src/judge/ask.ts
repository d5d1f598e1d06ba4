import { headOf, wellFormed } from "../core/tool-call.ts";
import type { ClaimAnswer } from "./answer.ts";
import { parseAnswer } from "./answer.ts";
import type { Judge, Reply, Usage } from "./judge.ts";
import type { Asking, JudgeFailureCode } from "./judgment.ts";
import type { JudgeLimits } from "./limits.ts";
import type { Question } from "./plan.ts";
import { promptOf, questionDigest } from "./prompt.ts";

/** A question is asked once more after a failure of the judge, and no more. */
const MAX_ATTEMPTS = 2;
/** Longer than this a judge is not waited for. */
const MAX_WAIT_MS = 60_000;
const PAUSE_MS = 500;
/** Bytes kept of an answer as it came. */
const MAX_RAW_BYTES = 65_536;

/** US dollars for a million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
}

/** What asking takes from outside: identities, unforeseeable nonces and time. */
export interface AskingMeans {
  readonly signal: AbortSignal;
  readonly limits: JudgeLimits;
  readonly newId: () => string;
  /** At least 128 bits that nobody can foresee, as text. */
  readonly newNonce: () => string;
  /** A clock that never goes back. */
  readonly milliseconds: () => number;
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  readonly price?: Price | undefined;
}

/** What came of a question: an answer for each claim, or how the judge failed. */
export type Asked = { readonly asking: Asking } & (
  | { readonly ok: true; readonly answers: ReadonlyMap<string, ClaimAnswer> }
  | { readonly ok: false; readonly code: JudgeFailureCode; readonly detail: string }
);

type Attempt = { readonly text: string | undefined; readonly usage: Usage } & (
  | { readonly ok: true; readonly answers: ReadonlyMap<string, ClaimAnswer> }
  | {
      readonly ok: false;
      readonly code: JudgeFailureCode;
      readonly detail: string;
      readonly retryInMs: number | null;
    }
);

/** Puts a question to a judge, at most twice. Rejects only with the signal's reason. */
export async function ask(judge: Judge, question: Question, means: AskingMeans): Promise<Asked> {
  const begun = means.milliseconds();
  const attempts: Attempt[] = [];
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const tried = await askOnce(judge, question, { means, attempt });
    attempts.push(tried);
    if (tried.ok || tried.retryInMs === null || attempt === MAX_ATTEMPTS) break;
    await pause(tried.retryInMs, means);
  }
  const asking = askingOf(question, attempts, means, means.milliseconds() - begun);
  const last = attempts.at(-1);
  if (last?.ok === true) return { ok: true, answers: last.answers, asking };
  const { code = "unreachable", detail = "" } = last ?? {};
  return { ok: false, code, detail: wellFormed(detail), asking };
}

async function pause(milliseconds: number, { wait, signal }: AskingMeans): Promise<void> {
  try {
    await wait(milliseconds, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

async function askOnce(
  judge: Judge,
  question: Question,
  { means, attempt }: { readonly means: AskingMeans; readonly attempt: number },
): Promise<Attempt> {
  const { signal, limits, newNonce } = means;
  signal.throwIfAborted();
  const prompt = promptOf(question, limits, newNonce);
  const reply = await judge.ask(prompt, {
    signal,
    question: questionDigest(question, limits),
    attempt,
  });
  return attemptOf(reply, question, limits);
}

function attemptOf(reply: Reply, { claims }: Question, { maxAnswerBytes }: JudgeLimits): Attempt {
  const { text, usage = {} } = reply;
  if (reply.kind === "failure") {
    const waitMs = reply.retryAfterMs ?? PAUSE_MS;
    const mayHelp = reply.retry && waitMs <= MAX_WAIT_MS;
    return {
      ok: false,
      ...failure(reply.code, reply.detail, mayHelp ? waitMs : null),
      text,
      usage,
    };
  }
  if (byteLength(reply.text) > maxAnswerBytes)
    return { ok: false, ...failure("answer_malformed", "the answer is too long", 0), text, usage };
  const parsed = parseAnswer(
    reply.text,
    claims.map(({ claim }) => claim.name),
  );
  return parsed.ok
    ? { ok: true, answers: parsed.answers, text, usage }
    : { ok: false, ...failure("answer_malformed", parsed.detail, 0), text, usage };
}

function failure(
  code: JudgeFailureCode,
  detail: string,
  retryInMs: number | null,
): Pick<Extract<Attempt, { ok: false }>, "code" | "detail" | "retryInMs"> {
  return { code, detail, retryInMs };
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

function askingOf(
  question: Question,
  attempts: readonly Attempt[],
  { limits, newId, price }: AskingMeans,
  latencyMs: number,
): Asking {
  const inputTokens = sumOf(attempts.map(({ usage }) => usage.inputTokens));
  const outputTokens = sumOf(attempts.map(({ usage }) => usage.outputTokens));
  const model = attempts.findLast(({ usage }) => usage.model !== undefined)?.usage.model;
  const raw = attempts.at(-1)?.text;
  return {
    id: newId(),
    question: questionDigest(question, limits),
    claims: question.claims.length,
    attempts: attempts.length,
    latencyMs: Math.max(0, Math.round(latencyMs)),
    ...(model === undefined || model === "" ? {} : { model }),
    ...(inputTokens === undefined ? {} : { inputTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
    ...costOf(inputTokens, outputTokens, price),
    ...(raw === undefined ? {} : rawOf(raw)),
  };
}

function costOf(
  inputTokens: number | undefined,
  outputTokens: number | undefined,
  price: Price | undefined,
): Pick<Asking, "costUsd"> {
  if (price === undefined || inputTokens === undefined || outputTokens === undefined) return {};
  return { costUsd: (inputTokens * price.input + outputTokens * price.output) / 1_000_000 };
}

function rawOf(text: string): Pick<Asking, "raw" | "rawBytes"> {
  const whole = wellFormed(text);
  const raw = headOf(whole, MAX_RAW_BYTES);
  return raw === whole ? { raw } : { raw, rawBytes: byteLength(whole) };
}

function sumOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0);
}
