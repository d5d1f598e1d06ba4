import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { existsSync } from "node:fs";
import type { Writable } from "node:stream";
import type { AgentOutcome } from "../../core/run.ts";
import type { Isolation } from "../isolation/isolate.ts";
import { RUNS_VARIABLE } from "./process-table.ts";

/** All that is needed to start an agent's command. */
export interface CommandPlan {
  readonly command: readonly string[];
  readonly runId: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly interactive: boolean;
  readonly stdin: "inherit" | "ignore" | "prompt";
  readonly prompt: string;
  readonly isolation: Pick<Isolation, "wrap" | "outcome" | "end"> | undefined;
}

export interface StartedCommand {
  readonly child: ChildProcess;
  readonly ownGroup: boolean;
  /** How the command ended, or why it never began. */
  readonly exited: Promise<AgentOutcome>;
}

/** Starts the command. What keeps it from starting is its outcome, not an exception. */
export function startCommand(plan: CommandPlan): StartedCommand | { readonly reason: string } {
  const ownGroup = !plan.interactive && process.platform !== "win32";
  const { file, args, cwd } = plan.isolation?.wrap(plan.command, plan.cwd) ?? {
    file: plan.command[0] ?? "",
    args: plan.command.slice(1),
    cwd: plan.cwd,
  };
  try {
    const child = spawn(file, [...args], {
      cwd,
      env: environmentOf(plan),
      stdio: stdioOf(plan),
      detached: ownGroup,
    });
    feed(child.stdin, plan.prompt);
    return { child, ownGroup, exited: outcomeOf(child, plan) };
  } catch (error) {
    return { reason: reasonOf(error, plan) };
  }
}

function environmentOf({ env, runId }: CommandPlan): NodeJS.ProcessEnv {
  const enclosing = process.env[RUNS_VARIABLE];
  return {
    ...process.env,
    ...env,
    UPHELD_RUN_ID: runId,
    [RUNS_VARIABLE]: enclosing === undefined || enclosing === "" ? runId : `${enclosing}:${runId}`,
  };
}

function stdioOf({ interactive, stdin }: CommandPlan): SpawnOptions["stdio"] {
  return interactive ? "inherit" : [stdin === "prompt" ? "pipe" : stdin, "pipe", "pipe"];
}

/** An agent that does not read its prompt closes the pipe: no fault. */
function feed(stdin: Writable | null, prompt: string): void {
  if (stdin === null) return;
  stdin.on("error", () => {});
  stdin.end(prompt);
}

function outcomeOf(child: ChildProcess, plan: CommandPlan): Promise<AgentOutcome> {
  return new Promise((resolve) => {
    child.on("error", (error) => {
      if (child.pid === undefined) resolve({ kind: "not_started", reason: reasonOf(error, plan) });
    });
    child.once("exit", (code, signal) => resolve(endOf(code, signal, plan)));
  });
}

function endOf(code: number | null, signal: string | null, plan: CommandPlan): AgentOutcome {
  const inside = plan.isolation?.outcome(code, signal);
  if (inside === undefined)
    return signal === null ? { kind: "exited", code: code ?? 1 } : { kind: "signaled", signal };
  switch (inside.kind) {
    case "exited":
      return inside;
    case "signalled":
      return { kind: "signaled", signal: inside.signal };
    case "not_started":
      return { kind: "not_started", reason: reasonOf({ code: inside.code }, plan) };
    case "not_isolated":
      return { kind: "not_started", reason: inside.reason };
  }
}

/** Why the system would not start it, by the name that was given. */
function reasonOf(error: unknown, { command, cwd }: CommandPlan): string {
  const code =
    typeof error === "object" && error !== null && "code" in error ? String(error.code) : "unknown";
  const name = JSON.stringify(command[0]);
  if (code === "ENOENT")
    return existsSync(cwd)
      ? `there is no command ${name} (ENOENT)`
      : "the directory to run it in does not exist (ENOENT)";
  if (code === "EACCES") return `${name} may not be executed (EACCES)`;
  if (code === "E2BIG") return `the arguments and the environment of ${name} are too long (E2BIG)`;
  return `${name} could not be started (${code})`;
}
