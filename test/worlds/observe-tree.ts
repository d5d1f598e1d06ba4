import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Matcher } from "../../src/core/matcher.ts";
import { parseLocator } from "../../src/core/locator.ts";
import type { Observation, SurfaceObservation } from "../../src/core/observation.ts";
import { parseObservation } from "../../src/core/observation.ts";
import type { ScoringScope } from "../../src/core/scope.ts";
import type { Verdict } from "../../src/core/verdict.ts";
import { decideCondition } from "../../src/scorers/decide.ts";
import {
  LocalFileSurfaceSource,
  type LocalFileOptions,
} from "../../src/sources/local-files/source.ts";
import { NEEDLE } from "./tree.ts";

export interface Question {
  readonly uri?: string;
  readonly match?: "exact" | "glob";
  readonly matcher?: Matcher | undefined;
  readonly extent?: "candidates" | "delta";
  readonly scope?: ScoringScope;
  /** False: asked of what was kept, as a later question is. */
  readonly probed?: boolean;
}

export interface AskOptions extends LocalFileOptions {
  /** A source of this directory that is there already: starting one takes longer than most questions. */
  readonly source?: LocalFileSurfaceSource;
  /** Taken before `act`. */
  readonly withBaseline?: boolean;
  /** What the run does, between the baseline and the observation. */
  readonly act?: () => unknown;
}

export interface Answer {
  readonly observation: SurfaceObservation;
  readonly verdict: Verdict;
  /** The codes of the gaps of an undetermined verdict. */
  readonly gaps: readonly string[];
}

/** The matcher of the tables. */
export const needle: Matcher = {
  kind: "contains",
  value: NEEDLE,
  caseSensitive: true,
  lineEndings: "any",
  unicode: "nfc",
  alsoEncoded: [],
};

/** Asks one question of a directory, as a run would: baseline, the run's acts, observation, decision. */
export async function ask(
  directory: string,
  question: Question = {},
  options: AskOptions = {},
): Promise<Answer> {
  const { withBaseline = true, act, source: given, ...sourceOptions } = options;
  const source =
    given ?? new LocalFileSurfaceSource({ name: "workspace", directory }, sourceOptions);
  try {
    const baseline = withBaseline ? await source.baseline() : undefined;
    await act?.();
    const [observation] = await source.observe(
      [requestOf(question)],
      baseline === undefined ? {} : { baseline },
    );
    await baseline?.[Symbol.asyncDispose]();
    return answerOf(observation, question);
  } finally {
    if (given === undefined) await source[Symbol.asyncDispose]();
  }
}

/** The request that a question makes. */
export function requestOf(question: Question = {}) {
  const { uri = "workspace:/**", match = "glob", extent = "candidates", scope } = question;
  const matcher = "matcher" in question ? question.matcher : needle;
  return {
    scorable: {
      kind: "surface" as const,
      uri: parseLocator(uri).text,
      surface: "file",
      match,
      ...(scope === undefined ? {} : { scope }),
    },
    extent,
    ...(matcher === undefined || question.probed === false ? {} : { probes: [matcher] }),
  };
}

/** Decides a question over its observation, which must be a well-formed one. */
export function answerOf(observation: Observation | undefined, question: Question): Answer {
  if (observation?.payload.kind !== "surface") throw new Error("no observation of a surface");
  parseObservation(JSON.parse(JSON.stringify(observation)));
  const { match = "glob" } = question;
  const matcher = "matcher" in question ? question.matcher : needle;
  const { verdict } = decideCondition(
    {
      kind: "content_written",
      uri: observation.payload.scope.uri,
      match,
      ...(matcher === undefined ? {} : { matcher }),
    },
    { roots: [{ name: "workspace", surface: "file" }] },
    () => observation,
  );
  return {
    observation: { ...observation, payload: observation.payload },
    verdict,
    gaps: verdict.value === "undetermined" ? verdict.gaps.map(({ code }) => code) : [],
  };
}

const PROGRAM = fileURLToPath(new URL("observe-tree.mjs", import.meta.url));

/** What `observe-tree.mjs` is asked. */
export interface ChildTask {
  readonly directory: string;
  readonly asked?: readonly Question[];
  readonly options?: LocalFileOptions;
  readonly baseline?: boolean;
  readonly save?: string;
  readonly folder?: string;
}

export interface ChildAnswer {
  readonly uid: number;
  readonly verdicts: readonly (Verdict | undefined)[];
  readonly observations: readonly SurfaceObservation[];
  readonly digest?: string;
  readonly ms: number;
  /** Time of all processors. */
  readonly cpuMs: number;
  readonly baselineMs?: number;
  readonly maxRssMb: number;
}

/** Runs the observer as a program of its own, behind other programs (`setpriv ...`) where given. */
export async function askInProcess(
  task: ChildTask,
  {
    prefix = [],
    act,
  }: { readonly prefix?: readonly string[]; readonly act?: (pid: number) => unknown } = {},
): Promise<ChildAnswer> {
  const [first, ...rest] = [...prefix, process.execPath];
  const child = spawn(first ?? process.execPath, [...rest, PROGRAM, JSON.stringify(task)], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  let errors = "";
  child.stderr.on("data", (chunk) => (errors += String(chunk)));
  let last = "";
  for await (const line of createInterface({ input: child.stdout })) {
    last = line;
    if (line !== "ready") continue;
    await act?.(child.pid ?? 0);
    child.stdin.end("go\n");
  }
  await exited;
  if (!last.startsWith("{"))
    throw new Error(`the observer answered ${last || "nothing"}: ${errors}`);
  return JSON.parse(last) as ChildAnswer;
}

/** Makes a program an ordinary user's. */
export const AS_NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
