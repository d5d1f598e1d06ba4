import { spawn, type ChildProcess } from "node:child_process";
import { basename } from "node:path";
import { fingerprint } from "../core/fingerprint.ts";
import type { AskOptions, Judge, JudgePrompt, Reply } from "./judge.ts";
import { PROMPT_VERSION } from "./prompt.ts";

export interface CommandJudgeOptions {
  /** How it is called in judgments. Default: the name of the program. */
  readonly name?: string | undefined;
  /** Milliseconds for one answer. Default 120 000. */
  readonly timeoutMs?: number | undefined;
  /** Bytes of its output that are read. Default 1 MiB. */
  readonly maxOutputBytes?: number | undefined;
}

const DEFAULT_TIMEOUT_MS = 120_000;
const DEFAULT_OUTPUT_BYTES = 1_048_576;

/**
 * A program as a judge, run by the shell once a question: it reads one JSON object (`claims`, `evidence`, `gaps`, and the whole
 * question as text in `system` and `user`) and prints the answer. Its standard error is shown. Another exit code than 0 is a failure.
 */
export function commandJudge(command: string, options: CommandJudgeOptions = {}): Judge {
  return {
    identity: {
      kind: "command",
      name: options.name ?? programOf(command),
      promptVersion: PROMPT_VERSION,
      // The line itself can name places of this machine.
      parameters: { command: fingerprint(command) },
      members: [],
    },
    ask: (prompt, asked) => runOnce(command, prompt, { ...options, ...asked }),
  };
}

/** The program that a command line starts, without its folder. */
function programOf(command: string): string {
  const [, double, single, bare] = /^\s*(?:"([^"]+)"|'([^']+)'|([^\s"']+))/.exec(command) ?? [];
  return basename(double ?? single ?? bare ?? "") || "command";
}

type Ended =
  | { readonly kind: "exited"; readonly code: number | null; readonly signal: string | null }
  | { readonly kind: "not_started"; readonly reason: string }
  | { readonly kind: "timed_out" }
  | { readonly kind: "too_long" }
  | { readonly kind: "aborted" };

async function runOnce(
  command: string,
  prompt: JudgePrompt,
  { signal, question, attempt, ...limits }: CommandJudgeOptions & AskOptions,
): Promise<Reply> {
  signal.throwIfAborted();
  const { timeoutMs = DEFAULT_TIMEOUT_MS, maxOutputBytes = DEFAULT_OUTPUT_BYTES } = limits;
  const child = spawn(command, {
    shell: true,
    stdio: ["pipe", "pipe", "inherit"],
    detached: process.platform !== "win32",
  });
  const input = JSON.stringify({ schemaVersion: 1, question, attempt, ...prompt });
  // A judge that does not read its question closes the pipe: no fault.
  child.stdin?.on("error", () => undefined).end(input);
  const output: Uint8Array[] = [];
  const ended = await endOf(child, output, { signal, timeoutMs, maxOutputBytes });
  signal.throwIfAborted();
  return replyOf(ended, Buffer.concat(output).toString("utf8"));
}

function endOf(
  child: ChildProcess,
  output: Uint8Array[],
  limits: {
    readonly signal: AbortSignal;
    readonly timeoutMs: number;
    readonly maxOutputBytes: number;
  },
): Promise<Ended> {
  const { signal, timeoutMs, maxOutputBytes } = limits;
  return new Promise((resolve) => {
    let seen = 0;
    const stop = (why: Ended): void => {
      endGroup(child);
      finish(why);
    };
    const onAbort = (): void => stop({ kind: "aborted" });
    const timer = setTimeout(() => stop({ kind: "timed_out" }), timeoutMs);
    const finish = (ended: Ended): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      child.stdout?.destroy();
      resolve(ended);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    child.stdout?.on("data", (chunk: Uint8Array) => {
      seen += chunk.length;
      if (seen > maxOutputBytes) stop({ kind: "too_long" });
      else output.push(chunk);
    });
    child.once("error", (error) => finish({ kind: "not_started", reason: error.message }));
    child.once("close", (code, ended) => finish({ kind: "exited", code, signal: ended }));
  });
}

/** Ends the shell and what it started. */
function endGroup(child: ChildProcess): void {
  try {
    if (child.pid === undefined || process.platform === "win32") child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

function replyOf(ended: Ended, text: string): Reply {
  const failed = (
    code: "command_failed" | "timed_out" | "answer_empty" | "answer_malformed",
    detail: string,
  ): Reply => ({ kind: "failure", code, detail, retry: true, text });
  switch (ended.kind) {
    case "not_started":
      return failed("command_failed", "it could not be started");
    case "timed_out":
      return failed("timed_out", "no answer in time");
    case "too_long":
      return failed("answer_malformed", "the answer is too long");
    case "aborted":
      return failed("command_failed", "it was ended");
    case "exited":
      if (ended.signal !== null) return failed("command_failed", `ended by ${ended.signal}`);
      if (ended.code !== 0) return failed("command_failed", `exited ${ended.code}`);
      return text.trim() === "" ? failed("answer_empty", "exited 0") : { kind: "answer", text };
  }
}
