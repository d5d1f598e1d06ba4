import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { asOrdinaryUser, ordinaryUserMissing, scratchFolder } from "../worlds/ordinary-user.ts";

const MAIN = join(import.meta.dirname, "../../dist/cli/main.js");
const ROUNDS = process.env["UPHELD_SOAK"] === "1" ? 200 : 8;

/** Writes, starts a child of its own, and lives on far longer than the round. */
const AGENT = `
const { writeFileSync } = require("node:fs");
const { spawn } = require("node:child_process");
spawn("sleep", ["30"], { stdio: "ignore" });
writeFileSync("out.txt", "key");
// The child alone would keep this process for its 30 s.
setTimeout(() => process.exit(), Number(process.argv[1]));
`;

interface Place {
  readonly path: string;
  readonly root: string;
  readonly bundle: string;
  readonly env: NodeJS.ProcessEnv;
}

function start(place: Place, extra: readonly string[], agentMs: number): ChildProcess {
  const marker = `upheld-killed-test-${place.path}`;
  const command = [process.execPath, MAIN, "run", ...extra, "--save", place.bundle, "--"];
  const agent = [process.execPath, "-e", AGENT, String(agentMs), marker];
  const [file = "", ...args] = asOrdinaryUser([...command, ...agent]);
  return spawn(file, args, { cwd: place.root, env: place.env, stdio: "ignore", detached: true });
}

/** The command lines of living processes that were started for this place. */
function living(place: Place): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ");
      } catch {
        return "";
      }
    })
    .filter((line) => line.includes(`upheld-killed-test-${place.path}`));
}

async function gone(place: Place): Promise<string[]> {
  for (let left = 40; left > 0 && living(place).length > 0; left -= 1) await sleep(50);
  return living(place);
}

function upheld(place: Place, args: readonly string[]): { status: number | null; stderr: string } {
  const [file = "", ...rest] = asOrdinaryUser([process.execPath, MAIN, ...args]);
  return spawnSync(file, rest, { cwd: place.root, env: place.env, encoding: "utf8" });
}

/** True where the run had come to its own end before it was to be killed. */
async function killOnce(
  place: Place,
  extra: readonly string[],
  { round, longestMs }: { readonly round: number; readonly longestMs: number },
): Promise<boolean> {
  const agentMs = round % 2 === 0 ? 60_000 : 100;
  const child = start(place, extra, agentMs);
  const ended = new Promise((resolve) => child.once("exit", resolve));
  // Spread over the whole run; which moment is hit is left to the machine.
  await sleep(((round * 0.618_034) % 1) * longestMs);
  child.kill("SIGKILL");
  await ended;
  expect(await gone(place), `round ${round}`).toEqual([]);
  if (existsSync(place.bundle)) expect(upheld(place, ["verify", place.bundle]).status).toBe(0);
  return child.exitCode === 0;
}

/** The isolated runs that came to their end are kept until they are applied or discarded. */
function discardKept(place: Place): number {
  const folder = join(place.env["UPHELD_STATE_DIR"] ?? "", "isolation");
  const kept = existsSync(folder) ? readdirSync(folder) : [];
  for (const runId of kept) expect(upheld(place, ["discard", runId]).status, runId).toBe(0);
  return kept.length;
}

for (const extra of [[], ["--isolate"]]) {
  test(
    `killed at ${ROUNDS} moments${extra.length > 0 ? " in an overlay" : ""}, nothing half-written or alive is left`,
    {
      timeout: 60_000 + ROUNDS * 8_000,
    },
    async (context) => {
      context.skip(ordinaryUserMissing !== undefined, ordinaryUserMissing);
      context.skip(process.platform !== "linux", "processes are looked up in /proc");
      using scratch = scratchFolder();
      const place: Place = {
        path: scratch.path,
        root: join(scratch.path, "root"),
        bundle: join(scratch.path, "run.upheld"),
        env: { ...process.env, UPHELD_STATE_DIR: join(scratch.path, "state"), HOME: scratch.path },
      };
      const [mkdir = "", ...args] = asOrdinaryUser(["mkdir", place.root]);
      spawnSync(mkdir, args);
      // How long a whole run takes here and now: the moments are spread over it.
      const from = performance.now();
      await new Promise((resolve) => start(place, [], 100).once("exit", resolve));
      const longestMs = (performance.now() - from) * 1.2;
      let swept = 0;
      let completed = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        if (await killOnce(place, extra, { round, longestMs })) completed += 1;
        const next = upheld(place, ["run", "--", "true"]);
        expect(next.status, next.stderr).toBe(0);
        if (next.stderr.includes("swept")) swept += 1;
        const again = upheld(place, ["run", "--", "true"]);
        expect(again.stderr).not.toContain("swept");
      }
      expect(swept).toBeGreaterThan(0);
      expect(discardKept(place)).toBe(extra.length > 0 ? completed : 0);
      const names = readdirSync(scratch.path).filter((name) => name.startsWith(".upheld"));
      expect(names).toEqual([]);
      const state = join(scratch.path, "state");
      const left = readdirSync(state, { recursive: true, withFileTypes: true });
      expect(left.filter((entry) => !entry.isDirectory()).map((entry) => entry.name)).toEqual([]);
    },
  );
}
