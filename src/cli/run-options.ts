import type { ExpectationFile } from "../core/expectation.ts";
import { validateClaims } from "../run/observe-run.ts";
import { readClaimsFile } from "./claims-file.ts";
import { parseOptions, usage, type Parsed } from "./options.ts";
import {
  ATTRIBUTION_OPTION,
  givenLimits,
  LIMIT_OPTION,
  pairOf,
  ROOT_OPTION,
  rootsOf,
  wishedAttributions,
  type GivenLimits,
  type NamedRoot,
  type WishedAttribution,
} from "./roots.ts";

export const RUN_OPTIONS = {
  root: ROOT_OPTION,
  expect: { value: "FILE", help: "claims to decide (YAML or JSON); upheld init writes one" },
  save: { value: "FILE", help: "seal the evidence into a bundle" },
  json: { help: "print one JSON object, and nothing else, on standard output" },
  attribution: ATTRIBUTION_OPTION,
  limit: LIMIT_OPTION,
  label: { value: "KEY=VALUE", multiple: true, help: "kept with the run, never interpreted" },
  timeout: { value: "SECONDS", help: "end the agent after this time" },
};

/** What the command line asked for. */
export interface AskedRun {
  readonly roots: readonly NamedRoot[];
  readonly wishes: ReadonlyMap<string, WishedAttribution>;
  readonly limits: GivenLimits;
  readonly claims: ExpectationFile | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly timeoutMs: number | undefined;
  readonly command: readonly string[];
  readonly save: string | undefined;
  readonly json: boolean;
}

/** Reads the arguments of a run, the claims included. Throws on every mistake, before anything is started. */
export function askedRun(args: readonly string[]): AskedRun {
  const parsed = parseOptions(RUN_OPTIONS, args);
  noPositionals(parsed);
  const command = parsed.rest ?? [];
  if (command.length === 0 || command[0] === "")
    throw usage(
      "nothing to run: put the agent's command after --, as in upheld run -- python agent.py",
    );
  const roots = rootsOf(parsed);
  const wishes = wishedAttributions(parsed, roots);
  for (const [name, wish] of wishes)
    if (wish === "exact") throw usage(`--attribution ${name}=exact needs --isolate`);
  const expect = parsed.one("expect");
  const claims = expect === undefined ? undefined : readClaimsFile(expect);
  validateClaims(
    claims,
    roots.map(({ name }) => ({ name, surface: "file" })),
  );
  return {
    roots,
    wishes,
    limits: givenLimits(parsed),
    claims,
    labels: labelsOf(parsed),
    timeoutMs: timeoutOf(parsed.one("timeout")),
    command,
    save: parsed.one("save"),
    json: parsed.flag("json"),
  };
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
