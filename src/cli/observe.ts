import { resolve } from "node:path";
import type { ExpectationFile } from "../core/expectation.ts";
import { Timestamp } from "../core/timestamp.ts";
import type { DeclaredSecret } from "../evidence/declared-secret.ts";
import { captureLimits } from "../run/capture-world.ts";
import { observeRun, validateClaims, type ObservedRoot } from "../run/observe-run.ts";
import { storedCalls } from "../run/call-recording.ts";
import { CALLS_OPTION } from "./call-options.ts";
import type { Command, CommandContext } from "./command.ts";
import { DB_OPTION, databasesOf, type NamedDatabase } from "./databases.ts";
import { givenClaims } from "./given-claims.ts";
import { attemptOf, clockOf, newRunId } from "../run/new-run.ts";
import { noArguments, parseOptions, usage, type Parsed } from "./options.ts";
import { progressOn } from "./progress.ts";
import { publish, refuseUnwritable } from "./publish.ts";
import {
  givenLimits,
  LIMIT_OPTION,
  ROOT_OPTION,
  rootsOf,
  STRICT_OPTION,
  type NamedRoot,
} from "./roots.ts";
import { readBaselineFolder, rootFolder } from "./saved-baseline.ts";
import { hideDeclared, hideSecrets, SECRET_OPTION } from "./secrets.ts";
import { secretsOfDatabases } from "../run/redactor-of-run.ts";
import { askedReports, REPORT_OPTIONS, type AskedReports } from "./reports.ts";
import { WatchedRoots, type SavingSource } from "./watched-roots.ts";

const OPTIONS = {
  baseline: { value: "FOLDER", help: "what upheld baseline saved" },
  since: { value: "TIME", help: "without a baseline: when the run began (RFC 3339)" },
  root: { ...ROOT_OPTION, help: "a directory to look at; with --baseline: where a root lies now" },
  db: {
    ...DB_OPTION,
    help: "a database to look at; with --baseline: where the recorded one is now",
  },
  expect: { value: "FILE", help: "claims to decide (YAML or JSON)" },
  save: { value: "FILE", help: "seal the evidence into a bundle" },
  calls: CALLS_OPTION,
  json: { help: "print one JSON object, and nothing else, on standard output" },
  ...REPORT_OPTIONS,
  limit: LIMIT_OPTION,
  strict: STRICT_OPTION,
  secret: SECRET_OPTION,
};

export const observeCommand: Command = {
  name: "observe",
  summary: "Say what changed since a baseline, or since a time.",
  usage: [
    "upheld observe --baseline FOLDER [--expect FILE] [--save FILE] [--json]",
    "upheld observe --since TIME [--root NAME=DIR]... [--expect FILE]",
  ],
  options: OPTIONS,
  examples: [
    ["what changed since the baseline?", "upheld observe --baseline /tmp/before"],
    [
      "without a baseline, by times: weaker, and it says so",
      "upheld observe --since 2026-11-30T18:00:00Z --expect claims.yaml",
    ],
  ],
  async run(args, context) {
    const parsed = parseOptions(OPTIONS, args);
    const declared = hideDeclared(parsed, context);
    noArguments(parsed);
    await refuseUnwritable(parsed.one("save"));
    const before = beforeOf(parsed, context.environment);
    const secrets = [...declared, ...secretsOfDatabases(before.databases)];
    hideSecrets(secrets, context.terminal);
    const reports = askedReports(parsed, context.environment);
    const claims = await givenClaims(parsed);
    validateClaims(claims, [
      ...before.roots.map(({ name }) => ({ name, surface: "file" })),
      ...before.databases.map(({ name }) => ({ name, surface: "sql" })),
    ]);
    return observeSince(before, { parsed, claims, secrets, reports }, context);
  },
};

/** The world before: since when, of which roots, and where it is recorded. */
interface Before {
  readonly from: Timestamp;
  readonly roots: readonly NamedRoot[];
  readonly databases: readonly NamedDatabase[];
  readonly folder: string | undefined;
}

function beforeOf(parsed: Parsed, environment: NodeJS.ProcessEnv): Before {
  const folder = parsed.one("baseline");
  const since = parsed.one("since");
  if ((folder === undefined) === (since === undefined))
    throw usage("either --baseline FOLDER or --since TIME is needed, and not both");
  if (folder === undefined) {
    const roots = rootsOf(parsed);
    const databases = databasesOf(parsed, roots, environment);
    return { from: timeOf(since ?? ""), roots, databases, folder: undefined };
  }
  const saved = readBaselineFolder(folder);
  const given = parsed.many("root").length === 0 ? [] : rootsOf(parsed);
  const names = saved.roots.map(({ name }) => name);
  for (const { name } of given)
    if (!names.includes(name))
      throw usage(`--root ${name}: the baseline holds no such root (it holds ${names.join(", ")})`);
  const roots = saved.roots.map(
    ({ name, directory }) => given.find((each) => each.name === name) ?? { name, directory },
  );
  const databases = databasesOf(parsed, roots, environment);
  refuseOtherDatabases(
    saved.databases.map(({ name }) => name),
    databases.map(({ name }) => name),
  );
  return { from: saved.takenAt, roots, databases, folder: resolve(folder) };
}

/** The baseline keeps no addresses: each recorded database has to be named again. */
function refuseOtherDatabases(recorded: readonly string[], given: readonly string[]): void {
  for (const name of recorded)
    if (!given.includes(name))
      throw usage(`the baseline holds the database ${name}: say where it is with --db ${name}=URL`);
  for (const name of given)
    if (!recorded.includes(name)) throw usage(`--db ${name}: the baseline holds no such database`);
}

const TIME = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/;

/** "2026-11-30T18:48:15Z", with a fraction or an offset. Throws "argument_invalid". */
function timeOf(text: string): Timestamp {
  const [, seconds = "", fraction = "", zone = ""] = TIME.exec(text) ?? [];
  const at = new Date(`${seconds}${zone}`);
  if (seconds === "" || Number.isNaN(at.getTime()))
    throw usage(`--since ${text}: expected a time such as 2026-11-30T18:48:15Z`);
  return Timestamp.parse(`${at.toISOString().slice(0, -5)}.${fraction.padEnd(9, "0")}Z`);
}

async function observeSince(
  { from, roots, databases, folder }: Before,
  {
    parsed,
    claims,
    secrets,
    reports,
  }: {
    readonly parsed: Parsed;
    readonly claims: ExpectationFile | undefined;
    readonly secrets: readonly DeclaredSecret[];
    readonly reports: AskedReports;
  },
  context: CommandContext,
): Promise<number> {
  const { terminal, interruption } = context;
  const wish = folder === undefined ? "window" : "auto";
  const wishes = new Map([...roots, ...databases].map(({ name }) => [name, wish] as const));
  const limits = givenLimits(parsed);
  const save = parsed.one("save");
  const capture = save === undefined ? undefined : captureLimits(limits.limits);
  const keepsMoment = capture !== undefined;
  const strict = parsed.flag("strict");
  await using watched = new WatchedRoots(roots, { limits, strict, wishes, databases, keepsMoment });
  const observed = await Promise.all(watched.roots.map((root) => withBaseline(root, folder)));
  const clock = clockOf(roots);
  const now = clock();
  if (now < from) throw usage(`the run is said to have begun at ${from}, and it is only ${now}`);
  const runId = newRunId(new Date());
  const attemptId = attemptOf(runId);
  const progress = progressOn(terminal);
  const record = await observeRun(
    {
      run: { runId, attemptId, window: [from, now], labels: {} },
      roots: observed,
      scope: { window: [from, now] },
      claims,
      calls: storedCalls(parsed.one("calls"), { attemptId, clock, limits: limits.limits, from }),
      capture,
    },
    {
      clock,
      signal: interruption.signal,
      onListed: (_, listed) => progress.update("observe", listed),
    },
  );
  progress.clear();
  return await publish(record, { json: parsed.flag("json"), save, secrets, reports }, context);
}

async function withBaseline(
  root: ObservedRoot & { readonly source: SavingSource },
  folder: string | undefined,
): Promise<ObservedRoot> {
  if (folder === undefined) return root;
  return { ...root, baseline: await root.source.openBaseline(rootFolder(folder, root.name)) };
}
