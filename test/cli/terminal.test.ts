import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { ended, Workplace } from "./upheld.ts";

/** Starts a child of its own, says that it is there, and lives on. */
const LASTING = "sleep 60 & echo $! > ../child; echo $$ > ../agent; echo here > out; wait";

async function until(holds: () => boolean): Promise<void> {
  for (let left = 200; left > 0; left -= 1) {
    if (holds()) return;
    await sleep(50);
  }
  throw new Error("it did not come about within 10 s");
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, "latin1").includes(") Z ");
  } catch {
    return false;
  }
}

/** Every file that is left of a run beside its root. */
function leftBehind(place: Workplace): string[] {
  return readdirSync(place.path, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => entry.name)
    .toSorted();
}

describe.concurrent("a signal ends the agent and puts everything away", () => {
  const signals = [
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const;
  test.each(
    signals.flatMap(([signal, code]) => [
      [signal, code, "in place", []],
      [signal, code, "in an overlay", ["--isolate"]],
    ]) as [NodeJS.Signals, number, string, string[]][],
  )("%s: exit %i, %s", async (signal, code, _, extra) => {
    using place = new Workplace();
    const bundle = join(place.path, "run.upheld");
    const args = ["run", ...extra, "--json", "--save", bundle, "--", "sh", "-c", LASTING];
    const child = place.start(args);
    const printed = ended(child);
    await until(() => existsSync(join(place.path, "agent")));
    const pids = ["agent", "child"].map((name) =>
      Number(readFileSync(join(place.path, name), "utf8")),
    );
    child.kill(signal);
    const { code: seen, stdout, stderr } = await printed;
    expect(seen, stderr).toBe(code);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: "interrupted" } });
    expect(stderr).toContain(`ended by ${signal}`);
    if (extra.length === 0) expect(pids.filter(isAlive)).toEqual([]);
    expect(leftBehind(place)).toEqual(
      extra.length === 0 ? ["agent", "child", "out"] : ["agent", "child"],
    );
  });
});

test("a second Ctrl-C does not wait for an agent that refuses to end", async () => {
  using place = new Workplace();
  const child = place.start([
    "run",
    "--",
    "sh",
    "-c",
    "trap '' TERM INT; echo $$ > ../agent; sleep 60; sleep 60",
  ]);
  const printed = ended(child);
  await until(() => existsSync(join(place.path, "agent")));
  child.kill("SIGINT");
  await sleep(100);
  const from = performance.now();
  child.kill("SIGINT");
  expect((await printed).code).toBe(130);
  expect(performance.now() - from).toBeLessThan(1_500);
  const agent = Number(readFileSync(join(place.path, "agent"), "utf8"));
  await until(() => !isAlive(agent));
});

test("a reader that goes away ends the printing quietly", async () => {
  using place = new Workplace();
  const child = place.start([
    "run",
    "--",
    "sh",
    "-c",
    "for i in $(seq 1 500); do echo $i > f$i; done; sleep 0.3",
  ]);
  const printed = ended(child);
  child.stdout?.destroy();
  const { code, stderr } = await printed;
  expect(stderr).not.toMatch(/EPIPE|Error|internal/);
  expect(code).toBe(0);
});

test("a name cannot act on the terminal, and no colour is printed into a pipe", async () => {
  using place = new Workplace();
  const names = [
    "\u001b[31mred",
    "line\nbreak",
    "rtl\u202egnp.exe",
    "back\\slash",
    "zero\u200bwidth",
    "c1\u009b31m",
  ];
  const file = place.write("names.json", JSON.stringify(names));
  const script = `for (const name of JSON.parse(require("fs").readFileSync(${JSON.stringify(file)}))) require("fs").writeFileSync(name, "x")`;
  const { stdout } = await place.upheld(["run", "--", process.execPath, "-e", script]);
  // oxlint-disable-next-line no-control-regex -- these are what must not be there
  expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b\u202a-\u202e]/);
  expect(stdout).toContain("/\\u001b[31mred");
  expect(stdout).toContain("/line\\u000abreak");
  expect(stdout).toContain("/rtl\\u202egnp.exe");
  expect(stdout).toContain("/back\\x5cslash");
});

test("what a killed run left is swept by the next start, which says so", async () => {
  using place = new Workplace();
  const child = place.start([
    "run",
    "--save",
    join(place.path, "x.upheld"),
    "--",
    "sh",
    "-c",
    LASTING,
  ]);
  const printed = ended(child);
  await until(() => existsSync(join(place.path, "agent")));
  child.kill("SIGKILL");
  await printed;
  writeFileSync(join(place.path, ".upheld-tmp-4194304-0123456789abcdef"), "half a bundle");
  const next = await place.upheld(["run", "--", "true"]);
  expect(next.code).toBe(0);
  expect(next.stderr).toMatch(
    /swept {6}1 run without an end, \d+ live process(es)?, 0 isolation layers, 1 temporary file/,
  );
  expect((await place.upheld(["run", "--", "true"])).stderr).not.toContain("swept");
});
