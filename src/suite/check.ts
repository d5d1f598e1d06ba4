import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { gap, type Gap } from "../core/gap.ts";
import type { RunId } from "../core/ids.ts";
import { describeOutcome } from "../run/agent.ts";
import { stripsTypes } from "./config.ts";
import { ReadKind, type GivenCall, type GivenWorld } from "./given-world.ts";
import { programId, runProgram, type ProgramEnd } from "./program.ts";
import type { CheckFile } from "./scenario.ts";

const Answer = z.discriminatedUnion("value", [
  z.object({ value: z.literal("held"), state: z.record(z.string(), z.json()).optional() }),
  z.object({ value: z.literal("not_held"), reason: z.string().min(1) }),
  z.object({ value: z.literal("broken"), reason: z.string() }),
]);
const Told = z.object({ nonce: z.string(), read: z.array(ReadKind) }).and(Answer);

/** What a function said, and what it looked at to say so. A broken one says nothing of the agent. */
export type CheckAnswer =
  | { readonly value: "held"; readonly read: readonly ReadKind[]; readonly state?: unknown }
  | { readonly value: "not_held"; readonly reason: string; readonly read: readonly ReadKind[] }
  | { readonly value: "broken"; readonly reason: string; readonly gap?: Gap };

/** A function to run, and over what. */
export interface CheckPlan {
  readonly file: CheckFile;
  readonly function: "check" | "setup" | "ready";
  readonly world: GivenWorld;
  readonly calls: readonly GivenCall[];
  readonly runId: RunId;
  readonly timeoutMs: number;
}

const RUNNERS = {
  javascript: fileURLToPath(new URL("./check-runner.mjs", import.meta.url)),
  python: fileURLToPath(new URL("./check-runner.py", import.meta.url)),
} as const;

/** Characters of a reason that are kept. */
const MAX_REASON = 2_000;

/** Runs a function in a process of its own. Its faults are answers; rejects with the signal's reason alone. */
export async function runCheck(
  plan: CheckPlan,
  signal: AbortSignal | undefined,
): Promise<CheckAnswer> {
  const { file, world, calls, timeoutMs } = plan;
  if (file.language === "typescript" && !stripsTypes())
    return missing(file, "this Node runs no TypeScript", "Use Node 22.18 or later, or write .mjs.");
  const nonce = randomUUID();
  const input = JSON.stringify({
    nonce,
    file: file.path,
    function: plan.function,
    writable: plan.function === "setup",
    world,
    calls,
  });
  const command =
    file.language === "python"
      ? ["python3", "-I", RUNNERS.python]
      : [process.execPath, RUNNERS.javascript];
  const cwd = dirname(file.path);
  const runId = programId(plan.runId, plan.function);
  const end = await runProgram({ runId, command, cwd, input, timeoutMs }, signal);
  if (end.outcome.kind === "not_started")
    return missing(file, end.outcome.reason, "Install Python 3 as python3.");
  return answerOf(end, nonce);
}

function answerOf({ outcome, printed }: ProgramEnd, nonce: string): CheckAnswer {
  const told = outcome.kind === "exited" ? printed.map((each) => toldIn(each, nonce)) : [];
  const answer = told.find((each) => each !== undefined);
  if (answer === undefined)
    return { value: "broken", reason: `it gave no answer and ${describeOutcome(outcome)}` };
  return answer.value === "held"
    ? answer
    : { ...answer, reason: answer.reason.slice(0, MAX_REASON) };
}

function toldIn(printed: string, nonce: string): z.infer<typeof Told> | undefined {
  try {
    const told = Told.parse(JSON.parse(printed));
    return told.nonce === nonce ? told : undefined;
  } catch {
    return undefined;
  }
}

function missing({ path }: CheckFile, detail: string, remedy: string): CheckAnswer {
  const name = path.slice(dirname(path).length + 1);
  return {
    value: "broken",
    reason: `it cannot be run: ${detail}`,
    gap: gap("check_runtime_missing", name, { detail, remedy }),
  };
}
