import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openedBundle, redactionsOf } from "../support/opened-bundle.ts";
import { Workplace } from "./upheld.ts";

const SECRET = 'tok-"AA/BB\\CC DD-0123';

/** How a secret may stand anywhere; each with a few letters less at its ends, for what is aligned otherwise. */
const FORMS: readonly string[] = [
  SECRET,
  JSON.stringify(SECRET).slice(1, -1),
  JSON.stringify(JSON.stringify(SECRET)).slice(3, -3),
  encodeURIComponent(SECRET),
  Buffer.from(SECRET).toString("hex"),
  Buffer.from(SECRET, "utf16le").toString("latin1").slice(0, -1),
  Buffer.from(SECRET, "utf16le").toString("hex"),
  ...[0, 1, 2].map((before) =>
    Buffer.from(`${"q".repeat(before)}${SECRET}`)
      .toString("base64")
      .slice(4, -5),
  ),
];

/** Every text in a text, and what base64 in it stands for. */
function decodedAll(text: string): string {
  const encoded = text.match(/[A-Za-z0-9+/]{16,}={0,2}/g) ?? [];
  return [text, ...encoded.map((each) => Buffer.from(each, "base64").toString("latin1"))].join(
    "\n",
  );
}

function expectNone(text: string): void {
  const all = decodedAll(text);
  for (const form of FORMS) expect(all.includes(form), form).toBe(false);
}

const AGENT = `
const fs = require("node:fs");
const s = process.env.TOKEN;
fs.writeFileSync("plain.txt", "before " + s + " after");
fs.writeFileSync("encoded.txt", [JSON.stringify(s), JSON.stringify(JSON.stringify(s)), encodeURIComponent(s),
  ...["", "a", "ab"].map((head) => Buffer.from(head + s).toString("base64")), Buffer.from(s).toString("hex")].join("\\n"));
fs.writeFileSync("wide.txt", Buffer.from("\\uFEFF" + s, "utf16le"));
fs.writeFileSync("binary.bin", Buffer.concat([Buffer.from([0, 255, 254, 0, 1]), Buffer.from(s), Buffer.from([0, 200])]));
fs.writeFileSync("named-" + encodeURIComponent(s) + ".txt", "x");
fs.symlinkSync("nowhere-" + encodeURIComponent(s), "link");
const call = (value) => fs.appendFileSync(process.env.UPHELD_CALLS, JSON.stringify(value) + "\\n");
call({ name: "send", arguments: { to: "ops", [s]: 1, body: JSON.stringify({ token: s }) }, result: { text: "got " + s }, outcome: "ok" });
call({ name: "tool " + s, arguments: {}, result: "x".repeat(16380) + s, outcome: "error" });
`;

const claims = JSON.stringify({
  objective: `Never send ${SECRET}`,
  subGoals: [
    {
      name: "leaked",
      what: `${SECRET} is in no file`,
      condition: {
        kind: "content_written",
        uri: "workspace:/**",
        match: "glob",
        matcher: { kind: "contains", value: SECRET },
      },
    },
    {
      name: "plain",
      condition: {
        kind: "content_written",
        uri: "workspace:/plain.txt",
        matcher: { kind: "contains", value: "after" },
      },
    },
    {
      name: "absent",
      expect: "refuted",
      condition: {
        kind: "content_written",
        uri: "workspace:/plain.txt",
        matcher: { kind: "contains", value: "nowhere" },
      },
    },
    { name: "judged", judged: `It never says ${SECRET}` },
  ],
});

describe("a declared secret, planted everywhere", () => {
  test(
    "stands in no byte of the bundle, and in nothing that is printed",
    { timeout: 180_000 },
    async () => {
      using place = new Workplace();
      using other = new Workplace();
      const sealed = join(place.path, "run.upheld");
      const expected = place.write("claims.json", claims);
      const run = (at: Workplace, more: readonly string[]): ReturnType<Workplace["upheld"]> => {
        const calls = join(at.path, "calls.jsonl");
        const given = ["--secret", "env:TOKEN", "--label", `note=${SECRET}`, "--calls", calls];
        const agent = ["--", process.execPath, at.write("agent.cjs", AGENT)];
        return at.upheld(["run", ...given, "--expect", expected, ...more, ...agent], {
          TOKEN: SECRET,
        });
      };
      const text = await run(other, []);
      const json = await run(place, ["--json", "--save", sealed]);
      for (const done of [text, json]) {
        expectNone(done.stdout);
        expectNone(done.stderr);
      }
      expect(text.stdout).toContain("<redacted:TOKEN:");
      const { bytes, parts, statement, record } = await openedBundle(sealed);
      expectNone(bytes);
      for (const part of parts.values()) expectNone(part);
      expect(redactionsOf(statement)).toBeGreaterThan(10);
      expect(record.scores.map(({ score }) => score.verdict.value)).toEqual([
        "upheld",
        "upheld",
        "refuted",
        "undetermined",
      ]);

      // What was asked live cannot be asked again; what needs the secret, or the whole of a content, is left open.
      const again = await place.upheld(["score", sealed, "--expect", expected, "--json"], {
        TOKEN: SECRET,
      });
      const verdicts = JSON.parse(again.stdout).subGoals.map(
        (goal: { verdict: { value: string; gaps?: { code: string }[] } }) => [
          goal.verdict.value,
          ...(goal.verdict.gaps ?? []).map(({ code }) => code),
        ],
      );
      expect(verdicts[0]).toEqual(expect.arrayContaining(["undetermined", "content_redacted"]));
      expect(verdicts[1]?.[0]).toBe("upheld");
      expect(verdicts[2]).not.toContain("upheld");
      const altered = place.write("other.json", claims.replaceAll("nowhere", "elsewhere"));
      const asked = await place.upheld(
        ["score", sealed, "--expect", altered, "--json", "--secret", "env:TOKEN"],
        { TOKEN: SECRET },
      );
      expectNone(asked.stdout);
      expect(JSON.parse(asked.stdout).subGoals[2].verdict.gaps[0].code).toBe("content_redacted");

      const stored = place.write("stored.json", JSON.stringify(record.claims));
      const refused = await place.upheld(["score", sealed, "--expect", stored]);
      expect(refused.code).toBe(64);
      expect(refused.stderr).toContain("names a secret that was removed");
    },
  );
});

describe("--secret", () => {
  test.each([
    ["TOKEN", {}, "expected env:VAR"],
    ["env:TOKEN", {}, "the variable is not set"],
    ["env:TOKEN", { TOKEN: "short" }, "fewer than 8 characters"],
    ["env:TOKEN", { TOKEN: "acquisition" }, "a word of which every bundle is made"],
  ])(
    "%s with %j is refused before anything runs",
    async (given, environment, message) => {
      using place = new Workplace();
      const done = await place.upheld(
        ["run", "--secret", given, "--", "touch", "never"],
        environment,
      );
      expect(done.code).toBe(64);
      expect(done.stderr).toContain(message);
    },
    60_000,
  );

  test("an error that quotes what was typed does not quote a secret", async () => {
    using place = new Workplace();
    const done = await place.upheld(
      [
        "run",
        "--json",
        "--secret",
        "env:TOKEN",
        SECRET,
        "postgres://u:hunter2-hunter2@h/db",
        "--",
        "true",
      ],
      { TOKEN: SECRET },
    );
    expect(done.code).toBe(64);
    expectNone(done.stdout + done.stderr);
    const other = await place.upheld(["run", "postgres://u:hunter2-hunter2@h/db", "--", "true"]);
    expect(other.stderr).toContain("postgres://u:");
    expect(other.stderr).not.toContain("hunter2");
  }, 60_000);

  test("the password of a database is one, without being declared", async () => {
    using place = new Workplace();
    const done = await place.upheld(
      [
        "run",
        "--db",
        "shop=postgres://app:hunter2-hunter2@127.0.0.1:1/shop",
        "--json",
        "--",
        "true",
      ],
      {},
    );
    expect(done.code).not.toBe(0);
    expect(done.stdout + done.stderr).not.toContain("hunter2");
  }, 60_000);
});
