import { agreementsOf, type Agreement, type Interval } from "../judge/agreement.ts";
import { counted } from "../report/bounds.ts";
import { printable } from "../report/printable.ts";
import type { Command } from "./command.ts";
import { EXIT } from "./exit.ts";
import { bundlesOf } from "./judge.ts";
import { unreadText } from "./judge-report.ts";
import { brokenText, ofFiles, readBundlesToJudge } from "./judged-bundle.ts";
import { parseOptions } from "./options.ts";

const OPTIONS = { json: { help: "print one JSON object" } };

export const agreementCommand: Command = {
  name: "agreement",
  summary: "Say how far judges agree with what people decided, claim by claim.",
  usage: ["upheld agreement BUNDLE... [--json]"],
  options: OPTIONS,
  examples: [["over all bundles of a folder", "upheld agreement runs/*.upheld"]],
  async run(args, { terminal, interruption }) {
    const parsed = parseOptions(OPTIONS, args);
    const read = await Promise.all(
      bundlesOf(parsed).map((path) => readBundlesToJudge(path, undefined, interruption.signal)),
    );
    const found = read.flat();
    const broken = found.flatMap((each) => ("fault" in each ? [each] : []));
    const bundles = found.flatMap((each) => ("fault" in each ? [] : [each]));
    const agreements = agreementsOf(bundles.flatMap(({ stored }) => stored.judgments));
    if (parsed.flag("json"))
      terminal.out(`${JSON.stringify({ bundles: bundles.length, broken, agreements })}\n`);
    else {
      const lines = [
        ...broken.map(
          (each) => `  NOT INTACT ${printable(each.path)}  ${printable(brokenText(each))}`,
        ),
        ...ofFiles(bundles).flatMap(unreadText),
        ...(agreements.length === 0 ? [NOTHING] : agreements.flatMap(agreementText)),
      ];
      terminal.out(lines.map((line) => `${line}\n`).join(""));
    }
    return broken.length > 0 ? EXIT.notIntact : EXIT.asExpected;
  },
};

const NOTHING =
  "  no claim was decided both by a person and by a judge (upheld judge --person records labels)";

function agreementText(agreement: Agreement): readonly string[] {
  const { criterion, judge, both, apart, bounds, baseRate } = agreement;
  const { heldHeld, heldRefuted, refutedHeld, refutedRefuted } = both;
  const compared = heldHeld + heldRefuted + refutedHeld + refutedRefuted;
  const open = [
    [apart.judgeUndecided, "the judge could not tell"],
    [apart.judgeFailed, "the judge failed"],
    [apart.notJudged, "not judged"],
    [apart.peopleUndecided, "people could not tell"],
    [apart.peopleDisagree, "people disagree"],
  ] as const;
  const told = open.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return [
    `  ${printable(criterion)}   ${printable(judge.name)} (${judge.kind})`,
    `      both say yes ${heldHeld}, both say no ${refutedRefuted}, only people say yes ${heldRefuted}, only the judge says yes ${refutedHeld}`,
    ...(told.length === 0 ? [] : [`      not compared: ${told.join(", ")}`]),
    `      agreement ${percent(agreement.agreed)} of ${counted(compared, "bundle")}${range(agreement.agreedInterval, percent)}`,
    `      with what is open counted against and for: ${bounds === null ? "nothing" : `${percent(bounds.lower)} to ${percent(bounds.upper)}`}`,
    `      people say yes ${percent(baseRate)}; kappa ${figure(agreement.kappa)}${range(agreement.kappaInterval, figure)}`,
  ];
}

function percent(value: number | null): string {
  return value === null ? "unknown" : `${Math.round(value * 100)} %`;
}

function figure(value: number | null): string {
  return value === null ? "unknown" : value.toFixed(2);
}

function range(interval: Interval | null, text: (value: number) => string): string {
  return interval === null ? "" : ` (95 %: ${text(interval.lower)} to ${text(interval.upper)})`;
}
