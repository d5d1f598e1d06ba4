import { Digest } from "../core/ids.ts";
import { BUNDLE_FAULTS, type Fault } from "../evidence/faults.ts";
import type { IntactBundle } from "../evidence/verify.ts";
import type { IntactSuite } from "../evidence/verify-suite.ts";
import { counted } from "../report/bounds.ts";
import { printable } from "../report/printable.ts";
import { openBundle } from "../store/open-bundle.ts";
import type { Command } from "./command.ts";
import { EXIT } from "./exit.ts";
import { onlyArgument, parseOptions, usage } from "./options.ts";
import {
  isSuite,
  KEY_OPTION,
  trustedKeys,
  trustLines,
  verifyEither,
  type VerifiedBundle,
} from "./verified-bundle.ts";

const OPTIONS = {
  key: KEY_OPTION,
  digest: { value: "sha256:...", help: "the digest that was printed when it was sealed" },
  json: { help: "print one JSON object" },
};

export const verifyCommand: Command = {
  name: "verify",
  summary: "Say whether a bundle is what was sealed, byte for byte, and who signed it.",
  usage: ["upheld verify FILE [--key PUB]... [--digest sha256:...] [--json]"],
  options: OPTIONS,
  examples: [
    ["is it intact in itself?", "upheld verify run.upheld"],
    ["did this key sign it?", "upheld verify run.upheld --key host.key.pub"],
    ["is it the one whose digest I noted?", "upheld verify run.upheld --digest sha256:9f2c..."],
  ],
  async run(args, { terminal, interruption }) {
    const parsed = parseOptions(OPTIONS, args);
    const file = onlyArgument(parsed, "a bundle");
    const expected = digestOf(parsed.one("digest"));
    const keys = trustedKeys(parsed);
    await using bundle = await openBundle(file);
    const answer = await verifyEither(bundle, {
      keys,
      signal: interruption.signal,
      ...(expected === undefined ? {} : { expectedDigest: expected }),
    });
    if (parsed.flag("json")) terminal.out(`${JSON.stringify(jsonOf(answer))}\n`);
    else terminal.out(answer.ok ? intactText(file, answer) : faultText(file, answer));
    return answer.ok ? EXIT.asExpected : EXIT.notIntact;
  },
};

/** A digest as an argument states it. */
export function digestOf(text: string | undefined): Digest | undefined {
  if (text === undefined) return undefined;
  const digest = Digest.safeParse(text);
  if (digest.success) return digest.data;
  throw usage(`--digest ${text}: expected sha256: and 64 lower-case hex digits`);
}

function jsonOf(answer: VerifiedBundle | Fault): object {
  if (!answer.ok) return answer;
  const { digest, signature, signatures, statement } = answer;
  const common = { ok: true, digest, signature, signatures, statement: statement.predicate };
  if (!isSuite(answer)) return { ...common, withheld: answer.withheld };
  const scenarios = answer.scenarios.map((each) => ({
    scenarioKey: each.scenario.scenarioKey,
    withheld: each.withheld,
    statement: each.statement.predicate,
  }));
  return { ...common, scenarios };
}

function intactText(file: string, answer: VerifiedBundle): string {
  const lines = isSuite(answer) ? suiteLines(answer) : runLines(answer);
  return [...trustLines(file, answer), ...lines, ""].join("\n");
}

function runLines({ statement, withheld }: IntactBundle): readonly string[] {
  const { run, parts, coverage } = statement.predicate;
  const gaps = coverage.reduce((sum, each) => sum + each.gapsTotal, 0);
  const missing = parts.filter(
    ({ state, title }) => state === "withheld" || state === "omitted" || withheld.includes(title),
  );
  return [
    `  run        ${run.runId}  ${run.startedAt} to ${run.endedAt}`,
    `  parts      ${counted(parts.length, "part")}, ${missing.length} not in the bundle`,
    ...missing.map(
      ({ title, state }) =>
        `             ${title} is ${withheld.includes(title) ? "withheld from this copy" : state}`,
    ),
    `  not seen   ${gaps === 0 ? "nothing" : counted(gaps, "place")}`,
  ];
}

function suiteLines({ statement, scenarios }: IntactSuite): readonly string[] {
  const { run, count } = statement.predicate;
  return [
    `  suite      ${printable(run.suite ?? "")}  ${run.startedAt} to ${run.endedAt}`,
    `  scenarios  ${counted(count, "scenario")}, ${scenarios.length} with evidence`,
    ...statement.predicate.scenarios.map((each) => {
      const told = each.state === "sealed" ? each.statement : `no evidence: ${each.reason}`;
      return `             ${printable(`${each.scenarioKey}  attempt ${each.scenarioAttempt}  ${told}`)}`;
    }),
  ];
}

/** What is wrong with a bundle, in words. */
export function faultText(file: string, { reason, at }: Fault): string {
  return `  NOT INTACT ${printable(file)}  ${reason} at ${printable(at)}\n  ${BUNDLE_FAULTS[reason]}\n`;
}
