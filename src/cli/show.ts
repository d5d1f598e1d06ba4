import type { EvidencePart, EvidencePredicate } from "../evidence/statement.ts";
import { byteSize, count, counted } from "../report/bounds.ts";
import { printable } from "../report/printable.ts";
import { openBundle } from "../store/open-bundle.ts";
import type { Command } from "./command.ts";
import { EXIT } from "./exit.ts";
import { onlyArgument, parseOptions } from "./options.ts";
import {
  isSuite,
  KEY_OPTION,
  trustedKeys,
  trustLines,
  verifyEither,
  type VerifiedBundle,
} from "./verified-bundle.ts";
import { faultText } from "./verify.ts";

const OPTIONS = {
  key: KEY_OPTION,
  json: { help: "print the statement as one JSON object" },
};

/** Gaps of a source that are shown one by one. */
const SHOWN_GAPS = 20;

export const showCommand: Command = {
  name: "show",
  summary:
    "Show what a bundle holds: its parts, what was cut or removed, what was not seen, who signed.",
  usage: ["upheld show FILE [--key PUB]... [--json]"],
  options: OPTIONS,
  examples: [["what is in it?", "upheld show run.upheld"]],
  async run(args, { terminal, interruption }) {
    const parsed = parseOptions(OPTIONS, args);
    const file = onlyArgument(parsed, "a bundle");
    const keys = trustedKeys(parsed);
    await using bundle = await openBundle(file);
    const answer = await verifyEither(bundle, { keys, signal: interruption.signal });
    if (parsed.flag("json")) terminal.out(`${JSON.stringify(answer)}\n`);
    else terminal.out(answer.ok ? shownText(file, answer) : faultText(file, answer));
    return answer.ok ? EXIT.asExpected : EXIT.notIntact;
  },
};

function shownText(file: string, answer: VerifiedBundle): string {
  const head = trustLines(file, answer);
  if (!isSuite(answer)) {
    const { statement, withheld } = answer;
    return [...head, ...runLines(statement.predicate, withheld), ""].join("\n");
  }
  const { scenarios } = answer.statement.predicate;
  const absent = scenarios.flatMap((each) =>
    each.state === "absent"
      ? [
          `  scenario   ${each.scenarioKey}, attempt ${each.scenarioAttempt}: no evidence, ${each.reason}`,
        ]
      : [],
  );
  const told = answer.scenarios.flatMap(({ scenario, statement, withheld }) => [
    "",
    `  scenario   ${scenario.scenarioKey}, attempt ${scenario.scenarioAttempt}`,
    ...runLines(statement.predicate, withheld),
  ]);
  const total = `  scenarios  ${counted(scenarios.length, "scenario")}, ${answer.scenarios.length} with evidence`;
  return [...head, total, ...[...absent, ...told].map(printable), ""].join("\n");
}

function runLines(
  { run, sealer, attribution, coverage, parts }: EvidencePredicate,
  withheld: readonly string[],
): readonly string[] {
  const side = sealer === undefined ? "" : `, where the ${sealer.by} runs`;
  const width = Math.max(...parts.map(({ title }) => title.length), 0);
  return [
    `  run        ${run.runId}  ${run.startedAt} to ${run.endedAt}`,
    `  sealed by  ${run.producer.name} ${run.producer.version}${side}`,
    ...attribution.map(
      ({ root, method, reason }) =>
        `  changes    ${root}: by ${method}${reason === undefined ? "" : ` (${reason})`}`,
    ),
    `  parts      ${counted(parts.length, "part")}`,
    ...parts.map(
      (part) =>
        `             ${part.title.padEnd(width)}  ${partText(part, withheld.includes(part.title))}`,
    ),
    ...coverage.flatMap((each) => [
      `  seen       ${each.source}: ${each.acquisition}`,
      ...gapLines(each),
    ]),
  ].map(printable);
}

function partText(part: EvidencePart, isWithheld: boolean): string {
  const shown =
    part.counts === undefined ? [] : [`${count(part.counts.shown)} of ${count(part.counts.total)}`];
  switch (part.state) {
    case "omitted":
      return ["omitted", ...shown, part.reason].join(", ");
    case "withheld":
      return ["withheld", ...shown].join(", ");
    case "present":
      return [isWithheld ? "withheld" : byteSize(part.sizeBytes), ...shown].join(", ");
    case "redacted": {
      const rules = part.redactions.map((each) => `${each.rule} ${each.count}`).join(", ");
      const size = isWithheld ? "withheld" : byteSize(part.sizeBytes);
      return [size, ...shown, `removed: ${rules}`].join(", ");
    }
  }
}

function gapLines({ gaps, gapsTotal }: EvidencePredicate["coverage"][number]): readonly string[] {
  const shown = gaps.slice(0, SHOWN_GAPS);
  const rest = gapsTotal - shown.reduce((sum, each) => sum + each.count, 0);
  return [
    ...shown.map(({ code, location, detail, remedy }) => {
      const told = detail === undefined ? code : `${code}: ${detail}`;
      return `  not seen   ${location}  (${told})  ${remedy}`;
    }),
    ...(rest > 0 ? [`  not seen   ${counted(rest, "further place")}`] : []),
  ];
}
