import { resolve } from "node:path";
import type { AttemptId } from "../core/ids.ts";
import type { Limits } from "../core/limits.ts";
import type { Timestamp } from "../core/timestamp.ts";
import type { TurnResult } from "./agent.ts";
import type { Clock } from "./clock.ts";
import type { RunCalls } from "./observe-run.ts";
import { callsFile } from "../sources/tool-calls/jsonl.ts";
import {
  forwardTo,
  otlpEnvironment,
  outerSpanOf,
  priorEndpoint,
  samplerOf,
} from "../sources/tool-calls/otlp/environment.ts";
import { startOtlpReceiver, type OtlpReceiver } from "../sources/tool-calls/otlp/receiver.ts";
import { callLimitsOf, ToolCallSource } from "../sources/tool-calls/source.ts";

/** Names the calls file to the agent, and to a proxy in front of its servers. */
export const CALLS_VARIABLE = "UPHELD_CALLS";

/** How the tool calls of a run are recorded. */
export interface AskedCalls {
  /** An absolute path. */
  readonly file: string | undefined;
  readonly otlp: "off" | "on" | "complete";
}

export interface RecordingContext {
  readonly attemptId: AttemptId;
  readonly clock: Clock;
  readonly limits: Partial<Limits>;
  readonly environment: NodeJS.ProcessEnv;
  /** Told why spans are not received or not given on. It may hold what a system said. */
  readonly tell: (why: string) => void;
  /** Where an agent that is no command runs, nothing can be set in its environment. */
  readonly isCommand: boolean;
}

/** What records the tool calls of a run, until it is disposed. */
export interface CallRecording extends AsyncDisposable {
  readonly calls: RunCalls;
  /** To be set in the agent's environment. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Remembers what the calls file holds before the run, and starts the receiver of spans. */
export async function recordCalls(
  asked: AskedCalls,
  context: RecordingContext,
): Promise<CallRecording> {
  const limits = callLimitsOf(context.limits);
  const file = asked.file === undefined ? undefined : callsFile(asked.file, limits);
  await file?.mark();
  const receiver = await receiverFor(asked, context);
  const recorders = [file, receiver].filter((each) => each !== undefined);
  const { attemptId, clock } = context;
  const scorable = { kind: "tool_calls", uri: "calls:/", attemptId } as const;
  return {
    calls: {
      scorable,
      source: new ToolCallSource(scorable, recorders, { now: clock, limits }),
      isWorthTelling: () => file !== undefined || receiver?.hasSpans() === true,
      onAgentEnd: (turn) => {
        if (wasForced(turn))
          receiver?.doubt("a process that was ended by force may not have sent all");
      },
    },
    environment: {
      ...(receiver === undefined ? {} : otlpEnvironment(context.environment, receiver.endpoint)),
      ...(asked.file === undefined ? {} : { [CALLS_VARIABLE]: asked.file }),
    },
    [Symbol.asyncDispose]: async () => receiver?.close(),
  };
}

/** Ended by a signal, at its time limit, or with processes that outlived it. */
function wasForced({ outcome, processes }: TurnResult): boolean {
  return outcome.kind === "signaled" || outcome.kind === "timed_out" || (processes?.found ?? 0) > 0;
}

async function receiverFor(
  { otlp }: AskedCalls,
  { environment, limits, tell, isCommand }: RecordingContext,
): Promise<OtlpReceiver | undefined> {
  if (otlp === "off" || !isCommand) return undefined;
  const prior = priorEndpoint(environment);
  if (prior?.isGrpc === true)
    tell("traces are recorded here and not given on: the endpoint that was set takes gRPC");
  try {
    return await startOtlpReceiver({
      limits: callLimitsOf(limits),
      declaredComplete: otlp === "complete",
      outerSpanId: outerSpanOf(environment),
      sampler: samplerOf(environment),
      forward: prior === undefined || prior.isGrpc ? undefined : forwardTo(prior),
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : "unknown";
    tell(`spans cannot be received: ${reason}`);
    return undefined;
  }
}

/** The calls of a run that someone else started, from a file alone. Calls that ended before `from` are not of it. */
export function storedCalls(
  file: string | undefined,
  {
    attemptId,
    clock,
    limits,
    from,
  }: Pick<RecordingContext, "attemptId" | "clock" | "limits"> & { readonly from: Timestamp },
): RunCalls | undefined {
  if (file === undefined) return undefined;
  const own = callLimitsOf(limits);
  const scorable = { kind: "tool_calls", uri: "calls:/", attemptId } as const;
  const recorder = callsFile(resolve(file), own);
  return {
    scorable,
    source: new ToolCallSource(scorable, [recorder], { now: clock, limits: own, from }),
    isWorthTelling: () => true,
  };
}
