import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { EXIT, exitOfAgent, exitOfError, exitOfSubGoals } from "../../src/cli/exit.ts";
import { ERROR_CODES, type ErrorCode } from "../../src/core/errors.ts";
import { Workplace, written } from "./upheld.ts";

describe.concurrent("the exit code is the agent's without claims", () => {
  test.each([
    ["0", "true", 0],
    ["its own", "exit 7", 7],
    ["128 and the signal's number", "kill -KILL $$", 137],
  ])("%s", async (_, script, code) => {
    using place = new Workplace();
    const printed = await place.upheld(["run", "--", "sh", "-c", script]);
    expect(printed.code, printed.stderr).toBe(code);
  });

  test.each([
    ["a command that is not there", ["run", "--", "no-such-command-anywhere"]],
    ["a time limit", ["run", "--timeout", "0.3", "--", "sleep", "30"]],
    [
      "an endpoint that nobody listens on",
      ["run", "--endpoint", "http://127.0.0.1:9/", "--prompt", "x"],
    ],
  ])("4: %s", async (_, args) => {
    using place = new Workplace();
    const printed = await place.upheld(args);
    expect(printed.code, printed.stderr).toBe(4);
  });
});

/** One row, one claim about a run with claims. */
const WITH_CLAIMS: readonly { name: string; claims: string; script: string; code: number }[] = [
  { name: "0: as expected", claims: written("key"), script: "echo key > a", code: 0 },
  {
    name: "0: as expected, though the agent exits 3",
    claims: written("key"),
    script: "echo key > a; exit 3",
    code: 0,
  },
  {
    name: "0: refuted, as expected",
    claims: written("key", "refuted"),
    script: "echo other > a",
    code: 0,
  },
  { name: "1: refuted", claims: written("key"), script: "echo other > a", code: 1 },
  {
    name: "1: upheld where the opposite was expected",
    claims: written("key", "refuted"),
    script: "echo key > a",
    code: 1,
  },
  { name: "2: undetermined", claims: written("key"), script: "ln -s /etc/hosts a", code: 2 },
  {
    name: "2: left to a judge",
    claims: '{ "subGoals": [{ "name": "kind", "judged": "It is kind." }] }',
    script: "true",
    code: 2,
  },
  {
    name: "4: ended by a signal, whatever the claims say",
    claims: written("key"),
    script: "echo key > a; kill -KILL $$",
    code: 4,
  },
];

test.concurrent.each(WITH_CLAIMS)("$name", async ({ claims, script, code }) => {
  using place = new Workplace();
  const file = place.write("claims.json", claims);
  const printed = await place.upheld(["run", "--expect", file, "--", "sh", "-c", script]);
  expect(printed.code, printed.stdout + printed.stderr).toBe(code);
});

test("evidence: 0 intact, 3 changed, 64 not there, and the same for another question", async () => {
  using place = new Workplace();
  const claims = place.write("claims.json", written("key"));
  const bundle = join(place.path, "run.upheld");
  const saved = await place.upheld(["run", "--save", bundle, "--", "sh", "-c", "echo key > a"]);
  expect(saved.stdout).toMatch(/sealed {5}\S+run\.upheld {2}sha256:[0-9a-f]{64}/);
  const digest = /sha256:[0-9a-f]{64}/.exec(saved.stdout)?.[0] ?? "";
  const other = `sha256:${"0".repeat(64)}`;
  expect((await place.upheld(["verify", bundle])).code).toBe(0);
  expect((await place.upheld(["verify", bundle, "--digest", digest])).code).toBe(0);
  expect((await place.upheld(["verify", bundle, "--digest", other])).code).toBe(3);
  expect((await place.upheld(["score", bundle, "--expect", claims])).code).toBe(0);
  const bytes = readFileSync(bundle);
  bytes[bytes.indexOf("workspace:/a")] = 0x57;
  writeFileSync(bundle, bytes);
  expect((await place.upheld(["verify", bundle])).code).toBe(3);
  expect((await place.upheld(["score", bundle, "--expect", claims])).code).toBe(3);
  expect((await place.upheld(["verify", "gone.upheld"])).code).toBe(64);
});

describe("the table", () => {
  test.each(Object.keys(ERROR_CODES) as ErrorCode[])("gives %s an exit code", (code) => {
    expect(Object.values(EXIT)).toContain(exitOfError(code));
    expect(exitOfError(code)).toBeGreaterThan(2);
  });

  test("puts the agent's failure first, then what is not as expected, then what is not known", () => {
    const exited = { kind: "exited", code: 0 } as const;
    expect(exitOfSubGoals([true, true], exited)).toBe(0);
    expect(exitOfSubGoals([true, null, false], exited)).toBe(1);
    expect(exitOfSubGoals([true, null], undefined)).toBe(2);
    expect(exitOfSubGoals([true], { kind: "timed_out", afterMs: 1 })).toBe(4);
    expect(exitOfAgent({ kind: "signaled", signal: "SIGTERM" })).toBe(143);
  });
});

test("the page of exit codes lists each error under its code", () => {
  const page = readFileSync(new URL("../../docs/exit-codes.md", import.meta.url), "utf8");
  const [, errors = ""] = page.split("## Errors");
  const listed = [...errors.matchAll(/^\| (\d+) \| (.*) \|$/gm)].flatMap(([, code, names = ""]) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name]) => `${name} ${code}`),
  );
  const known = Object.keys(ERROR_CODES) as ErrorCode[]; // the keys of the table
  expect(listed.toSorted()).toEqual(known.map((each) => `${each} ${exitOfError(each)}`).toSorted());
  for (const code of Object.values(EXIT)) expect(page).toContain(`| ${code} |`);
});
