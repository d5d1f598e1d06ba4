import {
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Turn, TurnOptions, TurnResult } from "../../../src/run/agent.ts";
import { commandAgent, type CommandAgentOptions } from "../../../src/run/agents/command-agent.ts";
import { sweepAgents } from "../../../src/run/agents/process-group.ts";
import { carriesRun, liveProcesses } from "../../../src/run/agents/process-table.ts";
import { turnOf } from "../turn.ts";

const linux = process.platform === "linux";
let folder: string;
let turn: Turn;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "upheld-agent-")));
  turn = turnOf();
  writeFileSync(join(folder, "plain.txt"), "no program", { mode: 0o644 });
});
afterEach(() => {
  if (alive().length > 0) throw new Error(`left behind: ${alive().join(", ")}`);
  rmSync(folder, { recursive: true, force: true });
});

const alive = (): readonly number[] =>
  liveProcesses()
    .map(({ pid }) => pid)
    .filter((pid) => carriesRun(pid, turn.runId));

const quiet = { stdout: null, stderr: null, stdin: "ignore" } as const;

function run(
  command: readonly string[],
  options: CommandAgentOptions = {},
  turnOptions: TurnOptions = {},
): Promise<TurnResult> {
  return commandAgent(command, { ...quiet, cwd: folder, ...options }).run(turn, turnOptions);
}

const sh = (script: string): readonly string[] => ["sh", "-c", script];
const node = (script: string): readonly string[] => [process.execPath, "-e", script];

/** Waits until a file is there: the agent's sign that it has come so far. */
async function until(path: string): Promise<void> {
  for (let waited = 0; !existsSync(path); waited += 5) {
    if (waited > 5_000) throw new Error(`${path} did not appear`);
    await sleep(5);
  }
}

function collector(): { readonly sink: Writable; readonly text: () => string } {
  const chunks: Buffer[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { sink, text: () => Buffer.concat(chunks).toString() };
}

describe("how a command ends", () => {
  const rows = [
    { command: sh("exit 0"), want: { kind: "exited", code: 0 } },
    { command: sh("exit 7"), want: { kind: "exited", code: 7 } },
    { command: sh("kill -SEGV $$"), want: { kind: "signaled", signal: "SIGSEGV" } },
    {
      command: ["upheld-no-such-command"],
      want: {
        kind: "not_started",
        reason: 'there is no command "upheld-no-such-command" (ENOENT)',
      },
    },
    {
      command: ["./plain.txt"],
      want: { kind: "not_started", reason: '"./plain.txt" may not be executed (EACCES)' },
    },
    {
      command: sh("exit 0"),
      options: { cwd: "/no/such/folder" },
      want: {
        kind: "not_started",
        reason: "the directory to run it in does not exist (ENOENT)",
      },
    },
    {
      command: ["sh", "-c", "x".repeat(200_000)],
      want: {
        kind: "not_started",
        reason: 'the arguments and the environment of "sh" are too long (E2BIG)',
      },
    },
  ];
  test.each(rows)("$command.0 $want", async ({ command, options, want }) => {
    expect((await run(command, options)).outcome).toEqual(want);
  });

  test("a time that is over ends it", async () => {
    const { outcome, processes } = await run(sh("sleep 60"), {}, { timeoutMs: 100 });
    expect(outcome).toEqual({ kind: "timed_out", afterMs: 100 });
    expect(processes).toMatchObject({ killed: 0, remaining: 0 });
  });

  test.each([
    ["", []],
    ["empty command", [""]],
    ["NUL", ["sh", "a\0b"]],
  ])("misuse throws: %s", (_, command) => {
    expect(() => commandAgent(command)).toThrowError(
      expect.objectContaining({ code: "argument_invalid" }),
    );
  });

  test.each([0, -1, Number.NaN, 2 ** 31])("a time of %d throws", async (timeoutMs) => {
    await expect(run(sh("exit 0"), {}, { timeoutMs })).rejects.toMatchObject({
      code: "argument_invalid",
    });
  });
});

describe("what a command says", () => {
  test("is handed on and kept, each stream for itself", async () => {
    const out = collector();
    const err = collector();
    const { replies, gaps } = await run(sh("echo done; echo careful >&2"), {
      stdout: out.sink,
      stderr: err.sink,
    });
    expect(replies).toEqual([
      { text: "done\n", textTruncated: false, totalBytes: 5 },
      { text: "careful\n", textTruncated: false, totalBytes: 8 },
    ]);
    expect([out.text(), err.text(), gaps]).toEqual(["done\n", "careful\n", []]);
  });

  test("is handed on in full and kept in part", async () => {
    const out = collector();
    const { replies, gaps } = await run(node("process.stdout.write('é'.repeat(1e6) + 'the end')"), {
      stdout: out.sink,
      limits: { maxReplyBytes: 1001 },
    });
    expect(out.text().length).toBe(1_000_007);
    expect(replies[0]).toMatchObject({
      text: "é".repeat(500),
      textTruncated: true,
      totalBytes: 2_000_007,
    });
    expect(replies[0]?.tail?.endsWith("éthe end")).toBe(true);
    expect(gaps).toMatchObject([
      { code: "text_not_retained", remedy: "Raise maxReplyBytes to 2000007." },
    ]);
  });

  test("that is no UTF-8 is a gap", async () => {
    const { replies, gaps } = await run(sh(String.raw`printf 'a\377b'`));
    expect(replies[0]?.text).toBe("a\uFFFDb");
    expect(gaps).toMatchObject([{ code: "not_text" }]);
  });

  test("reaches a slow sink whole, and holds the agent back meanwhile", async () => {
    let bytes = 0;
    const slow = new Writable({
      highWaterMark: 1024,
      write(chunk: Buffer, _, done) {
        bytes += chunk.length;
        setTimeout(done, 1);
      },
    });
    await run(node("process.stdout.write('x'.repeat(3e6))"), { stdout: slow });
    expect(bytes).toBe(3e6);
  });

  test("waits for a sink that takes longer than a silence", async () => {
    let bytes = 0;
    const stuck = new Writable({
      highWaterMark: 1024,
      write(chunk: Buffer, _, done) {
        bytes += chunk.length;
        setTimeout(done, bytes === chunk.length ? 1_500 : 0);
      },
    });
    const { replies, gaps } = await run(node("process.stdout.write('x'.repeat(2e5))"), {
      stdout: stuck,
    });
    expect([bytes, replies[0]?.totalBytes, gaps]).toEqual([2e5, 2e5, []]);
  });

  test("that a process which cannot be found holds open is a gap, and not waited for", async (context) => {
    context.skip(!linux, "setsid is of Linux");
    const { replies, gaps } = await run(sh("echo said; env -i setsid sleep 20 & exit 0"));
    expect(replies[0]?.text).toBe("said\n");
    expect(gaps).toMatchObject([
      { code: "text_not_retained", location: "reply (standard output)" },
      { code: "text_not_retained", location: "reply (standard error)" },
    ]);
  });

  test("may lose its sink: the run goes on and the reply is whole", async () => {
    const gone = new Writable({
      write(_, __, done) {
        done(Object.assign(new Error("gone"), { code: "EPIPE" }));
      },
    });
    const { outcome, replies } = await run(node("process.stdout.write('x'.repeat(3e6))"), {
      stdout: gone,
      limits: { maxReplyBytes: 4e6 },
    });
    expect([outcome, replies[0]?.totalBytes]).toEqual([{ kind: "exited", code: 0 }, 3e6]);
  });

  test("may be nothing", async () => {
    expect(await run(sh("exit 0"))).toMatchObject({ replies: [], gaps: [] });
  });
});

describe("what a command is given", () => {
  test("directory, environment, user, and the prompt where asked for", async () => {
    process.env["UPHELD_TEST_SECRETS_STAY"] = "yes";
    const { replies } = await run(
      sh('pwd; id -u; echo "$A $UPHELD_TEST_SECRETS_STAY $UPHELD_RUN_ID"; cat'),
      { env: { A: "b" }, stdin: "prompt" },
    );
    delete process.env["UPHELD_TEST_SECRETS_STAY"];
    const lines = `${folder}\n${process.getuid?.()}\nb yes ${turn.runId}\nwrite the file`;
    expect(replies[0]?.text).toBe(lines);
  });

  test("a prompt that it does not read harms nothing", async () => {
    const long = { ...turn, messages: [{ role: "user", text: "x".repeat(5e6) }] } as const;
    const agent = commandAgent(sh("exec 0<&-; exit 3"), { ...quiet, stdin: "prompt" });
    expect((await agent.run(long)).outcome).toEqual({ kind: "exited", code: 3 });
  });

  test("the name of its run among those of the runs around it", async () => {
    process.env["UPHELD_RUN_IDS"] = "outer";
    try {
      const { replies } = await run(sh('echo "$UPHELD_RUN_IDS"'));
      expect(replies[0]?.text).toBe(`outer:${turn.runId}\n`);
    } finally {
      delete process.env["UPHELD_RUN_IDS"];
    }
  });
});

describe("an abort", () => {
  const reason = new Error("enough");

  test("before the start starts nothing", async () => {
    await expect(run(sh("touch started"), {}, { signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    );
    expect(existsSync(join(folder, "started"))).toBe(false);
  });

  test.skipIf(!linux)("ends the whole group, also what ignores SIGTERM", async () => {
    const abort = new AbortController();
    const stubborn =
      "trap '' TERM; sh -c 'trap \"\" TERM; touch up; while :; do sleep 0.1; done' & wait";
    const ended = run(sh(stubborn), { graceMs: 100 }, { signal: abort.signal });
    await until(join(folder, "up"));
    abort.abort(reason);
    await expect(ended).rejects.toBe(reason);
  });

  test("leaves the agent the grace to clean up", async () => {
    const abort = new AbortController();
    const tidy = "trap 'echo bye > bye; exit 0' TERM; touch up; while :; do sleep 0.02; done";
    const ended = run(sh(tidy), { graceMs: 3_000 }, { signal: abort.signal });
    await until(join(folder, "up"));
    abort.abort(reason);
    await expect(ended).rejects.toBe(reason);
    expect(readFileSync(join(folder, "bye"), "utf8")).toBe("bye\n");
  });

  test("reaches a process that is stopped", async () => {
    const abort = new AbortController();
    const ended = run(sh("touch up; kill -STOP $$"), { graceMs: 2_000 }, { signal: abort.signal });
    await until(join(folder, "up"));
    await sleep(50);
    abort.abort(reason);
    await expect(ended).rejects.toBe(reason);
  });
});

const daemon = (then: string): string =>
  `setsid sh -c 'touch up; ${then}' >/dev/null 2>&1 & while [ ! -e up ]; do sleep 0.01; done`;

describe.skipIf(!linux)("what outlives the command", () => {
  test.each([
    ["in its group", "sleep 60 & exit 0", { found: 1, daemons: 0 }],
    ["in a session of its own", daemon("exec sleep 60"), { found: 1, daemons: 1 }],
    [
      "with a bare environment, in the session",
      "env -i sh -c 'sleep 60 & sleep 60' & exit 0",
      { found: 3, daemons: 0 },
    ],
    [
      "with a bare environment, in a session of its own, below a parent that is known",
      `setsid sh -c 'env -i sleep 60 & touch up; wait' & while [ ! -e up ]; do sleep 0.01; done`,
      { found: 2, daemons: 2 },
    ],
    ["and holds its output open", "sleep 60 & echo said", { found: 1, daemons: 0 }],
  ])("%s is ended and counted", async (_, script, want) => {
    const { outcome, processes } = await run(sh(script));
    expect(outcome).toEqual({ kind: "exited", code: 0 });
    expect(processes).toMatchObject({ ...want, killed: 0, remaining: 0 });
  });

  test("and ignores SIGTERM is killed", async () => {
    const { processes } = await run(sh(daemon('trap "" TERM; while :; do sleep 0.1; done')), {
      graceMs: 150,
    });
    expect(processes).toMatchObject({ remaining: 0 });
    expect(processes?.killed).toBeGreaterThan(0);
  });

  test("but is ending anyway is not counted", async () => {
    expect((await run(sh("sleep 0.03 & exit 0"))).processes).toMatchObject({ found: 0 });
  });

  test("is waited for where asked", async () => {
    const script = "(sleep 0.4; echo late > late) & exit 0";
    const { processes } = await run(sh(script), { leftBehind: "wait" });
    expect(processes).toMatchObject({ found: 0 });
    expect(readFileSync(join(folder, "late"), "utf8")).toBe("late\n");
  });

  test("is waited for only as long as the turn may last", async () => {
    const { outcome, processes } = await run(
      sh("sleep 60 & exit 0"),
      { leftBehind: "wait" },
      { timeoutMs: 300 },
    );
    expect(outcome).toEqual({ kind: "exited", code: 0 });
    expect(processes).toMatchObject({ found: 1 });
  });

  test("a run can be swept by its name alone, and no other run with it", async () => {
    const stay = run(sh("touch up; exec sleep 60"), {}, {});
    await until(join(folder, "up"));
    expect(await sweepAgents(`${turn.runId}0`)).toMatchObject({ found: 0 });
    expect(await sweepAgents(turn.runId)).toMatchObject({ found: 1, remaining: 0 });
    expect((await stay).outcome).toEqual({ kind: "signaled", signal: "SIGTERM" });
  });
});

describe("an interactive command", () => {
  test("says nothing that is recorded, and that is a gap", async () => {
    const { replies, gaps } = await run(sh("exit 0"), { interactive: true });
    expect(replies).toEqual([]);
    expect(gaps).toMatchObject([{ code: "evidence_kind_missing", location: "reply" }]);
  });
});
