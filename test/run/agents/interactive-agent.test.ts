import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const built = fileURLToPath(new URL("../../../dist/run/agents/command-agent.js", import.meta.url));
const hasPty = spawnSync("script", ["--version"]).stdout?.includes("util-linux") ?? false;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "upheld-terminal-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface Typed {
  /** What must stand on the screen before the keys are pressed. */
  readonly after: string;
  readonly keys: string;
}

/** Runs an agent in a terminal of its own, types, and answers what stood on the screen. */
function inTerminal(agent: string, typed: readonly Typed[]): Promise<string> {
  const program = join(folder, "tool.mjs");
  writeFileSync(
    program,
    `import { commandAgent } from ${JSON.stringify(built)};
     const agent = commandAgent(["sh", "-c", ${JSON.stringify(agent)}], { interactive: true });
     const { outcome, gaps } = await agent.run({ runId: "terminal-${process.pid}", attemptId: "a", messages: [], roots: [] });
     console.log("RESULT " + JSON.stringify({ outcome, gaps: gaps.map(({ code }) => code) }));`,
  );
  const terminal = spawn(
    "script",
    ["-qefc", `${process.execPath} ${program}`, join(folder, "typescript")],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const waiting = [...typed];
  let screen = "";
  terminal.stdout.setEncoding("utf8").on("data", (text: string) => {
    screen += text;
    if (waiting[0] === undefined || !screen.includes(waiting[0].after)) return;
    terminal.stdin.write(waiting[0].keys);
    waiting.shift();
  });
  return new Promise((resolve) => {
    terminal.once("close", () => resolve(screen));
  });
}

const result = (screen: string): unknown =>
  JSON.parse(/RESULT (?<json>\{.*\})/.exec(screen)?.groups?.["json"] ?? "null");

describe.skipIf(!hasPty)("an agent on a terminal (needs `script` of util-linux)", () => {
  test("sees a terminal on all three streams, which is its controlling one", async () => {
    const screen = await inTerminal(
      "test -t 0 && test -t 1 && test -t 2 && : </dev/tty && echo all terminals",
      [],
    );
    expect(screen).toContain("all terminals");
    expect(result(screen)).toEqual({
      outcome: { kind: "exited", code: 0 },
      gaps: ["evidence_kind_missing"],
    });
  });

  test("reads keys, from its standard input and from /dev/tty", async () => {
    const screen = await inTerminal(
      'printf "name? "; read name; printf "again? "; read again </dev/tty; echo "[$name $again]"',
      [
        { after: "name? ", keys: "ada\n" },
        { after: "again? ", keys: "lovelace\n" },
      ],
    );
    expect(screen).toContain("[ada lovelace]");
  });

  test("handles Ctrl-C itself and goes on", async () => {
    const screen = await inTerminal(
      "trap 'echo not yet; exit 5' INT; echo ready; while :; do sleep 0.05; done",
      [{ after: "ready", keys: "\u0003" }],
    );
    expect(screen).toContain("not yet");
    expect(result(screen)).toMatchObject({ outcome: { kind: "exited", code: 5 } });
  });

  test("may be ended by Ctrl-C, and we live on to see what it did", async () => {
    const screen = await inTerminal("echo ready; exec sleep 60", [
      { after: "ready", keys: "\u0003" },
    ]);
    expect(result(screen)).toMatchObject({ outcome: { kind: "signaled", signal: "SIGINT" } });
  });

  test("may run jobs of its own in the foreground", async () => {
    const screen = await inTerminal(
      'set -m; sh -c \'printf "line? "; read line </dev/tty; echo "job read [$line]"\'; echo agent ends',
      [{ after: "line? ", keys: "hello\n" }],
    );
    expect(screen).toContain("job read [hello]");
    expect(screen).toContain("agent ends");
  });
});
