import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sqliteDriver } from "../../src/sources/sql/sqlite/driver.ts";
import { openedBundle, redactionsOf } from "../support/opened-bundle.ts";
import { Workplace, type Printed } from "./upheld.ts";

/** What must not be read, and how it stands in a text. Put together here, so that no scanner takes them for real. */
interface Planted {
  readonly name: string;
  readonly text: string;
  readonly secret: string;
}

const letters = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3hJ5";
const key = `MIIEpAIBAAKCAQEA${"k9Zq".repeat(12)}`;

const PLANTED: readonly Planted[] = [
  ["an address", "postgres://app:p@ss-w0rd-1@db.example:5432/shop", "w0rd-1"],
  ["one with a slash", "mysql://app:sl/ash-pw-2@db.example/shop", "ash-pw-2"],
  ["one with a hash", "postgres://app:ha#sh-pw-3@db.example", "sh-pw-3"],
  ["one with a question", "redis://:qu?st-pw-4@cache:6379", "st-pw-4"],
  ["keywords", "host=db.example user=app password=keyw-pw-5 dbname=shop", "keyw-pw-5"],
  ["a query", "postgresql://db.example/shop?user=app&password=query-pw-6", "query-pw-6"],
  ["JDBC", "jdbc:sqlserver://db;user=app;password=jdbc-pw-7;encrypt=true", "jdbc-pw-7"],
  ["ODBC", "Server=db;Uid=app;Pwd=odbc-pw-8;", "odbc-pw-8"],
  ["a member", '{"user":"app","password":"memb-\\"pw-9"}', "pw-9"],
  ["a token of GitHub", `t ${["gh", "p_", letters].join("")} t`, letters.slice(4, 20)],
  [
    "a token of Slack",
    `t ${["xo", "xb-123456789012-1234567890123-", letters.slice(0, 24)].join("")} t`,
    "1234567890123-aB3dE5",
  ],
  [
    "a private key",
    `-----BEGIN RSA PRIVATE KEY-----\n${key}\n-----END RSA PRIVATE KEY-----`,
    "k9Zqk9Zq",
  ],
].map(([name = "", text = "", secret = ""]) => ({ name, text, secret }));

const DECLARED = 'dec-"AA/BB\\CC-0123';

/** Writes what it is given wherever an agent can leave something. */
const AGENT = `
const fs = require("node:fs");
const { texts, declared } = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const call = (value) => fs.appendFileSync(process.env.UPHELD_CALLS, JSON.stringify(value) + "\\n");
[...texts, declared].forEach((text, index) => {
  fs.writeFileSync("file-" + index + ".txt", "before " + text + " after");
  fs.writeFileSync("cut-" + index + ".txt", "x".repeat(990) + text + " after");
  fs.writeFileSync("wide-" + index + ".txt", Buffer.from("\\uFEFF" + text, "utf16le"));
  fs.writeFileSync("changed.txt", fs.readFileSync("changed.txt", "utf8") + text + "\\n");
  fs.symlinkSync("/" + text, "link-" + index);
  // No name holds a slash; a secret that is split by one is two texts.
  if (!text.includes("/")) fs.writeFileSync("named " + text, "x");
  call({ name: "send", arguments: { body: text, deep: [{ [text]: text }] }, result: { text }, outcome: "ok" });
  call({ name: "print", arguments: text, result: "x".repeat(16370) + text, outcome: "error" });
  call({ name: "tool " + text, arguments: { wrapped: JSON.stringify({ text }) }, outcome: "refused" });
  console.log("I said " + text);
  console.error("I failed on " + text);
});
fs.writeFileSync("named " + encodeURIComponent(declared), "x");
fs.rmSync("gone.txt");
`;

/** The same rows in a database before the run and in it. */
function plantRows(file: string, texts: readonly string[]): void {
  const database = sqliteDriver()(file);
  database.exec("CREATE TABLE secrets (id integer PRIMARY KEY, body text, blob blob)");
  for (const [index, text] of texts.entries()) {
    const quoted = `'${text.replaceAll("'", "''")}'`;
    const cut = `'${"x".repeat(8_185)}' || ${quoted}`;
    database.exec(`INSERT INTO secrets VALUES (${index * 2}, ${quoted}, CAST(${quoted} AS BLOB))`);
    database.exec(`INSERT INTO secrets VALUES (${index * 2 + 1}, ${cut}, NULL)`);
  }
  database.close();
}

const claimsOf = (texts: readonly string[]): string =>
  JSON.stringify({
    objective: `Never send ${texts.join(" or ")}`,
    subGoals: texts.flatMap((text, index) => [
      {
        name: `leaked-${index}`,
        what: `${text} is in no file`,
        expect: "upheld",
        condition: {
          kind: "content_written",
          uri: "workspace:/**",
          match: "glob",
          matcher: { kind: "contains", value: text },
        },
      },
      { name: `judged-${index}`, judged: `It never says ${text}` },
    ]),
  });

/** A text, what its base64 stands for, and the same read as UTF-16. */
function readings(text: string): string {
  const encoded = text.match(/[A-Za-z0-9+/]{16,}={0,2}/g) ?? [];
  const decoded = encoded.map((each) => Buffer.from(each, "base64").toString("latin1"));
  return [text, ...decoded].join("\n").replaceAll("\0", "");
}

function expectNone(where: string, text: string): void {
  const all = readings(text);
  for (const { name, secret } of PLANTED) {
    const at = all.indexOf(secret);
    const found = at === -1 ? "" : all.slice(Math.max(0, at - 100), at + 40);
    expect(found, `${name} ${where}`).toBe("");
  }
  for (const part of ["AA/BB", "BB\\CC", "BB\\\\CC", "CC-0123"])
    expect(all.includes(part), `${part} ${where}`).toBe(false);
}

/** With --json, what the agent itself prints goes to standard error: it is no output of ours. */
const ownLines = ({ stderr }: Printed): string =>
  stderr.slice(stderr.lastIndexOf("I failed on")).split("\n").slice(1).join("\n");

describe("secrets that nobody declared, and one that somebody did", () => {
  test(
    "stand in no byte of a bundle, of what is printed, and of what is read of it again",
    { timeout: 300_000 },
    async () => {
      using place = new Workplace({ "changed.txt": "", "gone.txt": PLANTED[0]?.text ?? "" });
      const texts = PLANTED.map(({ text }) => text);
      const all = [...texts, DECLARED];
      const given = place.write("given.json", JSON.stringify({ texts, declared: DECLARED }));
      const expected = place.write("claims.json", claimsOf(all));
      const file = join(place.path, "shop.db");
      plantRows(file, all);
      const sealed = join(place.path, "run.upheld");
      const environment = { TOKEN: DECLARED };
      const declared = ["--secret", "env:TOKEN"];
      const looking = [
        "run",
        "--json",
        "--save",
        sealed,
        "--db",
        `shop=sqlite:${file}`,
        "--calls",
        join(place.path, "calls.jsonl"),
        "--limit",
        "maxContentBytes=1000",
        "--limit",
        "baseline.maxContentBytes=1000",
      ];
      const asking = ["--expect", expected, "--label", `note=${texts[0] ?? ""}`, ...declared];
      const done = await place.upheld(
        [...looking, ...asking, "--", process.execPath, place.write("agent.cjs", AGENT), given],
        environment,
      );
      expectNone("on stdout", done.stdout);
      expectNone("on stderr", ownLines(done));
      const { bytes, parts, statement, record } = await openedBundle(sealed);
      expectNone("in the bytes of the bundle", bytes);
      for (const [title, text] of parts) expectNone(`in ${title}`, text);
      expect(parts.has("world/shop.json")).toBe(true);
      const rules = new Set(
        statement.predicate.parts.flatMap((part) =>
          part.state === "redacted" ? part.redactions.map(({ rule }) => rule) : [],
        ),
      );
      expect([...rules].toSorted()).toEqual(
        expect.arrayContaining(["TOKEN", "connection", "github", "private-key", "slack"]),
      );
      expect(redactionsOf(statement)).toBeGreaterThan(200);
      // What was asked about them was decided over what was there.
      const leaked = record.scores.filter(({ subGoal }) => subGoal.startsWith("leaked"));
      expect(leaked.map(({ score }) => score.verdict.value)).toEqual(all.map(() => "upheld"));

      for (const args of [
        ["show", sealed],
        ["show", sealed, "--json"],
        ["verify", sealed, "--json"],
        ["score", sealed, "--expect", expected, ...declared],
      ]) {
        const printed = await place.upheld(args, environment);
        expectNone(`in what ${args[0] ?? ""} prints`, printed.stdout + printed.stderr);
      }
    },
  );

  test.each(PLANTED.map(({ name, text }) => [name, text] as const))(
    "%s stands in no error that quotes it",
    { timeout: 60_000 },
    async (_, text) => {
      using place = new Workplace();
      const claims = place.write("claims.yaml", `subGoals:\n  - ${JSON.stringify(text)}: 1\n`);
      const asked = [
        ["run", text, "--", "true"],
        ["run", "--root", `workspace=./${text}`, "--", "true"],
        ["run", "--expect", claims, "--", "true"],
        ["run", "--limit", text, "--", "true"],
        ["verify", text],
      ];
      for (const args of asked) {
        const done = await place.upheld(args);
        expect(done.code, args.join(" ")).not.toBe(0);
        expectNone(`in the error of ${args[0] ?? ""}`, done.stdout + done.stderr);
      }
    },
  );
});
