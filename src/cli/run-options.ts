import type { ExpectationFile } from "../core/expectation.ts";
import type { DeclaredSecret } from "../evidence/declared-secret.ts";
import type { Signer } from "../evidence/signer.ts";
import type { EvidenceSealer } from "../evidence/statement.ts";
import { validateClaims } from "../run/observe-run.ts";
import { secretsOfDatabases } from "../run/redactor-of-run.ts";
import type { AskedCalls } from "../run/call-recording.ts";
import { readSigner } from "../store/key-file.ts";
import { askedCalls, CALLS_OPTION, OTLP_OPTIONS } from "./call-options.ts";
import { databasesOf, DB_HOLD_OPTION, DB_OPTION, holdOf, type NamedDatabase } from "./databases.ts";
import { givenClaims } from "./given-claims.ts";
import {
  askedRunDelivery,
  DELIVERY_OPTIONS,
  secretsOfDelivery,
  type RunDelivery,
} from "./delivery-options.ts";
import { parseOptions, usage, type Parsed } from "./options.ts";
import { declaredSecrets, SECRET_OPTION } from "./secrets.ts";
import { askedReports, REPORT_OPTIONS, type AskedReports } from "./reports.ts";
import {
  ATTRIBUTION_OPTION,
  givenLimits,
  LIMIT_OPTION,
  pairOf,
  ROOT_OPTION,
  rootsOf,
  STRICT_OPTION,
  wishedAttributions,
  type GivenLimits,
  type NamedRoot,
  type WishedAttribution,
} from "./roots.ts";

export const RUN_OPTIONS = {
  root: ROOT_OPTION,
  db: DB_OPTION,
  "db-hold": DB_HOLD_OPTION,
  expect: { value: "FILE", help: "claims to decide (YAML or JSON); upheld init writes one" },
  save: { value: "FILE", help: "seal the evidence into a bundle" },
  key: { value: "FILE", help: "the private key (PEM) to sign the bundle with" },
  sealer: {
    value: "SIDE",
    help: "guest (default): the agent could reach the key; host: it cannot",
  },
  ...REPORT_OPTIONS,
  ...DELIVERY_OPTIONS,
  json: { help: "print one JSON object, and nothing else, on standard output" },
  calls: CALLS_OPTION,
  ...OTLP_OPTIONS,
  isolate: { help: "run the command in an overlay: its writes wait for upheld apply or discard" },
  attribution: ATTRIBUTION_OPTION,
  limit: LIMIT_OPTION,
  strict: STRICT_OPTION,
  secret: SECRET_OPTION,
  label: { value: "KEY=VALUE", multiple: true, help: "kept with the run, never interpreted" },
  timeout: { value: "SECONDS", help: "end the agent after this time" },
  endpoint: { value: "URL", help: "an agent behind HTTP, in place of a command" },
  prompt: { value: "TEXT", help: "what is sent to the endpoint" },
};

/** The agent: a command, or a prompt for an endpoint. */
export type AskedAgent =
  | { readonly kind: "command"; readonly command: readonly string[] }
  | { readonly kind: "endpoint"; readonly url: string; readonly prompt: string };

/** What the command line asked for. */
export interface AskedRun {
  readonly roots: readonly NamedRoot[];
  readonly databases: readonly NamedDatabase[];
  readonly holdMs: number | undefined;
  readonly wishes: ReadonlyMap<string, WishedAttribution>;
  readonly limits: GivenLimits;
  readonly strict: boolean;
  readonly claims: ExpectationFile | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly timeoutMs: number | undefined;
  readonly agent: AskedAgent;
  readonly calls: AskedCalls;
  readonly isolate: boolean;
  readonly save: string | undefined;
  readonly signer: Signer | undefined;
  readonly sealer: EvidenceSealer["by"] | undefined;
  readonly delivery: RunDelivery | undefined;
  readonly json: boolean;
  readonly reports: AskedReports;
  readonly secrets: readonly DeclaredSecret[];
}

/** Reads the arguments of a run, the claims included. Throws on every mistake, before anything is started. */
export async function askedRun(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<AskedRun> {
  const parsed = parseOptions(RUN_OPTIONS, args);
  const agent = askedAgent(parsed);
  const isolate = parsed.flag("isolate");
  const roots = rootsOf(parsed);
  const databases = databasesOf(parsed, roots, environment);
  const wishes = wishedAttributions(parsed, [...roots, ...databases]);
  refuseContradictions(
    agent,
    isolate,
    new Map(roots.map(({ name }) => [name, wishes.get(name) ?? "auto"])),
  );
  const reports = askedReports(parsed, environment);
  const delivery = askedRunDelivery(parsed, environment);
  const claims = await givenClaims(parsed);
  validateClaims(claims, [
    ...roots.map(({ name }) => ({ name, surface: "file" })),
    ...databases.map(({ name }) => ({ name, surface: "sql" })),
  ]);
  return {
    roots,
    databases,
    holdMs: holdOf(parsed),
    wishes,
    limits: givenLimits(parsed),
    strict: parsed.flag("strict"),
    claims,
    labels: labelsOf(parsed),
    timeoutMs: timeoutOf(parsed.one("timeout")),
    agent,
    calls: askedCalls(parsed, { isolated: isolate ? roots : [] }),
    isolate,
    save: parsed.one("save"),
    ...sealingOf(parsed),
    delivery,
    json: parsed.flag("json"),
    reports,
    secrets: [
      ...declaredSecrets(parsed, environment),
      ...secretsOfDatabases(databases),
      ...secretsOfDelivery(delivery),
    ],
  };
}

/** Who signs, and on which side of the sandbox. Throws also where nothing would be signed. */
export function sealingOf(parsed: Parsed): Pick<AskedRun, "signer" | "sealer"> {
  const [save, key, sealer] = [parsed.one("save"), parsed.one("key"), parsed.one("sealer")];
  if (save === undefined && key !== undefined)
    throw usage("--key needs --save: there is nothing to sign");
  if (save === undefined && sealer !== undefined)
    throw usage("--sealer needs --save: there is nothing to seal");
  if (sealer !== undefined && sealer !== "guest" && sealer !== "host")
    throw usage(`--sealer ${sealer}: expected guest or host`);
  return { signer: key === undefined ? undefined : readSigner(key), sealer };
}

function askedAgent(parsed: Parsed): AskedAgent {
  noPositionals(parsed);
  const [url, prompt] = [parsed.one("endpoint"), parsed.one("prompt")];
  const command = parsed.rest ?? [];
  if (url === undefined) {
    if (prompt !== undefined)
      throw usage("--prompt needs --endpoint: a command reads its own input");
    if (command.length > 0 && command[0] !== "") return { kind: "command", command };
    throw usage(
      "nothing to run: put the agent's command after --, as in upheld run -- python agent.py",
    );
  }
  if (command.length > 0) throw usage("either --endpoint or a command after --, not both");
  if (prompt === undefined || prompt === "") throw usage("--endpoint needs --prompt TEXT");
  return { kind: "endpoint", url, prompt };
}

function refuseContradictions(
  agent: AskedAgent,
  isolate: boolean,
  wishes: ReadonlyMap<string, WishedAttribution>,
): void {
  if (isolate && agent.kind === "endpoint")
    throw usage("--isolate needs a command: an endpoint runs elsewhere");
  for (const [name, wish] of wishes) {
    if (wish === "exact" && !isolate) throw usage(`--attribution ${name}=exact needs --isolate`);
    if (isolate && (wish === "baseline" || wish === "window"))
      throw usage(`--attribution ${name}=${wish} cannot be had with --isolate, which is exact`);
  }
}

function labelsOf(parsed: Parsed): Readonly<Record<string, string>> {
  return Object.fromEntries(
    parsed.many("label").map((text) => {
      const { name, value } = pairOf("--label", text, "KEY=VALUE");
      return [name, value];
    }),
  );
}

function noPositionals(parsed: Parsed): void {
  const [first] = parsed.positionals;
  if (first !== undefined)
    throw usage(
      `unexpected argument ${JSON.stringify(first)}: the agent's command stands after --`,
    );
}

function timeoutOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || seconds <= 0 || seconds > 2_000_000)
    throw usage(`--timeout ${text}: expected seconds above 0 and at most 2000000`);
  return Math.max(1, Math.round(seconds * 1000));
}
