import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ended, MAIN, Workplace } from "./upheld.ts";

const hasScript = spawnSync("script", ["--version"]).status === 0;
const reason = hasScript
  ? undefined
  : "a terminal is made with script (util-linux), which is missing";

/** Runs upheld on a terminal of its own, types what is given once READY stands there, and returns all that it showed. */
async function onTerminal(
  place: Workplace,
  script: string,
  typed: string,
  env: NodeJS.ProcessEnv = {},
): Promise<{ readonly screen: string; readonly code: number | null }> {
  const command = `exec '${process.execPath}' '${MAIN}' run -- sh -c '${script}'`;
  const child = spawn("script", ["--quiet", "--return", "--command", command, "/dev/null"], {
    cwd: place.root,
    env: { ...place.environment, TERM: "xterm", CI: "", ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  // Typed to what has ended by then.
  child.stdin.on("error", () => undefined);
  let sent = false;
  let seen = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    seen += text;
    if (sent || !seen.includes("READY")) return;
    sent = true;
    setTimeout(() => child.stdin.write(typed), 200);
  });
  const { stdout, code } = await ended(child);
  return { screen: stdout, code };
}

test("an agent on a terminal gets the keys, and what it said is a gap", async (context) => {
  context.skip(!hasScript, reason);
  using place = new Workplace();
  const script = "echo READY; read line; echo $line > typed; [ -t 1 ] && echo terminal > where";
  const { screen, code } = await onTerminal(place, script, "hello\n");
  expect(code, screen).toBe(0);
  expect(readFileSync(join(place.root, "typed"), "utf8")).toBe("hello\n");
  expect(readFileSync(join(place.root, "where"), "utf8")).toBe("terminal\n");
  expect(screen).toContain("evidence_kind_missing");
  expect(screen).toContain("\u001b[32m+\u001b[0m /typed");
});

test("Ctrl-C is the agent's, and the report follows", async (context) => {
  context.skip(!hasScript, reason);
  using place = new Workplace();
  const script = `trap "echo caught > caught; exit 5" INT; echo READY; sleep 20`;
  const { screen, code } = await onTerminal(place, script, "\u0003");
  expect(screen).toContain("exited 5");
  expect(screen).toContain("/caught");
  expect(code).toBe(5);
});

test("NO_COLOR is kept on a terminal", async (context) => {
  context.skip(!hasScript, reason);
  using place = new Workplace();
  const { screen } = await onTerminal(place, "echo 1 > a; echo READY", "", { NO_COLOR: "1" });
  expect(screen).toContain("+ /a");
  expect(screen).not.toContain("\u001b[3");
});
