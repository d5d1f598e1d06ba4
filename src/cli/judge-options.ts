import { UpheldError } from "../core/errors.ts";
import type { Price } from "../judge/ask.ts";
import type { BudgetLimit } from "../judge/budget.ts";
import { commandJudge } from "../judge/command.ts";
import type { Judge } from "../judge/judge.ts";
import { readJudgments } from "../judge/judgment-file.ts";
import { JUDGE_LIMITS, type JudgeLimits } from "../judge/limits.ts";
import { modelJudge, type ModelApi } from "../judge/model.ts";
import { replayJudge } from "../judge/replay.ts";
import { usage, type Parsed } from "./options.ts";

/** Who judges, and how much may be spent on it. */
export const JUDGE_OPTIONS = {
  model: {
    value: "API:NAME",
    multiple: true,
    help: "a model as the judge: anthropic:NAME or openai:NAME (again: a panel)",
  },
  url: { value: "URL", help: "where the API of the models is; https, or http on this machine" },
  "key-env": { value: "NAME", help: "the environment variable that holds the key" },
  temperature: { value: "NUMBER", help: "sent to the model; left out by default" },
  "max-output-tokens": { value: "NUMBER", help: "the longest answer of a model" },
  command: {
    value: "COMMAND",
    multiple: true,
    help: "a program as the judge: the question on its input, the answer on its output",
  },
  replay: { value: "FILE", help: "recorded judgments as the judge: their answers, decided anew" },
  timeout: { value: "SECONDS", help: "for one answer (default 120)" },
  concurrency: { value: "NUMBER", help: "questions at once (default 4)" },
  "evidence-bytes": { value: "NUMBER", help: "evidence in one question (default 400000)" },
  "budget-tokens": { value: "NUMBER", help: "ask no more beyond so many tokens" },
  "budget-usd": { value: "NUMBER", help: "ask no more beyond so many US dollars (with --price)" },
  price: { value: "IN,OUT", help: "US dollars for a million tokens of input and of output" },
} as const;

const KEY_OF_API: Readonly<Record<ModelApi, string>> = {
  openai: "OPENAI_API_KEY",
  anthropic: "ANTHROPIC_API_KEY",
};

/** The judges that were asked for, in order. More than one is a panel. */
export async function judgesOf(
  parsed: Parsed,
  environment: NodeJS.ProcessEnv,
): Promise<readonly Judge[]> {
  const timeoutMs = secondsOf(parsed, "timeout");
  const replay = parsed.one("replay");
  const judges = [
    ...parsed.many("model").map((text) => modelOf(text, parsed, { environment, timeoutMs })),
    ...parsed.many("command").map((command) => commandJudge(command, { timeoutMs })),
    ...(replay === undefined ? [] : [replayJudge((await readJudgments(replay)).judgments)]),
  ];
  if (judges.length === 0)
    throw usage("who judges? name a --model, a --command, a --replay or a --person");
  const { maxEvidenceBytes } = judgeLimitsOf(parsed);
  return maxEvidenceBytes === JUDGE_LIMITS.maxEvidenceBytes
    ? judges
    : judges.map((judge) => shownLess(judge, maxEvidenceBytes));
}

/** A judge that is shown more or less is another judge: what it said before is no answer to this. */
function shownLess(judge: Judge, evidenceBytes: number): Judge {
  const { identity } = judge;
  return {
    ...judge,
    identity: { ...identity, parameters: { ...identity.parameters, evidenceBytes } },
  };
}

function modelOf(
  text: string,
  parsed: Parsed,
  more: { readonly environment: NodeJS.ProcessEnv; readonly timeoutMs: number | undefined },
): Judge {
  const url = parsed.one("url");
  const [, prefix, name = text] = /^(openai|anthropic):(.+)$/s.exec(text) ?? [];
  if (prefix === undefined && url === undefined)
    throw usage(`--model ${text}: write openai:${text} or anthropic:${text}, or give --url`);
  const api: ModelApi = prefix === "anthropic" ? "anthropic" : "openai";
  const temperature = parsed.one("temperature");
  return modelJudge({
    api,
    model: name,
    url,
    key: keyOf(parsed.one("key-env"), url === undefined ? KEY_OF_API[api] : undefined, more),
    temperature: temperature === undefined ? undefined : numberOf("temperature", temperature, 0),
    maxOutputTokens: wholeOf(parsed, "max-output-tokens"),
    timeoutMs: more.timeoutMs,
  });
}

/** A key goes only where it belongs: to another address than the maker's only when it is named. */
function keyOf(
  named: string | undefined,
  usual: string | undefined,
  { environment }: { readonly environment: NodeJS.ProcessEnv },
): string | undefined {
  const name = named ?? usual;
  if (name === undefined) return undefined;
  const key = environment[name];
  if (key !== undefined && key !== "") return key;
  throw usage(`the environment variable ${name} holds no key`);
}

/** How much of the evidence goes into one question. */
export function judgeLimitsOf(parsed: Parsed): JudgeLimits {
  const maxEvidenceBytes = wholeOf(parsed, "evidence-bytes");
  return maxEvidenceBytes === undefined ? JUDGE_LIMITS : { ...JUDGE_LIMITS, maxEvidenceBytes };
}

/** The price of tokens, where it is given. */
export function priceOf(parsed: Parsed): Price | undefined {
  const text = parsed.one("price");
  if (text === undefined) return undefined;
  const [input, output, third] = text.split(",");
  if (input === undefined || output === undefined || third !== undefined)
    throw usage(`--price ${text}: expected two numbers, as in --price 3,15`);
  return { input: numberOf("price", input, 0), output: numberOf("price", output, 0) };
}

/** What may be spent, where that is limited. */
export function budgetLimitOf(parsed: Parsed): BudgetLimit | undefined {
  const tokens = wholeOf(parsed, "budget-tokens");
  const usd = parsed.one("budget-usd");
  if (usd === undefined) return tokens === undefined ? undefined : { tokens };
  if (tokens !== undefined) throw usage("either --budget-tokens or --budget-usd");
  const price = priceOf(parsed);
  if (price === undefined) throw usage("--budget-usd needs --price IN,OUT");
  return { usd: numberOf("budget-usd", usd, 0), price };
}

/** How many questions may be under way at once. */
export function concurrencyOf(parsed: Parsed): number {
  return wholeOf(parsed, "concurrency") ?? 4;
}

function secondsOf(parsed: Parsed, name: string): number | undefined {
  const text = parsed.one(name);
  return text === undefined ? undefined : Math.max(1, numberOf(name, text, 0) * 1000);
}

function wholeOf(parsed: Parsed, name: string): number | undefined {
  const text = parsed.one(name);
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw usage(`--${name} ${text}: expected a whole number from 1`);
}

function numberOf(name: string, text: string, least: number): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value >= least) return value;
  throw new UpheldError("argument_invalid", `--${name} ${text}: expected a number from ${least}`);
}
