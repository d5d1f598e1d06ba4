import type { DeclaredSecret } from "../evidence/declared-secret.ts";
import { redactValue } from "../evidence/redact-value.ts";
import type { Redactor } from "../evidence/redactor.ts";
import { reportOfRecord } from "../report/record-report.ts";
import { scenarioResult } from "../report/scenario-result.ts";
import type { ScenarioReport } from "../report/suite-report.ts";
import { redactRecord } from "../run/redact-record.ts";
import { redactorOfRun } from "../run/redactor-of-run.ts";
import { newRunSecret } from "../store/run-secret.ts";
import type { Attempt } from "./attempt.ts";
import type { NamedAttempt, SealRun } from "./suite-seal.ts";

/** What an attempt came to. */
export type Told = Omit<ScenarioReport, "name" | "attempts" | "durationMs">;

export interface Telling {
  readonly secrets: readonly DeclaredSecret[];
  readonly named: NamedAttempt;
  readonly seal?: SealRun | undefined;
}

/** Says what an attempt came to, without secrets, and seals its evidence where that is asked for. */
export async function tellAttempt(
  attempt: Attempt,
  { secrets, named, seal }: Telling,
): Promise<Told> {
  // Loaded when there is something to tell: the rules are large.
  const { findTokens } = await import("../run/secret-rules.ts");
  const secret = newRunSecret();
  const redactor = redactorOfRun(secrets, secret, findTokens);
  if ("failure" in attempt)
    return { status: "errored", subGoals: [], notSeen: [], ...(await hidden(attempt, redactor)) };
  const record = await redactRecord(attempt.record, redactor);
  const bundle = await seal?.(named, record, { secret, redactor });
  const { run, subGoals, notSeen } = reportOfRecord(record);
  return {
    ...scenarioResult({ run, subGoals }),
    subGoals,
    ...(run === null ? {} : { run }),
    notSeen,
    ...(bundle === undefined ? {} : { bundle }),
  };
}

async function hidden<T>(value: T, redactor: Redactor): Promise<T> {
  const met = new Set<string>();
  redactValue(value, (text) => {
    met.add(text);
    return text;
  });
  await redactor.study(met);
  return redactValue(value, redactor.mask);
}
