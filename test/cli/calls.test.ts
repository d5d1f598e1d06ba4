import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Workplace } from "./upheld.ts";

const AGENT = join(import.meta.dirname, "../worlds/mcp-agent.mjs");
const MODULES = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol");
const MAIN = join(import.meta.dirname, "../../dist/cli/main.js");

const called = (name: string, more: object = {}): string =>
  JSON.stringify({
    subGoals: [
      { name: "called", condition: { kind: "tools_called", requirements: [{ name, ...more }] } },
    ],
  });

const line = (call: object): string => `${JSON.stringify({ outcome: "ok", ...call })}\n`;

/** An agent that writes these lines to the calls file. */
const says = (...lines: readonly string[]): readonly string[] => [
  process.execPath,
  "-e",
  `require("fs").appendFileSync(process.env.UPHELD_CALLS, ${JSON.stringify(lines.join(""))})`,
];

describe("upheld run --calls", { timeout: 60_000 }, () => {
  test("with a proxy in front of the agent's server: calls and files side by side", async () => {
    using place = new Workplace({ "old.txt": "old" });
    const server = [process.execPath, join(MODULES, "server-filesystem/dist/index.js"), place.root];
    const proxied = [process.execPath, MAIN, "mcp-proxy", "--", ...server];
    const calls = [
      { name: "write_file", arguments: { path: join(place.root, "new.txt"), content: "hello" } },
      {
        name: "edit_file",
        arguments: {
          path: join(place.root, "old.txt"),
          edits: [{ oldText: "gone", newText: "x" }],
        },
      },
    ];
    const claims = place.write("claims.json", called("write_file", { outcome: "ok", count: 1 }));
    const out = join(place.path, "calls.jsonl");
    const args = ["run", "--calls", out, "--expect", claims, "--", process.execPath, AGENT];
    const { stdout, code } = await place.upheld([...args, JSON.stringify(calls), ...proxied]);
    expect([code, stdout]).toEqual([0, expect.stringContaining("exited 0 after")]);
    expect(stdout).toMatch(/agent .*, 2 tool calls$/m);
    expect(stdout).toContain("(calls-file, recorded by a proxy)");
    expect(stdout).toMatch(/ok +write_file .*created workspace:\/new\.txt$/m);
    expect(stdout).toMatch(/error +edit_file .*old\.txt$/m);
    expect(stdout).toMatch(/upheld +called +as expected .*recorded by a proxy +\(calls recorded\)/);
  });

  test("shows a call that says it wrote what is not there", async () => {
    using place = new Workplace();
    const agent = says(
      line({ name: "write_file", arguments: { path: "report.pdf", content: "sk-live-1" } }),
      line({ name: "read_file", arguments: { path: "report.pdf" } }),
    );
    const { stdout } = await place.upheld(["run", "--calls", "../calls.jsonl", "--", ...agent]);
    expect(stdout).toMatch(/ok +write_file +report\.pdf +no change of that name was seen$/m);
    expect(stdout).toMatch(/ok +read_file +report\.pdf$/m);
    expect(stdout).not.toContain("sk-live-1");
  });

  test("what the agent prints as a name cannot act on the terminal", async () => {
    using place = new Workplace();
    const agent = says(
      line({ name: "a\u001b[2J", outcome: "refused", arguments: { path: "x/\u202ey" } }),
    );
    const { stdout } = await place.upheld(["run", "--calls", "../calls.jsonl", "--", ...agent]);
    expect(stdout).toContain("a\\u001b[2J");
    expect(stdout).not.toContain("\u001b[2J");
    expect(stdout).not.toContain("\u202e");
  });

  test("counts only what this run adds to a file of an earlier one", async () => {
    using place = new Workplace();
    const out = place.write("calls.jsonl", line({ name: "a" }));
    const claims = place.write("claims.json", called("a", { count: 1 }));
    const run = ["run", "--json", "--calls", out, "--expect", claims, "--"];
    const first = JSON.parse((await place.upheld([...run, ...says(line({ name: "a" }))])).stdout);
    expect([first.subGoals[0].verdict.value, first.calls.total]).toEqual(["upheld", 1]);
    const second = JSON.parse((await place.upheld([...run, "true"])).stdout);
    expect(second.subGoals[0].verdict).toMatchObject({
      value: "undetermined",
      gaps: [{ code: "evidence_kind_missing" }],
    });
  });

  test("seals the calls, a line each, and decides another question over them later", async () => {
    using place = new Workplace();
    const sealed = join(place.path, "run.upheld");
    const agent = says(
      line({ name: "a", arguments: { x: 1 } }),
      line({ name: "b", outcome: "refused" }),
    );
    await place.upheld(["run", "--calls", "../calls.jsonl", "--save", sealed, "--", ...agent]);
    expect(readFileSync(sealed, "latin1")).toContain("tool-calls.jsonl");
    expect((await place.upheld(["verify", sealed])).code).toBe(0);
    const ask = async (claims: string) => {
      const file = place.write("claims.json", claims);
      return JSON.parse((await place.upheld(["score", sealed, "--json", "--expect", file])).stdout);
    };
    expect((await ask(called("a", { arguments: { x: 1 } }))).subGoals[0].verdict.value).toBe(
      "upheld",
    );
    expect((await ask(called("b", { outcome: "ok" }))).subGoals[0].verdict.value).toBe("refuted");
    const exact = {
      kind: "tools_called",
      order: "exact",
      requirements: [{ name: "a" }, { name: "b" }],
    };
    expect(
      (await ask(JSON.stringify({ subGoals: [{ name: "x", condition: exact }] }))).subGoals[0]
        .verdict.value,
    ).toBe("upheld");
  });

  test("one call by id, from the file and from spans, is one; a contradiction is a gap", async () => {
    using place = new Workplace();
    const claims = place.write("claims.json", called("get_order", { outcome: "ok", count: 1 }));
    const otel = join(import.meta.dirname, "../worlds/otel-agent.mjs");
    for (const [outcome, value] of [
      ["ok", "upheld"],
      ["error", "undetermined"],
    ] as const) {
      const own = line({
        id: "call_1",
        name: "get_order",
        arguments: { order_id: "A-7" },
        result: { state: "open" },
        outcome,
      });
      const both = `${says(own).at(-1)};require("child_process").execFileSync(process.execPath, [${JSON.stringify(otel)}, "protobuf", "orderly"])`;
      const out = join(place.path, `calls-${outcome}.jsonl`);
      const run = [
        "run",
        "--json",
        "--calls",
        out,
        "--expect",
        claims,
        "--",
        process.execPath,
        "-e",
        both,
      ];
      const { stdout, stderr } = await place.upheld(run);
      const report = JSON.parse(stdout);
      const [{ verdict, rationale }] = report.subGoals;
      expect(verdict.value, `${rationale}${stderr}`).toBe(value);
      expect(
        report.calls.list.filter(({ name }: { name: string }) => name === "get_order"),
      ).toHaveLength(1);
      expect(
        report.calls.recorders.map(({ name, complete }: { name: string; complete: boolean }) => [
          name,
          complete,
        ]),
      ).toEqual([
        ["calls-file", true],
        ["otlp", false],
      ]);
      if (value === "undetermined") expect(verdict.gaps[0].code).toBe("calls_contradictory");
    }
  });

  test("refuses what cannot be: two words on spans, a file that would lie in the overlay", async () => {
    using place = new Workplace();
    const both = await place.upheld(["run", "--no-otlp", "--otlp-complete", "--", "true"]);
    expect([both.code, both.stderr]).toEqual([64, expect.stringContaining("--otlp-complete")]);
    const inside = await place.upheld(["run", "--isolate", "--calls", "calls.jsonl", "--", "true"]);
    expect([inside.code, inside.stderr]).toEqual([64, expect.stringContaining("overlay")]);
  });
});

test(
  "upheld observe --calls reads the calls of a run that someone else started",
  { timeout: 60_000 },
  async () => {
    using place = new Workplace();
    await place.upheld(["baseline", "--save", "../before"]);
    const now = new Date(Date.now() + 60_000).toISOString();
    const out = join(place.path, "calls.jsonl");
    writeFileSync(
      out,
      line({ name: "a", endedAt: "2020-01-01T00:00:00Z" }) +
        line({ name: "a", endedAt: now }) +
        line({ name: "b" }),
    );
    const claims = place.write("claims.json", called("a", { count: 1 }));
    const { stdout, stderr } = await place.upheld([
      "observe",
      "--baseline",
      "../before",
      "--calls",
      out,
      "--expect",
      claims,
      "--json",
    ]);
    const report = JSON.parse(stdout);
    expect(report.subGoals[0].verdict.value, stderr).toBe("upheld");
    expect(report.calls.total).toBe(2);
  },
);
