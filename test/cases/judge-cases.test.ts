import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ended, MAIN, Workplace, type Printed } from "../cli/upheld.ts";
import { judgeServer, type Answer, type JudgeServer } from "../worlds/judge-server.ts";
import { postgresMissing, startPostgres, type PostgresServer } from "../worlds/postgres-server.ts";
import { spawn } from "node:child_process";

const PERFORM = join(import.meta.dirname, "../worlds/perform-steps.mjs");

interface Case {
  readonly id: string;
  readonly kind: string;
  readonly transcript?: "absent";
  readonly world: readonly Readonly<Record<string, unknown>>[];
  readonly run: readonly Readonly<Record<string, unknown>>[];
  readonly question: {
    readonly id?: string;
    readonly claim?: string;
    readonly claims?: Readonly<Record<string, string>>;
    readonly needs?: readonly string[];
  };
  readonly judge: readonly Answer[];
  readonly want: {
    readonly verdict?: string;
    readonly verdicts?: Readonly<Record<string, string>>;
    readonly gaps?: readonly string[];
    readonly judge_error?: boolean;
    readonly judge_calls?: number;
    readonly counted_as?: string;
    readonly prompt?: Readonly<Record<string, boolean>>;
  };
}

interface Judged {
  readonly bundles: readonly [
    {
      readonly subGoals: readonly {
        readonly name: string;
        readonly held: boolean | null;
        readonly verdict: { readonly value: string; readonly gaps?: readonly { code: string }[] };
      }[];
      readonly judgments: readonly { readonly claim: string; readonly fate: string }[];
    },
  ];
  readonly counts: Readonly<Record<string, number>>;
}

const CASES: readonly Case[] = JSON.parse(
  readFileSync(join(import.meta.dirname, "judge.json"), "utf8"),
);
const usesSql = ({ world, run }: Case): boolean => [...world, ...run].some((step) => "sql" in step);

let postgres: PostgresServer | undefined;

beforeAll(async () => {
  if (postgresMissing === undefined) postgres = await startPostgres();
});

afterAll(async () => {
  await postgres?.[Symbol.asyncDispose]();
});

/** Runs the world and the agent, and seals; where no transcript is wanted, around a run that something else starts. */
async function sealed(each: Case, place: Workplace): Promise<string> {
  const env: NodeJS.ProcessEnv = { ...place.environment };
  if (usesSql(each) && postgres !== undefined) env["CASE_DATABASE"] = (await postgres.database()).url;
  const bundle = join(place.path, "run.upheld");
  const calls = join(place.path, "calls.jsonl");
  const steps = (name: string, list: unknown): readonly string[] => [
    process.execPath,
    PERFORM,
    place.write(`${name}.json`, JSON.stringify(list)),
  ];
  const run = (command: readonly string[]): Promise<Printed> => {
    const [program = "", ...args] = command;
    return ended(spawn(program, args, { cwd: place.root, env, stdio: ["ignore", "pipe", "pipe"] }));
  };
  const upheld = (...args: readonly string[]): Promise<Printed> => run([process.execPath, MAIN, ...args]);
  expect((await run(steps("world", each.world))).code).toBe(0);
  const claims = claimsFile(each, place);
  const database = usesSql(each) ? ["--db", "sql=env:CASE_DATABASE"] : [];
  const records = each.run.some((step) => "call" in step) ? ["--calls", calls] : [];
  const agent = steps("run", each.run);
  if (each.transcript === "absent") {
    const baseline = join(place.path, "baseline");
    await upheld("baseline", "--root", "file=.", "--save", baseline);
    writeFileSync(calls, "");
    expect((await run(["env", `UPHELD_CALLS=${calls}`, ...agent])).code).toBe(0);
    const observed = await upheld("observe", "--baseline", baseline, "--root", "file=.", "--calls", calls, "--expect", claims, "--save", bundle);
    expect(observed.stdout, observed.stderr).toContain("sealed");
    return bundle;
  }
  const done = await upheld("run", "--root", "file=.", "--no-otlp", ...database, ...records, "--expect", claims, "--save", bundle, "--", ...agent);
  expect(done.stdout, done.stderr).toContain("sealed");
  return bundle;
}

function claimsFile({ question }: Case, place: Workplace): string {
  const claims = question.claims ?? { [question.id ?? ""]: question.claim ?? "" };
  const subGoals = Object.entries(claims).map(([name, judged]) => ({
    name,
    judged,
    ...(question.needs === undefined ? {} : { needs: question.needs }),
  }));
  mkdirSync(place.path, { recursive: true });
  return place.write("claims.json", JSON.stringify({ subGoals }));
}

function settle({ want, question }: Case, { bundles: [bundle], counts }: Judged, server: JudgeServer): void {
  const wanted = want.verdicts ?? { [question.id ?? ""]: want.verdict ?? "" };
  const seen = Object.fromEntries(bundle.subGoals.map(({ name, verdict }) => [name, verdict.value]));
  expect(seen).toEqual(wanted);
  const codes = bundle.subGoals.flatMap(({ verdict }) => (verdict.gaps ?? []).map(({ code }) => code));
  if (want.gaps !== undefined) expect(codes).toEqual(want.gaps);
  const failed = bundle.judgments.map(({ fate }) => fate === "failed");
  expect(failed).toEqual(failed.map(() => want.judge_error === true));
  if (want.judge_error === true) {
    expect(counts).toMatchObject({ failed: failed.length, upheld: 0, refuted: 0, undecided: 0 });
    expect(bundle.subGoals.every(({ held }) => held === null)).toBe(true);
    expect(server.asked).toHaveLength(2);
  }
  if (want.judge_calls !== undefined) expect(server.asked).toHaveLength(want.judge_calls);
}

const fenceOf = (user: string): RegExpExecArray => {
  const found = /^BEGIN EVIDENCE ([0-9a-f]{32})\n([\s\S]*)\nEND EVIDENCE \1$/m.exec(user);
  if (found === null) throw new Error("the evidence is not fenced");
  return found;
};

async function judgeCase(each: Case, api: string, bundle: string, place: Workplace): Promise<void> {
  await using server = await judgeServer(each.judge);
  const args = ["judge", bundle, "--model", `${api}:judge-1`, "--url", server.url, "--json"];
  const judge = (...more: readonly string[]): Promise<Printed> => place.upheld([...args, ...more]);
  const printed = await judge();
  expect(printed.stderr).toBe("");
  settle(each, JSON.parse(printed.stdout), server);
  if (each.want.prompt === undefined) return;
  // Another way of asking is another judge, so it is asked again.
  await judge("--temperature", "0");
  const fences = server.asked.map(({ user }) => fenceOf(user));
  expect(fences).toHaveLength(2);
  expect(fences[0]?.[1]).not.toBe(fences[1]?.[1]);
  for (const [, nonce = "", data = ""] of fences) {
    expect(data).toContain("GRADE: PASS");
    expect(data).not.toContain(nonce);
    expect(data).not.toMatch(/END DATA/);
  }
}

describe("the cases of judges, through the command line and both protocols", () => {
  for (const each of CASES)
    test(`${each.id}: ${each.kind}`, { timeout: 180_000 }, async (context) => {
      context.skip(usesSql(each) && postgresMissing !== undefined, postgresMissing);
      using place = new Workplace();
      const bundle = await sealed(each, place);
      for (const api of ["openai", "anthropic"]) await judgeCase(each, api, bundle, place);
    });
});
