#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { isUpheldError } from "../core/errors.ts";
import type { Command } from "./command.ts";
import { EXIT } from "./exit.ts";
import { failureOf } from "./failure.ts";
import { commandHelp, programHelp } from "./help-text.ts";
import { Interrupted, interruption } from "./interrupt.ts";
import { usage } from "./options.ts";
import { processTerminal, type Terminal } from "./terminal.ts";

/** Each command is loaded when it is asked for: most of a start is loading. */
const COMMANDS: readonly (readonly [name: string, load: () => Promise<Command>])[] = [
  ["run", async () => (await import("./run.ts")).runCommand],
  ["test", async () => (await import("./test.ts")).testCommand],
  ["baseline", async () => (await import("./baseline.ts")).baselineCommand],
  ["observe", async () => (await import("./observe.ts")).observeCommand],
  ["score", async () => (await import("./score.ts")).scoreCommand],
  ["judge", async () => (await import("./judge.ts")).judgeCommand],
  ["agreement", async () => (await import("./agreement.ts")).agreementCommand],
  ["show", async () => (await import("./show.ts")).showCommand],
  ["view", async () => (await import("./view.ts")).viewCommand],
  ["verify", async () => (await import("./verify.ts")).verifyCommand],
  ["keygen", async () => (await import("./keygen.ts")).keygenCommand],
  ["seal", async () => (await import("./seal.ts")).sealCommand],
  ["withhold", async () => (await import("./withhold.ts")).withholdCommand],
  ["deliver", async () => (await import("./deliver.ts")).deliverCommand],
  ["apply", async () => (await import("./settle.ts")).applyCommand],
  ["discard", async () => (await import("./settle.ts")).discardCommand],
  ["init", async () => (await import("./init.ts")).initCommand],
  ["serve", async () => (await import("./serve.ts")).serveCommand],
  ["token", async () => (await import("./token.ts")).tokenCommand],
  ["mcp-proxy", async () => (await import("./mcp-proxy.ts")).mcpProxyCommand],
];

async function main(args: readonly string[]): Promise<number> {
  const terminal = processTerminal(process.env);
  const version = readVersion();
  using interrupted = interruption();
  try {
    const [name = "", ...rest] = args;
    const answer = await answerOf(name, rest, version);
    if (answer !== undefined) {
      terminal.out(answer);
      return EXIT.asExpected;
    }
    const context = { terminal, interruption: interrupted, environment: process.env, version };
    return await (await commandOf(name)).run(rest, context);
  } catch (error) {
    return await tell(error, ownArguments(args).includes("--json"), terminal, version);
  }
}

/** What is said without running a command: help and version. */
async function answerOf(
  name: string,
  rest: readonly string[],
  version: string,
): Promise<string | undefined> {
  const first = rest[0];
  if (name === "" || name === "--help" || name === "-h") return programHelp(await allCommands());
  if (name === "--version" || name === "-v") return `${version}\n`;
  if (name === "help")
    return first === undefined
      ? programHelp(await allCommands())
      : commandHelp(await commandOf(first));
  const own = ownArguments(rest);
  const asksHelp = own.includes("--help") || own.includes("-h");
  return asksHelp ? commandHelp(await commandOf(name)) : undefined;
}

function allCommands(): Promise<readonly Command[]> {
  return Promise.all(COMMANDS.map(([, load]) => load()));
}

async function commandOf(name: string): Promise<Command> {
  const command = COMMANDS.find(([each]) => each === name);
  if (command !== undefined) return command[1]();
  const known = COMMANDS.map(([each]) => each).join(", ");
  throw usage(`${JSON.stringify(name)} is no command (known: ${known}, help)`);
}

/** The arguments that are ours: what stands after "--" is the agent's. */
function ownArguments(args: readonly string[]): readonly string[] {
  const end = args.indexOf("--");
  return end === -1 ? args : args.slice(0, end);
}

/** Under --json an error is one JSON object too: whoever reads it need not guess. */
async function tell(
  error: unknown,
  json: boolean,
  terminal: Terminal,
  version: string,
): Promise<number> {
  const { exitCode, message } = failureOf(error, version);
  const code = isUpheldError(error) ? error.code : wordOf(error);
  const text = error instanceof Error && code !== "internal" ? error.message : "internal error";
  const mask = await maskFor([message, text], version);
  terminal.err(mask(message));
  if (json) terminal.out(`${JSON.stringify({ error: { code, message: mask(text) } })}\n`);
  return exitCode;
}

/**
 * An error quotes what was typed and what was read. Where the rules of secrets cannot be loaded (too few files may be open),
 * nothing of it is told but that.
 */
async function maskFor(
  texts: readonly string[],
  version: string,
): Promise<(text: string) => string> {
  try {
    const { maskOf } = await import("./secrets.ts");
    return await maskOf(texts);
  } catch (error) {
    const { message } = failureOf(error, version);
    return () => message;
  }
}

function wordOf(error: unknown): string {
  return error instanceof Interrupted ? "interrupted" : "internal";
}

function readVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const parsed: unknown = JSON.parse(text);
  const version: unknown =
    typeof parsed === "object" && parsed !== null && "version" in parsed ? parsed.version : "";
  return String(version);
}

process.exitCode = await main(process.argv.slice(2));
