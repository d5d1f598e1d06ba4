#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { isUpheldError } from "../core/errors.ts";
import { baselineCommand } from "./baseline.ts";
import type { Command } from "./command.ts";
import { EXIT } from "./exit.ts";
import { failureOf } from "./failure.ts";
import { commandHelp, programHelp } from "./help-text.ts";
import { initCommand } from "./init.ts";
import { Interrupted, interruption } from "./interrupt.ts";
import { mcpProxyCommand } from "./mcp-proxy.ts";
import { observeCommand } from "./observe.ts";
import { usage } from "./options.ts";
import { runCommand } from "./run.ts";
import { scoreCommand } from "./score.ts";
import { applyCommand, discardCommand } from "./settle.ts";
import { processTerminal, type Terminal } from "./terminal.ts";
import { verifyCommand } from "./verify.ts";

const COMMANDS: readonly Command[] = [
  runCommand,
  baselineCommand,
  observeCommand,
  scoreCommand,
  verifyCommand,
  applyCommand,
  discardCommand,
  mcpProxyCommand,
  initCommand,
];

async function main(args: readonly string[]): Promise<number> {
  const terminal = processTerminal(process.env);
  const version = readVersion();
  using interrupted = interruption();
  try {
    const [name = "", ...rest] = args;
    const answer = answerOf(name, rest, version);
    if (answer !== undefined) {
      terminal.out(answer);
      return EXIT.asExpected;
    }
    const context = { terminal, interruption: interrupted, environment: process.env, version };
    return await commandOf(name).run(rest, context);
  } catch (error) {
    return tell(error, ownArguments(args).includes("--json"), terminal, version);
  }
}

/** What is said without running a command: help and version. */
function answerOf(name: string, rest: readonly string[], version: string): string | undefined {
  const first = rest[0];
  if (name === "" || name === "--help" || name === "-h") return programHelp(COMMANDS);
  if (name === "--version" || name === "-v") return `${version}\n`;
  if (name === "help")
    return first === undefined ? programHelp(COMMANDS) : commandHelp(commandOf(first));
  const own = ownArguments(rest);
  return own.includes("--help") || own.includes("-h") ? commandHelp(commandOf(name)) : undefined;
}

function commandOf(name: string): Command {
  const command = COMMANDS.find((each) => each.name === name);
  if (command !== undefined) return command;
  const known = COMMANDS.map((each) => each.name).join(", ");
  throw usage(`${JSON.stringify(name)} is no command (known: ${known}, help)`);
}

/** The arguments that are ours: what stands after "--" is the agent's. */
function ownArguments(args: readonly string[]): readonly string[] {
  const end = args.indexOf("--");
  return end === -1 ? args : args.slice(0, end);
}

/** Under --json an error is one JSON object too: whoever reads it need not guess. */
function tell(error: unknown, json: boolean, terminal: Terminal, version: string): number {
  const { exitCode, message } = failureOf(error, version);
  terminal.err(message);
  if (json) {
    const code = isUpheldError(error) ? error.code : wordOf(error);
    const text = error instanceof Error && code !== "internal" ? error.message : "internal error";
    terminal.out(`${JSON.stringify({ error: { code, message: text } })}\n`);
  }
  return exitCode;
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
