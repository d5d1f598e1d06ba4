import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseStrictJson } from "../../src/core/strict-json.ts";
import { Workplace, written } from "./upheld.ts";

const NOISY = "echo '{\"delta\": 1}'; echo loud >&2; echo key > a";

interface Case {
  readonly name: string;
  readonly args: readonly string[];
  readonly code: number;
}

/** Every situation in which --json was asked for. */
const SITUATIONS: readonly Case[] = [
  { name: "a run", args: ["run", "--json", "--", "sh", "-c", NOISY], code: 0 },
  {
    name: "claims",
    args: ["run", "--json", "--expect", "../claims.json", "--", "sh", "-c", NOISY],
    code: 0,
  },
  {
    name: "a sealed run",
    args: ["run", "--json", "--save", "../a.upheld", "--", "sh", "-c", NOISY],
    code: 0,
  },
  {
    name: "a failing agent",
    args: ["run", "--json", "--", "sh", "-c", "echo no; exit 9"],
    code: 9,
  },
  { name: "an agent that is not there", args: ["run", "--json", "--", "no-such-agent"], code: 4 },
  {
    name: "a time limit",
    args: ["run", "--json", "--timeout", "0.3", "--", "sleep", "9"],
    code: 4,
  },
  { name: "a wrong option", args: ["run", "--json", "--nope", "--", "true"], code: 64 },
  {
    name: "wrong claims",
    args: ["run", "--json", "--expect", "../wrong.json", "--", "true"],
    code: 64,
  },
  { name: "no baseline", args: ["observe", "--json", "--baseline", "gone"], code: 64 },
  { name: "a time", args: ["observe", "--json", "--since", "2020-01-01T00:00:00Z"], code: 0 },
  { name: "no bundle", args: ["verify", "--json", "gone"], code: 64 },
  { name: "what is no bundle", args: ["verify", "--json", "../claims.json"], code: 3 },
  {
    name: "a question to no bundle",
    args: ["score", "../wrong.json", "--json", "--expect", "../claims.json"],
    code: 3,
  },
];

describe.concurrent("standard output is exactly one JSON value", () => {
  test.each(SITUATIONS)("$name", async ({ args, code }) => {
    using place = new Workplace();
    place.write("claims.json", written("key"));
    place.write("wrong.json", "{}");
    const printed = await place.upheld(args);
    expect(printed.code, printed.stderr).toBe(code);
    expect(printed.stdout.endsWith("}\n")).toBe(true);
    const value = parseStrictJson(printed.stdout.trimEnd());
    if (code === 64) expect(value).toHaveProperty("error.code");
  });
});

test("the agent's output goes to standard error, and the object has the stated keys", async () => {
  using place = new Workplace({ "old.txt": "old" });
  const claims = place.write("claims.json", written("key"));
  const bundle = join(place.path, "run.upheld");
  const args = ["run", "--json", "--expect", claims, "--save", bundle, "--label", "team=a", "--"];
  const { stdout, stderr } = await place.upheld([...args, "sh", "-c", `${NOISY}; rm old.txt`]);
  expect(stderr).toContain("loud");
  expect(stderr).toContain('{"delta": 1}');
  const report = JSON.parse(stdout);
  expect(Object.keys(report)).toEqual([
    "run",
    "delta",
    "deltaCounts",
    "notSeen",
    "subGoals",
    "bundle",
  ]);
  expect(report.run.labels).toEqual({ team: "a" });
  expect(report.run.agent.outcome).toEqual({ kind: "exited", code: 0 });
  expect(
    report.delta.map(({ uri, change }: { uri: string; change: string }) => [uri, change]),
  ).toEqual([
    ["workspace:/a", "created"],
    ["workspace:/old.txt", "deleted"],
  ]);
  expect(report.deltaCounts).toMatchObject({
    created: 1,
    deleted: 1,
    shown: 2,
    total: 2,
    unchanged: 0,
  });
  const [subGoal] = report.subGoals;
  expect(subGoal).toMatchObject({ name: "written", method: "baseline", held: true });
  expect(subGoal.verdict).toMatchObject({ value: "upheld", witnesses: [{ uri: "workspace:/a" }] });
  expect(report.bundle).toMatchObject({ path: bundle, digest: expect.stringMatching(/^sha256:/) });
  expect(JSON.stringify(report)).not.toContain(place.root);
});

/** What was decided, without the observations that it rests on. */
function decisionsOf(printed: string): unknown {
  return JSON.parse(printed).subGoals.map(
    ({ name, verdict, held, method }: Record<string, unknown>) => ({ name, verdict, held, method }),
  );
}

test("what is asked of the bundle later is what was decided live", async () => {
  using place = new Workplace();
  const claims = place.write(
    "claims.json",
    JSON.stringify({
      subGoals: [
        {
          name: "a",
          condition: {
            kind: "content_written",
            uri: "/a",
            matcher: { kind: "equals", value: "key\n" },
          },
        },
        { name: "b", condition: { kind: "changed_only", allow: ["/a"] } },
        { name: "c", condition: { kind: "said", matcher: { kind: "regex", pattern: "wr[io]te" } } },
        {
          name: "d",
          condition: { kind: "not", of: { kind: "content_removed", uri: "/**", match: "glob" } },
        },
        { name: "e", judged: "It is kind." },
      ],
    }),
  );
  const bundle = join(place.path, "run.upheld");
  const live = await place.upheld([
    "run",
    "--json",
    "--expect",
    claims,
    "--save",
    bundle,
    "--",
    "sh",
    "-c",
    "echo key > a; ln -s /etc/hosts b; echo I wrote a",
  ]);
  const later = await place.upheld(["score", bundle, "--json", "--expect", claims]);
  expect(decisionsOf(later.stdout)).toEqual(decisionsOf(live.stdout));
  expect(JSON.parse(later.stdout).delta).toEqual(JSON.parse(live.stdout).delta);
});
