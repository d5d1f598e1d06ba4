import { execFile } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toolScript } from "../../scripts/project.mjs";
import { postgresMissing, startPostgres } from "../worlds/postgres-server.ts";
import { DocsFolder } from "../support/docs-session.ts";

const LATE = 240_000;

const SAMPLE = `
import { writeFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { recordRun } from "upheld/vitest";

const roots = { workspace: process.env.SAMPLE_ROOT };
const place = (name) => join(roots.workspace, name);
const calls = (turn) => {
  turn.recordCall({ name: "refund", arguments: { order: 42 } });
  turn.recordCall({ name: "refund", arguments: { order: 7 }, outcome: "refused" });
};
const run = (agent) => recordRun({ roots, prompt: "go", agent });
// What was there before is not written by the run.
const writing = (text) => (rmSync(place("out"), { recursive: true, force: true }), run)((_, turn) => { mkdirSync(place("out"), { recursive: true }); writeFileSync(place("out/a.txt"), text + Math.random()); calls(turn); return "done"; });

test("passes where it is so", async () => {
  const done = await writing("order 42 is refunded");
  expect(done.reply).toBe("done");
  expect(done).toHaveWritten("out/a.txt");
  expect(done).toHaveWritten("out/*.txt", "refunded");
  expect(done).toHaveWritten("workspace:/out/a.txt", { kind: "regex", pattern: "order \\\\d+" });
  expect(done).toHaveChangedOnly("out/**");
  expect(done).toHaveCalled("refund", { arguments: { order: 42 }, outcome: "ok", count: 1 });
  expect(done).not.toHaveWritten("out/a.txt", "cancelled");
  expect(done).not.toHaveChangedOnly("other/**");
  expect(done).not.toHaveCalled("cancel");
});
test("fails where it is not so", async () => {
  expect(await writing("nothing")).toHaveWritten("out/a.txt", "refunded");
});
test("fails where .not is so", async () => {
  expect(await writing("refunded")).not.toHaveWritten("out/a.txt", "refunded");
});
test("fails by another change", async () => {
  expect(await writing("x")).toHaveChangedOnly("elsewhere/**");
});
test("is undetermined where nobody told of calls", async () => {
  expect(await run(() => "quiet")).toHaveCalled("refund");
});
test("is undetermined under not, too", async () => {
  expect(await run(() => "quiet")).not.toHaveCalled("refund");
});
test("is a mistake on anything else", () => {
  expect(() => expect("text").toHaveWritten("a")).toThrow("recordRun");
});
test("a command is an agent, too", async () => {
  const done = await recordRun({ roots, prompt: "hello", agent: { command: ["sh", "-c", "cat > \\"$SAMPLE_ROOT/said.txt\\"; echo ok"] } });
  expect(done).toHaveWritten("said.txt", "hello");
  rmSync(place("said.txt"));
});
test("an agent that throws is an outcome", async () => {
  const done = await run(() => { throw new Error("ours"); });
  expect(done.record.run.agent.outcome.kind).toBe("failed");
  expect(done).toHaveChangedOnly();
});
`;

const ROWS = `
import pg from "pg";
import { beforeEach, expect, test } from "vitest";
import { recordRun } from "upheld/vitest";

const sql = async (text) => {
  const client = new pg.Client({ connectionString: process.env.SHOP });
  await client.connect();
  await client.query(text);
  await client.end();
};
const run = () =>
  recordRun({
    roots: { workspace: process.env.SAMPLE_ROOT },
    databases: { shop: process.env.SHOP },
    agent: async () => { await sql("update orders set status = 'cancelled' where id = 42"); return "done"; },
  });
beforeEach(() => sql("drop table if exists orders; create table orders (id int primary key, status text); insert into orders values (41, 'paid'), (42, 'paid')"));

test("rows that changed", async () => {
  const done = await run();
  expect(done).toHaveChangedRows("shop:/public/orders");
  expect(done).toHaveChangedRows("shop:/public/orders", { where: { id: 42 }, before: { status: "paid" }, after: { status: "cancelled" }, count: 1 });
  expect(done).not.toHaveChangedRows("shop:/public/orders", { change: "deleted" });
  expect(done).toHaveChangedOnly("shop:/public/orders?id=42");
});
test("rows that changed otherwise", async () => {
  expect(await run()).toHaveChangedRows("shop:/public/orders", { where: { id: 41 } });
});
`;

const CONFIG = (reporters: string): string => `
import { undeterminedReporter } from "upheld/vitest";
export default { test: { include: ["sample.test.mjs"], setupFiles: ["setup.mjs"], reporters: [${reporters}], outputFile: { json: "out.json" } } };
`;

interface Ended {
  readonly code: number | null;
  readonly output: string;
  /** By the test's name: its state, and what it says. */
  readonly tests: ReadonlyMap<string, { readonly status: string; readonly says: string }>;
}

function vitestIn(
  folder: DocsFolder,
  args: readonly string[] = [],
  more: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  const { VITEST: _, VITEST_WORKER_ID: _worker, UPHELD_UNDETERMINED: _mode, ...rest } = process.env;
  const env = {
    ...rest,
    ...more,
    NODE_ENV: "test",
    SAMPLE_ROOT: join(folder.path, "root"),
    UPHELD_STATE_DIR: join(folder.path, "state"),
  };
  return new Promise((done) => {
    const script = toolScript("vitest");
    const child = execFile(
      process.execPath,
      [script, "run", ...args],
      { cwd: folder.path, env, maxBuffer: 2 ** 24 },
      (_error, stdout, stderr) => {
        const told = JSON.parse(readFileSync(join(folder.path, "out.json"), "utf8"));
        const tests = told.testResults[0].assertionResults.map(
          (each: { title: string; status: string; failureMessages?: string[] }) =>
            [
              each.title,
              { status: each.status, says: each.failureMessages?.join("\n") ?? "" },
            ] as const,
        );
        done({ code: child.exitCode, output: stdout + stderr, tests: new Map(tests) });
      },
    );
  });
}

describe("upheld/vitest in a project of its own", () => {
  let folder: DocsFolder;

  beforeAll(() => {
    folder = new DocsFolder();
    mkdirSync(join(folder.path, "root"));
    folder.write("sample.test.mjs", SAMPLE);
    folder.write(
      "setup.mjs",
      'import { expect } from "vitest";\nimport { upheldMatchers } from "upheld/vitest";\nexpect.extend(upheldMatchers);\n',
    );
  });
  afterAll(() => folder[Symbol.dispose]());

  test(
    "with the reporter, undetermined is its own outcome: not passed, not failed, explained, counted",
    async () => {
      folder.write("vitest.config.mjs", CONFIG('"default", "json", undeterminedReporter()'));
      const { tests, output, code } = await vitestIn(folder);
      const states = [...tests].map(([name, { status }]) => `${status}: ${name}`);
      expect(states, output).toEqual([
        "passed: passes where it is so",
        "failed: fails where it is not so",
        "failed: fails where .not is so",
        "failed: fails by another change",
        "skipped: is undetermined where nobody told of calls",
        "skipped: is undetermined under not, too",
        "passed: is a mistake on anything else",
        "passed: a command is an agent, too",
        "passed: an agent that throws is an outcome",
      ]);
      expect(tests.get("fails where it is not so")?.says).toMatch(
        /to have written out\/a\.txt: refuted/,
      );
      expect(output).toMatch(/undetermined {2}is undetermined where nobody told of calls/);
      expect(output).toContain("evidence_kind_missing");
      expect(output).toMatch(/2 undetermined/);
      expect(code).toBe(1);
      const only = await vitestIn(folder, ["-t", "passes where|is undetermined"]);
      expect(only.code, only.output).toBe(2);
      const fine = await vitestIn(folder, ["-t", "passes where"]);
      expect(fine.code, fine.output).toBe(0);
    },
    LATE,
  );

  test(
    "without the reporter, undetermined is an error that says so: nothing is green by it",
    async () => {
      folder.write("vitest.config.mjs", CONFIG('"json"'));
      const { tests, code } = await vitestIn(folder, ["-t", "is undetermined"]);
      for (const name of [
        "is undetermined where nobody told of calls",
        "is undetermined under not, too",
      ]) {
        expect(tests.get(name)?.status).toBe("failed");
        expect(tests.get(name)?.says).toMatch(/refund: undetermined[\s\S]*evidence_kind_missing/);
      }
      expect(code).toBe(1);
    },
    LATE,
  );

  test(
    "rows of a database: changed so, changed otherwise, not changed",
    async (context) => {
      context.skip(postgresMissing !== undefined, postgresMissing ?? "");
      await using server = await startPostgres();
      const { url: SHOP } = await server.database();
      folder.write("vitest.config.mjs", CONFIG('"json", undeterminedReporter()'));
      folder.write("sample.test.mjs", ROWS);
      const { tests, output, code } = await vitestIn(folder, [], { SHOP });
      expect(
        [...tests].map(([name, { status }]) => `${status}: ${name}`),
        output,
      ).toEqual(["passed: rows that changed", "failed: rows that changed otherwise"]);
      expect(code).toBe(1);
    },
    LATE,
  );
});
