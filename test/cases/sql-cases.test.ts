import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { scratchFolder } from "../worlds/ordinary-user.ts";
import { postgresMissing, startPostgres, systemPostgres, type PostgresServer } from "../worlds/postgres-server.ts";

const MAIN = join(import.meta.dirname, "../../dist/cli/main.js");
const PERFORM = join(import.meta.dirname, "../worlds/perform-steps.mjs");

interface Case {
  readonly id: string;
  readonly kind: string;
  readonly needs?: string;
  readonly world: readonly Readonly<Record<string, unknown>>[];
  readonly run: readonly Readonly<Record<string, unknown>>[];
  readonly question: Readonly<Record<string, unknown>> & {
    readonly type: string;
    readonly uri?: string;
    readonly where?: Readonly<Record<string, unknown>>;
  };
  readonly want: {
    readonly verdict: string;
    readonly accept?: readonly string[];
    readonly gaps?: readonly string[];
    readonly gaps_any_if_undetermined?: readonly string[];
    readonly rows?: readonly Readonly<Record<string, unknown>>[];
    readonly witness?: string;
    readonly change?: string;
    readonly accept_change?: readonly string[];
  };
}

interface Outcome {
  readonly subGoals: readonly {
    readonly verdict: {
      readonly value: string;
      readonly witnesses?: readonly { uri: string }[];
      readonly counterexamples?: readonly { uri: string }[];
      readonly gaps?: readonly { code: string }[];
    };
    readonly method: string;
    readonly rationale: string;
  }[];
  readonly delta: readonly { uri: string; change: string }[];
}

const read = (name: string): Case[] =>
  JSON.parse(readFileSync(join(import.meta.dirname, `${name}.json`), "utf8"));

const CASES = [...read("sql"), ...read("attribution")].filter(({ world }) =>
  world.some((step) => "sql" in step),
);

let server: PostgresServer;

beforeAll(async () => {
  if (postgresMissing === undefined) server = await startPostgres();
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
});

async function runCase(
  each: Case,
  on: PostgresServer,
  attribution: string,
): Promise<{ readonly outcome: Outcome; readonly everything: string }> {
  using scratch = scratchFolder();
  const { url } = await on.database();
  const environment = {
    ...process.env,
    CASE_DATABASE: url,
    UPHELD_STATE_DIR: join(scratch.path, "state"),
  };
  const root = join(scratch.path, "root");
  mkdirSync(root);
  const steps = (name: string, list: unknown): string => {
    const file = join(scratch.path, `${name}.json`);
    writeFileSync(file, JSON.stringify(list));
    return file;
  };
  const world = spawnSync(process.execPath, [PERFORM, steps("world", each.world)], {
    env: environment,
    encoding: "utf8",
  });
  expect(world.status, world.stderr).toBe(0);
  const { type, ...rest } = each.question;
  const claims = join(scratch.path, "claims.json");
  const condition = { kind: type, ...rest };
  writeFileSync(claims, JSON.stringify({ subGoals: [{ name: "question", condition }] }));
  const bundle = join(scratch.path, "run.upheld");
  const args = [MAIN, "run", "--root", "file=.", "--db", "sql=env:CASE_DATABASE", "--attribution", `sql=${attribution}`];
  const agent = [process.execPath, PERFORM, steps("run", each.run)];
  const done = await runToEnd([...args, "--expect", claims, "--json", "--save", bundle, "--", ...agent], root, environment);
  expect(done.stdout, done.stderr).not.toBe("");
  expect(existsSync(bundle)).toBe(true);
  const score = spawnSync(process.execPath, [MAIN, "score", bundle, "--expect", claims, "--json"], {
    env: environment,
    encoding: "utf8",
  });
  const outcome: Outcome = JSON.parse(done.stdout);
  const again: Outcome = JSON.parse(score.stdout);
  expect(again.subGoals[0]?.verdict.value, "replayed").toBe(outcome.subGoals[0]?.verdict.value);
  return { outcome, everything: done.stdout + done.stderr + readFileSync(bundle, "latin1") };
}

function runToEnd(
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd, env });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk) => (stdout += chunk));
    child.stderr.on("data", (chunk) => (stderr += chunk));
    child.on("close", () => resolve({ stdout, stderr }));
  });
}

function settle(each: Case, { outcome, everything }: Awaited<ReturnType<typeof runCase>>, method: string): void {
  const [goal] = outcome.subGoals;
  const { want } = each;
  const value = goal?.verdict.value;
  const codes = (goal?.verdict.gaps ?? []).map(({ code }) => code);
  expect([want.verdict, ...(want.accept ?? [])], goal?.rationale).toContain(value);
  if (each.question.type === "rows_changed") expect(goal?.method).toBe(method);
  if (value === "undetermined") expect(want.gaps_any_if_undetermined ?? want.gaps).toContain(codes[0]);
  const shown = [...(goal?.verdict.witnesses ?? []), ...(goal?.verdict.counterexamples ?? [])].map(({ uri }) => uri);
  const table = each.question.uri ?? "";
  if (want.rows !== undefined)
    expect(shown).toEqual(want.rows.map((row) => `${table}?${Object.entries(row).map(([name, text]) => `${name}=${String(text)}`).join("&")}`));
  if (want.witness !== undefined) expect(shown).toContain(want.witness.replace(/^sql:(\w+)\./, "sql:/$1/"));
  settleChange(each, outcome);
  expect(everything).not.toContain("postgres@127.0.0.1");
}

function settleChange({ question, want }: Case, { delta }: Outcome): void {
  if (want.change === undefined) return;
  const [id] = Object.values(question.where ?? {});
  const found = delta.find(({ uri }) => uri === `${question.uri}?id=${String(id)}`)?.change;
  expect([want.change, ...(want.accept_change ?? [])]).toContain(found ?? "unchanged");
}

describe("the cases of databases, through the command line", () => {
  for (const each of CASES.filter(({ needs }) => needs === undefined))
    test(`${each.id}: ${each.kind}`, { timeout: 60_000 }, async (context) => {
      context.skip(postgresMissing !== undefined, postgresMissing);
      settle(each, await runCase(each, server, "auto"), "exact");
    });
});

describe("on a server whose transactions count beyond 2^32", () => {
  for (const each of CASES.filter(({ needs }) => needs === "wraparound"))
    test(`${each.id}: ${each.kind}`, { timeout: 120_000 }, async (context) => {
      const programs = systemPostgres();
      context.skip(postgresMissing !== undefined, postgresMissing);
      context.skip(programs === undefined, "pg_resetwal is not installed (Debian: postgresql)");
      await using old = await startPostgres({
        programs,
        prepare: (data, run) => run("pg_resetwal", "-e", "2", "-D", data),
      });
      const client = await old.connect("postgres");
      const { rows } = await client.query("SELECT pg_current_xact_id()::text AS id");
      await client.end();
      expect(Number(rows[0]?.id)).toBeGreaterThan(2 ** 33);
      settle(each, await runCase(each, old, "auto"), "exact");
    });
});
