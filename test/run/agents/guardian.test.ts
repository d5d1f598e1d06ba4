import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startGuardian } from "../../../src/run/agents/guardian.ts";
import { carriesRun, liveProcesses } from "../../../src/run/agents/process-table.ts";

const built = fileURLToPath(new URL("../../../dist/run/agents/command-agent.js", import.meta.url));
const runId = `guarded.run-${process.pid}`;
const soak = process.env["UPHELD_SOAK"] === "1";
const rounds = soak ? 200 : 12;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "upheld-guardian-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** A program that runs one agent through the built package, as the command line does. */
function startTool(agent: string, options: string = ""): ChildProcess {
  const program = join(folder, "tool.mjs");
  writeFileSync(
    program,
    `import { commandAgent } from ${JSON.stringify(built)};
     const agent = commandAgent(["sh", "-c", ${JSON.stringify(agent)}], { cwd: ${JSON.stringify(folder)}, ${options} });
     await agent.run({ runId: ${JSON.stringify(runId)}, attemptId: "a", messages: [], roots: [] });`,
  );
  return spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "pipe"], detached: true });
}

const alive = (): readonly number[] =>
  liveProcesses()
    .map(({ pid }) => pid)
    .filter((pid) => carriesRun(pid, runId));

/** The shells that wait for the end of a tool. */
const guardians = (): readonly number[] =>
  liveProcesses()
    .map(({ pid }) => pid)
    .filter((pid) =>
      commandLine(pid).includes("upheld-guardian\0^UPHELD_RUN_IDS=(.*:)?guarded[.]"),
    );

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

async function until(holds: () => boolean, waitMs: number = 20_000): Promise<boolean> {
  for (const end = performance.now() + waitMs; performance.now() < end; await sleep(5)) {
    if (holds()) return true;
  }
  return holds();
}

const nobody = (): boolean => alive().length === 0 && guardians().length === 0;
const agent =
  "setsid sh -c 'trap \"\" TERM HUP; touch daemon; while :; do sleep 0.1; done' & trap '' TERM HUP INT; touch up; while :; do sleep 0.1; done";

describe.skipIf(process.platform !== "linux")("a tool that is killed", () => {
  test("takes its agent with it, daemons too", async () => {
    const tool = startTool(agent);
    expect(await until(() => existsSync(join(folder, "up")))).toBe(true);
    expect(await until(() => existsSync(join(folder, "daemon")))).toBe(true);
    tool.kill("SIGKILL");
    expect(await until(nobody)).toBe(true);
  });

  test("together with its whole process group does so as well", async () => {
    const tool = startTool(agent);
    expect(await until(() => existsSync(join(folder, "up")))).toBe(true);
    process.kill(-(tool.pid ?? 0), "SIGKILL");
    expect(await until(nobody)).toBe(true);
  });

  test("does so where the agent shares the terminal's group", async () => {
    const tool = startTool(agent, "interactive: true");
    expect(await until(() => existsSync(join(folder, "up")))).toBe(true);
    tool.kill("SIGKILL");
    expect(await until(nobody)).toBe(true);
  });

  test(
    "at any moment leaves no agent",
    async () => {
      for (let round = 0; round < rounds; round += 1) {
        const tool = startTool(agent);
        // About when the agent is started, a little before and after.
        await sleep(20 + ((round * 37) % 160));
        tool.kill("SIGKILL");
        expect(await until(nobody), `round ${round}`).toBe(true);
      }
    },
    soak ? 300_000 : 30_000,
  );

  test("by a mere end of its work leaves neither agent nor guardian", async () => {
    const tool = startTool("touch up; exit 0");
    const code = await new Promise((resolve) => {
      tool.once("exit", resolve);
    });
    expect(code).toBe(0);
    expect(await until(nobody)).toBe(true);
    expect(readdirSync(folder).toSorted()).toEqual(["tool.mjs", "up"]);
  });

  test.each([
    ["is not there", "/no/such/shell", "/no/such/shell could not be started (ENOENT)"],
    ["ends at once", "/bin/true", "/bin/true ended before the agent did"],
  ])("has to say so where its guardian's shell %s", async (_what, shell, why) => {
    const told: string[] = [];
    const guardian = startGuardian(runId, { shell, onMissing: (said) => void told.push(said) });
    expect(await until(() => told.length > 0)).toBe(true);
    guardian.guard(process.pid);
    guardian.release();
    expect({ told, watches: guardian.watches() }).toEqual({ told: [why], watches: false });
  });

  test("says nothing where its guardian watches, also once that was let go", async () => {
    const told: string[] = [];
    const guardian = startGuardian(runId, { onMissing: (said) => void told.push(said) });
    expect(guardian.watches()).toBe(true);
    expect(await until(() => guardians().length > 0)).toBe(true);
    guardian.release();
    expect(await until(() => guardians().length === 0)).toBe(true);
    expect(told).toEqual([]);
  });
});
