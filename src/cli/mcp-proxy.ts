import { resolve } from "node:path";
import { UpheldError } from "../core/errors.ts";
import { printable } from "../report/printable.ts";
import { systemClock } from "../run/clock.ts";
import { runMcpProxy, type ServerEnd } from "../sources/tool-calls/mcp/proxy.ts";
import { CALLS_VARIABLE } from "../run/call-recording.ts";
import type { Command } from "./command.ts";
import { exitOfSignal } from "./exit.ts";
import { parseOptions, usage } from "./options.ts";

const OPTIONS = {
  out: {
    value: "FILE",
    help: `the calls file, added to (default: $${CALLS_VARIABLE}, which upheld run sets)`,
  },
};

export const mcpProxyCommand: Command = {
  name: "mcp-proxy",
  summary: "Stand between an agent and an MCP server over stdio, and record every call.",
  usage: ["upheld mcp-proxy [--out FILE] -- SERVER COMMAND..."],
  options: OPTIONS,
  examples: [
    [
      "in the agent's configuration, in place of the server's command",
      "upheld mcp-proxy -- npx -y @modelcontextprotocol/server-filesystem /data",
    ],
    ["and the run that reads what it records", "upheld run --calls calls.jsonl -- python agent.py"],
  ],
  async run(args, { terminal, interruption, environment }) {
    const { command, out } = askedProxy(args, environment);
    const end = await runMcpProxy({
      command,
      out: resolve(out),
      now: systemClock,
      stdin: process.stdin,
      stdout: process.stdout,
      signal: interruption.signal,
      onUnrecorded: (reason) =>
        terminal.err(`upheld mcp-proxy: calls are no longer recorded (${printable(reason)})\n`),
    }).catch((cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : "unknown";
      throw new UpheldError("file_unwritable", `cannot write ${out}: ${reason}`, { cause });
    });
    return exitOf(end, command[0] ?? "");
  },
};

function askedProxy(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): { readonly command: readonly string[]; readonly out: string } {
  const parsed = parseOptions(OPTIONS, args);
  const [unexpected] = parsed.positionals;
  if (unexpected !== undefined)
    throw usage(
      `unexpected argument ${JSON.stringify(unexpected)}: the server's command stands after --`,
    );
  const command = parsed.rest ?? [];
  if (command.length === 0 || command[0] === "")
    throw usage("nothing to run: put the server's command after --");
  const out = parsed.one("out") ?? environment[CALLS_VARIABLE] ?? "";
  if (out === "")
    throw usage(
      `--out FILE is missing, and $${CALLS_VARIABLE} is not set: where are the calls to go?`,
    );
  return { command, out };
}

/** The server's own exit code, so that a client sees what it would see without us. */
function exitOf(end: ServerEnd, name: string): number {
  switch (end.kind) {
    case "exited":
      return end.code;
    case "signaled":
      return exitOfSignal(end.signal);
    case "not_started":
      throw new UpheldError(
        "agent_not_started",
        `the server ${JSON.stringify(name)} could not be started (${end.reason})`,
      );
  }
}
