import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Workplace } from "./upheld.ts";

/** One row, one mistake: exit 64 (or what the row says), and a message with what, where and what was expected. */
const MISTAKES: readonly { args: readonly string[]; says: RegExp; code?: number }[] = [
  { args: ["rum"], says: /"rum" is no command \(known: run, / },
  { args: ["run"], says: /nothing to run: put the agent's command after --/ },
  { args: ["run", "--"], says: /nothing to run/ },
  { args: ["run", "agent.py"], says: /unexpected argument "agent.py": .* after --/ },
  { args: ["run", "--expekt", "x", "--", "true"], says: /unknown option '--expekt'/ },
  { args: ["run", "--expect", "--", "true"], says: /'--expect <value>' argument missing/ },
  { args: ["run", "--save", "a", "--save", "b", "--", "true"], says: /--save is given twice/ },
  { args: ["run", "--root", "w=/", "--", "true"], says: /--root w=\/: the name must be 2 to 64/ },
  {
    args: ["run", "--root", "workspace", "--", "true"],
    says: /--root workspace: expected NAME=DIR/,
  },
  { args: ["run", "--root", "aa=/no/such", "--", "true"], says: /cannot be opened \(ENOENT\)/ },
  {
    args: ["run", "--root", "aa=.", "--root", "aa=.", "--", "true"],
    says: /--root names aa twice/,
  },
  { args: ["run", "--limit", "maxFiles", "--", "true"], says: /expected \[baseline\.\]NAME=N/ },
  { args: ["run", "--limit", "maxFlies=1", "--", "true"], says: /no such limit \(known: maxFiles/ },
  {
    args: ["run", "--limit", "maxFiles=0", "--", "true"],
    says: /maxFiles must be a whole number from 1, got 0/,
  },
  {
    args: ["run", "--limit", "baseline.maxFiles=x", "--", "true"],
    says: /expected a whole number/,
  },
  {
    args: ["run", "--attribution", "times", "--", "true"],
    says: /expected one of auto, exact, baseline, window/,
  },
  {
    args: ["run", "--attribution", "exact", "--", "true"],
    says: /workspace=exact needs --isolate/,
  },
  {
    args: ["run", "--isolate", "--attribution", "window", "--", "true"],
    says: /cannot be had with --isolate/,
  },
  {
    args: ["run", "--attribution", "home=window", "--", "true"],
    says: /no root has the name "home"/,
  },
  { args: ["run", "--timeout", "-1", "--", "true"], says: /--timeout/ },
  { args: ["run", "--label", "x", "--", "true"], says: /--label x: expected KEY=VALUE/ },
  { args: ["run", "--prompt", "x", "--", "true"], says: /--prompt needs --endpoint/ },
  { args: ["run", "--endpoint", "http://x/", "--", "true"], says: /not both/ },
  { args: ["run", "--endpoint", "http://x/"], says: /--endpoint needs --prompt/ },
  { args: ["run", "--endpoint", "ftp://x/", "--prompt", "x"], says: /http or https/ },
  { args: ["run", "--expect", "gone.yaml", "--", "true"], says: /cannot read gone.yaml: ENOENT/ },
  {
    args: ["run", "--save", "no/dir/x.upheld", "--", "true"],
    says: /its directory is not there/,
    code: 5,
  },
  { args: ["run", "--save", "taken.txt", "--", "true"], says: /is no evidence bundle/, code: 5 },
  { args: ["baseline"], says: /--save FOLDER is missing/ },
  { args: ["baseline", "--save", "inside"], says: /lies inside a root/ },
  { args: ["observe"], says: /either --baseline FOLDER or --since TIME/ },
  { args: ["observe", "--baseline", "gone"], says: /no baseline is in gone \(ENOENT\)/ },
  { args: ["observe", "--since", "yesterday"], says: /expected a time such as/ },
  { args: ["observe", "--since", "2999-01-01T00:00:00Z"], says: /it is only/ },
  { args: ["score"], says: /a bundle or an observation is missing/ },
  { args: ["score", "x"], says: /--expect FILE is missing/ },
  { args: ["verify"], says: /a bundle is missing/ },
  { args: ["verify", "a", "--key", "gone.pub"], says: /cannot read the key gone\.pub: ENOENT/ },
  { args: ["show"], says: /a bundle is missing/ },
  { args: ["keygen"], says: /a file for the key is missing/ },
  { args: ["seal", "a"], says: /--key FILE is missing/ },
  { args: ["withhold", "a"], says: /a bundle and the parts to withhold are expected/ },
  { args: ["withhold", "a", "run.json"], says: /--out FILE is missing/ },
  { args: ["run", "--key", "k", "--", "true"], says: /--key needs --save/ },
  { args: ["run", "--sealer", "host", "--", "true"], says: /--sealer needs --save/ },
  {
    args: ["run", "--save", "s", "--sealer", "me", "--", "true"],
    says: /expected guest or host/,
  },
  { args: ["verify", "a", "b"], says: /"b" is too many/ },
  { args: ["verify", "a", "--digest", "md5:1"], says: /expected sha256: and 64/ },
  { args: ["apply", "../x"], says: /is no id of a run/ },
  { args: ["discard", "20200101-000000-aaaaaa"], says: /no isolated run/ },
  { args: ["init", "a", "b"], says: /takes one file name/ },
];

describe.concurrent("a mistake is told before the agent starts", () => {
  test.each(MISTAKES)("$args", async ({ args, says, code = 64 }) => {
    using place = new Workplace({ "taken.txt": "mine" });
    const printed = await place.upheld(args);
    expect(printed.stderr).toMatch(says);
    expect(printed.stdout).toBe("");
    expect(printed.code).toBe(code);
    expect(readFileSync(join(place.root, "taken.txt"), "utf8")).toBe("mine");
  });
});

/** One row, one fault of a claims file: named with line and column, and what was expected. */
const CLAIMS: readonly { name: string; text: string; says: RegExp }[] = [
  { name: "broken YAML", text: "subGoals:\n  - name: [", says: /claims\.yaml:2:\d+: / },
  {
    name: "a key twice",
    text: "subGoals: []\nsubGoals: []\n",
    says: /claims\.yaml:2:1: Map keys must be unique/,
  },
  { name: "nothing", text: "", says: /claims\.yaml.*expected object/ },
  { name: "no sub-goal", text: "subGoals: []\n", says: /claims\.yaml:1:1: subGoals: / },
  {
    name: "a name with a blank",
    text: "subGoals:\n  - name: a b\n    judged: x\n",
    says: /claims\.yaml:2:5: subGoals\.0\.name: expected a plain name/,
  },
  {
    name: "an unknown kind",
    text: "subGoals:\n  - name: a\n    condition: { kind: wrote, uri: /a }\n",
    says: /claims\.yaml:3:18: .*'content_written'/,
  },
  {
    name: "an empty needle",
    text: "subGoals:\n  - name: a\n    condition: { kind: content_written, uri: /a, matcher: { kind: contains, value: '' } }\n",
    says: /claims\.yaml:3:\d+: .*an empty text is contained in everything/,
  },
  {
    name: "a locator that climbs",
    text: "subGoals:\n  - name: a\n    condition: { kind: content_written, uri: ../a }\n",
    says: /claims\.yaml:3:\d+: .*could leave the root/,
  },
  {
    name: "a root that is not given",
    text: "subGoals:\n  - name: a\n    condition: { kind: content_written, uri: 'home:/a' }\n",
    says: /no source was given for the root "home"/,
  },
];

test.concurrent.each(CLAIMS)("a claims file with $name", async ({ text, says }) => {
  using place = new Workplace();
  const file = place.write("claims.yaml", text);
  const printed = await place.upheld(["run", "--expect", file, "--", "touch", "started"]);
  expect(printed.stderr).toMatch(says);
  expect(printed.code).toBe(64);
  expect(existsSync(join(place.root, "started"))).toBe(false);
});

test("help is printed for each command, with examples", async () => {
  using place = new Workplace();
  const { stdout } = await place.upheld(["help"]);
  const commands = [...stdout.matchAll(/^ {2}([a-z]+) {2,}\S/gm)].map(([, name = ""]) => name);
  expect(commands).toEqual([
    "run",
    "test",
    "baseline",
    "observe",
    "score",
    "judge",
    "agreement",
    "show",
    "view",
    "verify",
    "keygen",
    "seal",
    "withhold",
    "deliver",
    "apply",
    "discard",
    "init",
    "serve",
    "token",
  ]);
  const help = await place.upheld(["help", "observe"]);
  expect(help.code).toBe(0);
  expect(help.stdout).toContain("Examples:");
  expect((await place.upheld(["observe", "--help"])).stdout).toBe(help.stdout);
});

test("an option of the agent is the agent's", async () => {
  using place = new Workplace();
  const printed = await place.upheld(["run", "--", "echo", "--help", "--json", "--", "x"]);
  expect(printed.stdout).toMatch(/^--help --json -- x\n/);
});

test("the version is the package's", async () => {
  using place = new Workplace();
  const { version } = JSON.parse(
    readFileSync(join(import.meta.dirname, "../../package.json"), "utf8"),
  );
  expect((await place.upheld(["--version"])).stdout).toBe(`${version}\n`);
});

test("init writes claims that can be used, and never overwrites", async () => {
  using place = new Workplace();
  expect((await place.upheld(["init", "../claims.yaml"])).code).toBe(0);
  const run = await place.upheld([
    "run",
    "--expect",
    "../claims.yaml",
    "--",
    "sh",
    "-c",
    "mkdir out; echo Summary > out/a",
  ]);
  expect(run.code, run.stdout + run.stderr).toBe(0);
  const again = await place.upheld(["init", "../claims.yaml"]);
  expect(again.code).toBe(5);
  expect(again.stderr).toContain("never overwritten");
});

test("state inside a root is refused", async () => {
  using place = new Workplace();
  mkdirSync(join(place.root, "state"));
  const inside = { UPHELD_STATE_DIR: join(place.root, "state") };
  const printed = await place.upheld(["run", "--", "true"], inside);
  expect(printed.stderr).toContain("set UPHELD_STATE_DIR");
  expect(printed.code).toBe(64);
});
