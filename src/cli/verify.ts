import { Digest } from "../core/ids.ts";
import { BUNDLE_FAULTS, type Fault } from "../evidence/faults.ts";
import { verifyBundle, type IntactBundle } from "../evidence/verify.ts";
import { counted } from "../report/bounds.ts";
import { printable } from "../report/printable.ts";
import { nodeHasher } from "../store/hasher.ts";
import { openBundle } from "../store/open-bundle.ts";
import type { Command } from "./command.ts";
import { EXIT } from "./exit.ts";
import { onlyArgument, parseOptions, usage } from "./options.ts";

const OPTIONS = {
  digest: { value: "sha256:...", help: "the digest that was printed when it was sealed" },
  json: { help: "print one JSON object" },
};

export const verifyCommand: Command = {
  name: "verify",
  summary: "Say whether a bundle is what was sealed, byte for byte.",
  usage: ["upheld verify FILE [--digest sha256:...] [--json]"],
  options: OPTIONS,
  examples: [
    ["is it intact in itself?", "upheld verify run.upheld"],
    ["is it the one whose digest I noted?", "upheld verify run.upheld --digest sha256:9f2c..."],
  ],
  async run(args, { terminal, interruption }) {
    const parsed = parseOptions(OPTIONS, args);
    const file = onlyArgument(parsed, "a bundle");
    const expected = digestOf(parsed.one("digest"));
    await using bundle = await openBundle(file);
    const answer = await verifyBundle(bundle, {
      hasher: nodeHasher,
      signal: interruption.signal,
      ...(expected === undefined ? {} : { expectedDigest: expected }),
    });
    if (parsed.flag("json")) terminal.out(`${JSON.stringify(jsonOf(answer))}\n`);
    else terminal.out(answer.ok ? intactText(file, answer) : faultText(file, answer));
    return answer.ok ? EXIT.asExpected : EXIT.notIntact;
  },
};

function digestOf(text: string | undefined): Digest | undefined {
  if (text === undefined) return undefined;
  const digest = Digest.safeParse(text);
  if (digest.success) return digest.data;
  throw usage(`--digest ${text}: expected sha256: and 64 lower-case hex digits`);
}

function jsonOf(answer: IntactBundle | Fault): object {
  if (!answer.ok) return answer;
  const { digest, signature, statement } = answer;
  return { ok: true, digest, signature, statement: statement.predicate };
}

function intactText(file: string, { digest, statement }: IntactBundle): string {
  const { run, parts, coverage } = statement.predicate;
  const gaps = coverage.reduce((sum, each) => sum + each.gapsTotal, 0);
  const missing = parts.filter(({ state }) => state === "withheld" || state === "omitted");
  return [
    `  intact     ${printable(file)}  ${digest}`,
    `  integrity only: it is unsigned, so nobody vouches for it but the digest`,
    `  run        ${run.runId}  ${run.startedAt} to ${run.endedAt}`,
    `  parts      ${counted(parts.length, "part")}, ${missing.length} not in the bundle`,
    ...missing.map(({ title, state }) => `             ${title} is ${state}`),
    `  not seen   ${gaps === 0 ? "nothing" : counted(gaps, "place")}`,
    "",
  ].join("\n");
}

function faultText(file: string, { reason, at }: Fault): string {
  return `  NOT INTACT ${printable(file)}  ${reason} at ${printable(at)}\n  ${BUNDLE_FAULTS[reason]}\n`;
}
