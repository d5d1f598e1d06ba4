import { rootOf, segmentsOf } from "../core/locator.ts";
import { intervalOf } from "./bounds.ts";
import {
  heldOf,
  outcomeOf,
  placesOf,
  reasonOf,
  wholeFailure,
  type Outcome,
  type ReportedGroup,
} from "./outcome.ts";
import { printable } from "./printable.ts";
import type { ReportedSubGoal } from "./run-report.ts";

/** How many places of one result are shown; how many there are stands beside them. */
const MAX_PLACES = 20;

const KINDS: Readonly<Record<Outcome, "pass" | "fail" | "open">> = {
  held: "pass",
  not_held: "fail",
  undetermined: "open",
  broken: "open",
};

/**
 * The groups as a SARIF 2.1.0 log: a rule and a result for each sub-goal, which passes, fails or stays open. What is broken, or came
 * to no result, is open too, and told as a notification of the tool; the invocation is then not successful.
 */
export function sarifLog(groups: readonly ReportedGroup[], version: string): object {
  const asked = groups.flatMap((group) => group.subGoals.map((subGoal) => ({ group, subGoal })));
  const notifications = groups.flatMap(notificationsOf);
  return {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: {
          driver: {
            name: "upheld",
            semanticVersion: version,
            rules: asked.map(({ group, subGoal }) => ruleOf(group, subGoal)),
          },
        },
        columnKind: "utf16CodeUnits",
        invocations: [
          {
            executionSuccessful: notifications.length === 0,
            toolExecutionNotifications: notifications,
          },
        ],
        results: asked.map(({ group, subGoal }, ruleIndex) => resultOf(group, subGoal, ruleIndex)),
        properties: { held: intervalOf(heldOf(groups)) },
      },
    ],
  };
}

function ruleId({ name }: ReportedGroup, subGoal: ReportedSubGoal): string {
  return printable(`${name}/${subGoal.name}`);
}

function ruleOf(group: ReportedGroup, subGoal: ReportedSubGoal): object {
  const { name, what = name } = subGoal;
  return {
    id: ruleId(group, subGoal),
    name: printable(name),
    shortDescription: { text: plain(what) },
    defaultConfiguration: { level: "error" },
  };
}

function resultOf(group: ReportedGroup, subGoal: ReportedSubGoal, ruleIndex: number): object {
  const kind = KINDS[outcomeOf(subGoal)];
  const { verdict, method, decidedBy } = subGoal;
  const places = placesOf(verdict);
  const gaps = verdict.value === "undetermined" ? verdict.gaps : [];
  const uris = [
    ...new Set([...places.map(({ uri }) => uri), ...gaps.map(({ location }) => location)]),
  ];
  return {
    ruleId: ruleId(group, subGoal),
    ruleIndex,
    kind,
    level: kind === "fail" ? "error" : "none",
    message: { text: plain(reasonOf(subGoal)) },
    locations: uris.slice(0, MAX_PLACES).map(locationOf),
    properties: {
      verdict: verdict.value,
      decidedBy,
      method,
      places: { shown: Math.min(uris.length, MAX_PLACES), total: totalOf(subGoal, uris.length) },
      gaps: gaps.map(({ code }) => code),
    },
  };
}

function totalOf({ verdict }: ReportedSubGoal, shown: number): number {
  return verdict.value === "undetermined" ? shown : Math.max(shown, verdict.total);
}

/** A place on a surface: relative to its root, which the reader maps to where it lies. */
function locationOf(uri: string): object {
  const logicalLocations = [{ fullyQualifiedName: printable(uri), kind: "resource" }];
  const root = rootOf(uri);
  const segments = segmentsOf(uri).filter((segment) => segment !== "");
  if (root === "" || segments.length === 0) return { logicalLocations };
  const relative = segments.map((segment) => encodeURIComponent(printable(segment))).join("/");
  return {
    physicalLocation: {
      artifactLocation: { uri: relative, uriBaseId: root },
      region: { startLine: 1 },
    },
    logicalLocations,
  };
}

function notificationsOf(group: ReportedGroup): readonly object[] {
  const { name, subGoals } = group;
  const failure = wholeFailure(group);
  const broken = subGoals.filter((each) => outcomeOf(each) === "broken");
  return [
    ...broken.map((each) => notification(`${name}/${each.name}: ${reasonOf(each)}`, "broken")),
    ...(failure === null
      ? []
      : [notification(`${name}: ${failure.domain}: ${failure.message}`, failure.code)]),
  ];
}

function notification(text: string, id: string): object {
  return { level: "error", message: { text: plain(text) }, descriptor: { id } };
}

/** A message may hold links: a bracket of the world begins none. */
function plain(text: string): string {
  return printable(text).replaceAll(/[[\]]/g, String.raw`\$&`);
}
