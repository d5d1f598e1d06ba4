import { intervalOf, intervalText } from "./bounds.ts";
import {
  heldOf,
  noResult,
  outcomeOf,
  reasonOf,
  wholeFailure,
  type ReportedGroup,
} from "./outcome.ts";
import { printable } from "./printable.ts";
import type { ReportedSubGoal } from "./run-report.ts";

/**
 * The groups as JUnit XML: a suite for each, a case for each sub-goal. Not as expected is a failure, not known is skipped with its
 * reason, broken is an error; what came to no result is one case more, an error, and what was not run one that is skipped.
 * Whatever comes from the world is escaped.
 */
export function junitXml(groups: readonly ReportedGroup[]): string {
  const suites = groups.map(suiteOf);
  const total = sumOf(suites.map(({ counts }) => counts));
  const time = groups.reduce((sum, { durationMs = 0 }) => sum + durationMs, 0);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${attributes({ name: "upheld", ...total, time: seconds(time) })}>`,
    ...suites.flatMap(({ lines }) => lines),
    "</testsuites>",
    "",
  ].join("\n");
}

interface Counts {
  readonly tests: number;
  readonly failures: number;
  readonly errors: number;
  readonly skipped: number;
}

/** One case: what is in it, and how it counts. */
interface Case {
  readonly name: string;
  readonly body: string | null;
  readonly as: keyof Omit<Counts, "tests"> | null;
}

interface Suite {
  readonly counts: Counts;
  readonly lines: readonly string[];
}

function suiteOf(group: ReportedGroup): Suite {
  const cases = [...group.subGoals.map(caseOf), ...wholeCases(group)];
  const of = (as: Case["as"]): number => cases.filter((each) => each.as === as).length;
  const counts = {
    tests: cases.length,
    failures: of("failures"),
    errors: of("errors"),
    skipped: of("skipped"),
  };
  const { durationMs = 0, run } = group;
  // The format has room for seconds, and none for a zone.
  const timestamp = run === undefined || run === null ? undefined : run.window[0].slice(0, 19);
  const named = { name: group.name, ...counts, time: seconds(durationMs), timestamp };
  return {
    counts,
    lines: [
      `  <testsuite ${attributes(named)}>`,
      ...propertyLines(group),
      ...cases.map((each) => caseLine(each, group.name)),
      "  </testsuite>",
    ],
  };
}

function caseOf(subGoal: ReportedSubGoal): Case {
  const { name, verdict, rationale } = subGoal;
  const message = reasonOf(subGoal);
  switch (outcomeOf(subGoal)) {
    case "held":
      return { name, body: null, as: null };
    case "not_held":
      return { name, body: element("failure", verdict.value, message, rationale), as: "failures" };
    case "undetermined":
      return { name, body: `<skipped ${attributes({ message })}/>`, as: "skipped" };
    case "broken":
      return { name, body: element("error", "broken", message, rationale), as: "errors" };
  }
}

/** What is told of a group as a whole. */
function wholeCases(group: ReportedGroup): readonly Case[] {
  const { name } = group;
  const failure = wholeFailure(group);
  if (failure !== null)
    return [
      {
        name: `${name} (${failure.domain})`,
        body: element("error", failure.code, failure.message, failure.message),
        as: "errors",
      },
    ];
  const message = noResult(group);
  if (message === null) return [];
  return [{ name, body: `<skipped ${attributes({ message })}/>`, as: "skipped" }];
}

function propertyLines(group: ReportedGroup): readonly string[] {
  const properties = {
    "upheld.held": intervalText(intervalOf(heldOf([group]))),
    "upheld.run": group.run?.runId,
    "upheld.bundle": group.bundle?.digest,
  };
  const lines = Object.entries(properties).flatMap(([name, value]) =>
    value === undefined ? [] : [`      <property ${attributes({ name, value })}/>`],
  );
  return ["    <properties>", ...lines, "    </properties>"];
}

function caseLine({ name, body }: Case, classname: string): string {
  const tag = `    <testcase ${attributes({ name, classname, time: "0" })}`;
  return body === null ? `${tag}/>` : `${tag}>${body}</testcase>`;
}

function element(tag: "failure" | "error", type: string, message: string, text: string): string {
  return `<${tag} ${attributes({ message, type })}>${escaped(text)}</${tag}>`;
}

function sumOf(all: readonly Counts[]): Counts {
  const of = (field: keyof Counts): number => all.reduce((sum, each) => sum + each[field], 0);
  return {
    tests: of("tests"),
    failures: of("failures"),
    errors: of("errors"),
    skipped: of("skipped"),
  };
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(3);
}

function attributes(fields: Readonly<Record<string, string | number | undefined>>): string {
  return Object.entries(fields)
    .flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}="${escaped(String(value))}"`],
    )
    .join(" ");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** Text for XML: what no document may hold is an escape before, and markup is an entity. */
function escaped(text: string): string {
  return text
    .split("\n")
    .map(printable)
    .join(" | ")
    .replaceAll(/[\uFFFE\uFFFF]/g, "\uFFFD")
    .replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}
