import { collectorToken, collectorUrl, type Destination } from "../deliver/destination.ts";
import {
  ARTIFACT_LEVELS,
  DEFAULT_ARTIFACT_LEVEL,
  type ArtifactLevel,
} from "../evidence/artifact-kinds.ts";
import { MIN_SECRET_LENGTH, type DeclaredSecret } from "../evidence/declared-secret.ts";
import type { RecordedScenario } from "../evidence/record/run-record.ts";
import { formatWords } from "../run/format-words.ts";
import { usage, type Parsed } from "./options.ts";

const DEFAULT_WINDOW_SECONDS = 120;

export const TOKEN_OPTION = {
  value: "env:VAR",
  help: "the variable that holds the collector's token",
};
export const LEVEL_OPTION = {
  value: "LEVEL",
  help: `how much may leave: ${ARTIFACT_LEVELS.join(", ")} (default ${DEFAULT_ARTIFACT_LEVEL})`,
};

/** The options of a run that is delivered. */
export const DELIVERY_OPTIONS = {
  deliver: { value: "URL", help: "deliver receipt and evidence to a collector (needs --save)" },
  token: TOKEN_OPTION,
  "deliver-for": { value: "SECONDS", help: "how long a collector is waited for (default 120)" },
  level: LEVEL_OPTION,
  job: { value: "ID", help: "the job that the receipt is of (default: the run's id)" },
  attempt: { value: "N", help: "which attempt of the job, from 1 (default 1)" },
  scenario: { value: "KEY", help: "the scenario that the receipt is of (default: run)" },
  "scenario-attempt": { value: "N", help: "which attempt at the scenario, from 1 (default 1)" },
};

/** Where something is delivered to, and how much of it. */
export interface AskedDelivery {
  readonly destination: Destination;
  readonly level: ArtifactLevel;
  /** The variable that holds the token: no business of an agent. */
  readonly tokenVariable: string;
}

/** The delivery of a run: also which scenario of which job it is. */
export interface RunDelivery extends AskedDelivery {
  /** How long the collector is waited for; what is not received by then is kept. */
  readonly windowMs: number;
  /** Without a job, the run is one of its own. */
  readonly scenario: Omit<RecordedScenario, "jobId"> & { readonly jobId: string | undefined };
}

/** The delivery that a run asks for. Throws "argument_invalid" on options that make none, before anything is started. */
export function askedRunDelivery(
  parsed: Parsed,
  environment: NodeJS.ProcessEnv,
): RunDelivery | undefined {
  const url = parsed.one("deliver");
  if (url === undefined) {
    const given = Object.keys(DELIVERY_OPTIONS).find((name) => parsed.one(name) !== undefined);
    if (given === undefined) return undefined;
    throw usage(`--${given} needs --deliver URL`);
  }
  if (parsed.one("save") === undefined)
    throw usage("--deliver needs --save FILE: the sealed evidence is what is delivered");
  if (parsed.one("expect") === undefined)
    throw usage("--deliver needs --expect FILE: a receipt tells what came of claims");
  return {
    ...deliveryTo(url, parsed, environment),
    windowMs: ordinalOf("deliver-for", parsed, DEFAULT_WINDOW_SECONDS) * 1000,
    scenario: scenarioOf(parsed),
  };
}

/** The delivery to an address, with the token and the level of the options. */
export function deliveryTo(
  url: string,
  parsed: Parsed,
  environment: NodeJS.ProcessEnv,
): AskedDelivery {
  const tokenVariable = variableOf(parsed.one("token"));
  const token = collectorToken(environment[tokenVariable], tokenVariable);
  return {
    destination: { url: collectorUrl(url), token },
    level: levelOf(parsed.one("level")),
    tokenVariable,
  };
}

/** The token as a secret that stands in no output and no evidence; none where it is too short to be told from ordinary text. */
export function secretsOfDelivery(
  asked: Pick<AskedDelivery, "destination" | "tokenVariable"> | undefined,
): readonly DeclaredSecret[] {
  if (asked === undefined) return [];
  const { destination, tokenVariable } = asked;
  const { token } = destination;
  if (token.length < MIN_SECRET_LENGTH || formatWords().has(token)) return [];
  return [{ name: tokenVariable, value: token }];
}

/** A token never stands on a command line: every process of the machine could read it there. */
function variableOf(text: string | undefined): string {
  const variable = /^env:([A-Za-z_]\w*)$/.exec(text ?? "")?.[1];
  if (variable !== undefined) return variable;
  throw usage("--token env:VAR is expected: the name of the variable that holds the token");
}

function levelOf(text: string | undefined): ArtifactLevel {
  const level = ARTIFACT_LEVELS.find((each) => each === (text ?? DEFAULT_ARTIFACT_LEVEL));
  if (level !== undefined) return level;
  throw usage(`--level ${JSON.stringify(text)}: expected ${ARTIFACT_LEVELS.join(", ")}`);
}

function scenarioOf(parsed: Parsed): RunDelivery["scenario"] {
  return {
    jobId: keyOf("job", parsed),
    attemptNumber: ordinalOf("attempt", parsed),
    scenarioKey: keyOf("scenario", parsed) ?? "run",
    scenarioAttempt: ordinalOf("scenario-attempt", parsed),
  };
}

function keyOf(name: string, parsed: Parsed): string | undefined {
  const text = parsed.one(name);
  if (text === undefined || (text.length > 0 && text.length <= 500)) return text;
  throw usage(`--${name}: expected 1 to 500 characters`);
}

function ordinalOf(name: string, parsed: Parsed, otherwise = 1): number {
  const text = parsed.one(name) ?? String(otherwise);
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw usage(`--${name} ${text}: expected a whole number from 1`);
}
