import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Turn, TurnOptions, TurnResult } from "../../src/run/agent.ts";
import { commandAgent } from "../../src/run/agents/command-agent.ts";
import { isolate, type Isolation } from "../../src/run/isolation/isolate.ts";
import { probeIsolation } from "../../src/run/isolation/probe.ts";
import { carriesRun, liveProcesses } from "../../src/run/agents/process-table.ts";
import { turnOf } from "./turn.ts";

let root: string;
let state: string;
let turn: Turn;
let isolation: Isolation | undefined;
let refused = "";

beforeEach(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "upheld-root-")));
  state = realpathSync(mkdtempSync(join(tmpdir(), "upheld-state-")));
  turn = turnOf();
  const probe = await probeIsolation([{ name: "workspace", dir: root }], state);
  isolation = probe.ok ? await isolate(probe.plan, turn.runId) : undefined;
  refused = probe.ok ? "" : probe.reason;
});
afterEach(async () => {
  await isolation?.discard();
  for (const folder of [root, state]) rmSync(folder, { recursive: true, force: true });
  const left = liveProcesses().filter(({ pid }) => carriesRun(pid, turn.runId));
  if (left.length > 0) throw new Error(`left behind: ${left.map(({ pid }) => pid).join(", ")}`);
});

function run(
  overlay: Isolation,
  command: readonly string[],
  options: TurnOptions = {},
): Promise<TurnResult> {
  const agent = commandAgent(command, {
    cwd: root,
    stdin: "prompt",
    stdout: null,
    stderr: null,
    graceMs: 500,
    isolation: overlay,
  });
  return agent.run(turn, options);
}

describe("a command in an overlay", () => {
  test("says what it says, reads its prompt, and leaves the root alone", async (context) => {
    if (isolation === undefined) return context.skip(refused);
    writeFileSync(join(root, "before.txt"), "before");
    const script = "cat; echo; cat before.txt; echo new > new.txt; pwd; exit 4";
    const { outcome, replies, processes } = await run(isolation, ["sh", "-c", script]);
    expect(outcome).toEqual({ kind: "exited", code: 4 });
    expect(replies[0]?.text).toBe(`write the file\nbefore${root}\n`);
    expect(processes?.remaining).toBe(0);
    expect(existsSync(join(root, "new.txt"))).toBe(false);
  });

  test.each([
    [["sh", "-c", "kill -SEGV $$"], { kind: "signaled", signal: "SIGSEGV" }],
    [
      ["upheld-no-such-command"],
      { kind: "not_started", reason: 'there is no command "upheld-no-such-command" (ENOENT)' },
    ],
  ])("%j ends as it would outside", async (command, outcome) => {
    if (isolation === undefined) return;
    expect((await run(isolation, command)).outcome).toEqual(outcome);
  });

  test("takes a daemon with a bare environment along when its time is over", async (context) => {
    if (isolation === undefined) return context.skip(refused);
    const script = "setsid env -i sh -c 'trap \"\" TERM; sleep 97531' & sleep 97531";
    const { outcome, processes } = await run(isolation, ["sh", "-c", script], { timeoutMs: 600 });
    expect(outcome).toEqual({ kind: "timed_out", afterMs: 600 });
    expect(processes?.remaining).toBe(0);
  });
});
