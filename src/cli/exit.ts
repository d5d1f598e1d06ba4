import type { ErrorCode } from "../core/errors.ts";
import type { AgentOutcome } from "../core/run.ts";
import type { ReportedSubGoal } from "../report/run-report.ts";
import { isLeftToJudge } from "../report/verdict-text.ts";

/** Every exit code. The README has their meanings. */
export const EXIT = {
  asExpected: 0,
  notAsExpected: 1,
  undetermined: 2,
  notIntact: 3,
  agentFailed: 4,
  infrastructure: 5,
  usage: 64,
  internal: 70,
} as const;

/** The exit code of each error. */
const EXIT_OF_ERROR: Readonly<Record<ErrorCode, number>> = {
  argument_invalid: EXIT.usage,
  locator_invalid: EXIT.usage,
  glob_invalid: EXIT.usage,
  matcher_invalid: EXIT.usage,
  expectation_invalid: EXIT.usage,
  suite_invalid: EXIT.usage,
  json_invalid: EXIT.usage,
  kind_unknown: EXIT.usage,
  kind_registered_twice: EXIT.internal,
  condition_unrouted: EXIT.usage,
  source_missing: EXIT.usage,
  source_contract_broken: EXIT.internal,
  not_replayable: EXIT.usage,
  observation_changed: EXIT.notIntact,
  reference_invalid: EXIT.usage,
  owner_conflict: EXIT.internal,
  run_unknown: EXIT.usage,
  root_changed: EXIT.infrastructure,
  isolation_unavailable: EXIT.infrastructure,
  agent_not_started: EXIT.agentFailed,
  database_unavailable: EXIT.infrastructure,
  package_missing: EXIT.usage,
  // Of matchers in tests: no command meets it.
  undetermined: EXIT.internal,
  file_unreadable: EXIT.usage,
  file_unwritable: EXIT.infrastructure,
  key_invalid: EXIT.usage,
  bundle_invalid: EXIT.notIntact,
  state_invalid: EXIT.infrastructure,
  state_busy: EXIT.infrastructure,
  storage_unavailable: EXIT.infrastructure,
  address_unavailable: EXIT.infrastructure,
  internal: EXIT.internal,
};

export function exitOfError(code: ErrorCode): number {
  return EXIT_OF_ERROR[code];
}

/** Without expectations the exit code is the agent's own; 128 and the signal's number where it was ended by one. */
export function exitOfAgent(outcome: AgentOutcome): number {
  switch (outcome.kind) {
    case "exited":
      return outcome.code;
    case "signaled":
      return exitOfSignal(outcome.signal);
    case "answered":
      return 0;
    case "timed_out":
    case "not_started":
    case "failed":
      return EXIT.agentFailed;
  }
}

/** With expectations: the agent's failure first, then what is not as expected, then what is not known. */
export function exitOfSubGoals(
  held: readonly (boolean | null)[],
  outcome: AgentOutcome | undefined,
): number {
  if (outcome !== undefined && !cameToItsEnd(outcome)) return EXIT.agentFailed;
  if (held.includes(false)) return EXIT.notAsExpected;
  return held.includes(null) ? EXIT.undetermined : EXIT.asExpected;
}

/** What an exit code makes of sub-goals that are undetermined: 1, 0, or 2 of its own. */
export const UNDETERMINED_POLICIES = ["fail", "pass", "neutral"] as const;
export type UndeterminedPolicy = (typeof UNDETERMINED_POLICIES)[number];

/**
 * The exit code under a policy. Only "undetermined" changes, and "pass" lets through what could not be known: where nothing was asked,
 * or a sub-goal waits for a judge, there is nothing to let through.
 */
export function exitUnder(
  policy: UndeterminedPolicy,
  exitCode: number,
  subGoals: readonly ReportedSubGoal[],
): number {
  if (exitCode !== EXIT.undetermined) return exitCode;
  switch (policy) {
    case "neutral":
      return exitCode;
    case "fail":
      return EXIT.notAsExpected;
    case "pass":
      return subGoals.length === 0 || subGoals.some(isLeftToJudge) ? exitCode : EXIT.asExpected;
  }
}

/** An agent that exits with any code came to its end: what it did is what counts. */
function cameToItsEnd(outcome: AgentOutcome): boolean {
  return outcome.kind === "answered" || outcome.kind === "exited";
}

const SIGNAL_NUMBERS: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGPIPE: 13,
  SIGTERM: 15,
};

export function exitOfSignal(signal: string): number {
  return 128 + (SIGNAL_NUMBERS[signal] ?? 0);
}
