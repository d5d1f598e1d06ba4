// Every fenced code block of README.md and docs/ is run or checked. A page is one session: its blocks
// run in order, in one folder that starts empty, with `upheld` on the PATH. By language:
//
//   console      Lines with "$ " are commands ("> " continues one), the lines below what they print:
//                standard output and standard error together. In a printed line `...` stands for any
//                text; a line of only `...` stands for any lines, also none. A command must exit 0,
//                unless a line "# exit 2" after its output names another code.
//   sh run       A bash script that must exit 0.
//   ts           Must compile against the package's own exports.
//   ts run       Must compile, run and exit 0. A `text output` block right after is what it prints.
//   json, yaml   Must parse. jsonl: every line must.
//   LANG file=F  Is written to F in the page's folder (after the check that LANG has), for later blocks.
//                This is the only use of js, mjs, py, python, sh and dotenv.
//   text         Free text: a picture, a format.
//   sh-norun R   A script that cannot run here, with the reason R.
//
// `needs=git,unzip` after the language skips a block where one of these programs is missing.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { runToEnd, toolScript } from "../scripts/project.mjs";
import { blocksOf, commandsOf, option, outputMatches } from "./support/docs-blocks.ts";
import type { Block } from "./support/docs-blocks.ts";
import { DocsFolder, DocsSession } from "./support/docs-session.ts";

const projectFolder = fileURLToPath(new URL("../", import.meta.url));
const hasBash = spawnSync("bash", ["--version"]).status === 0;

interface Page {
  readonly path: string;
  readonly blocks: readonly Block[];
}

function pagesOfProject(): Page[] {
  const docs = join(projectFolder, "docs");
  const below = existsSync(docs) ? readdirSync(docs, { recursive: true, encoding: "utf8" }) : [];
  const paths = ["README.md", ...below.map((path) => join("docs", path))];
  return paths
    .filter((path) => path.endsWith(".md") && existsSync(join(projectFolder, path)))
    .map((path) => path.split(sep).join("/"))
    .toSorted()
    .map((path) => ({ path, blocks: blocksOf(readFileSync(join(projectFolder, path), "utf8")) }));
}

/** A name for a block's files that says where it comes from. */
const moduleOf = (page: Page, block: Block): string =>
  `modules/${page.path.replaceAll(/[^A-Za-z0-9]+/g, "-")}-line-${block.line}.ts`;

const compilerOptions = {
  extends: join(projectFolder, "tsconfig.json"),
  compilerOptions: {
    noEmit: false,
    noEmitOnError: false,
    allowImportingTsExtensions: false,
    rewriteRelativeImportExtensions: true,
    paths: {},
    rootDir: "modules",
    outDir: "compiled",
  },
  include: ["modules"],
};

/** Compiles the TypeScript of all pages at once and says what is wrong, by module. */
async function compile(folder: DocsFolder, pages: readonly Page[]): Promise<Map<string, string>> {
  const modules = pages.flatMap((page) =>
    page.blocks
      .filter(({ language }) => language === "ts")
      .map((block) => ({ path: moduleOf(page, block), text: block.text })),
  );
  if (modules.length === 0) return new Map();
  for (const { path, text } of modules) folder.write(path, text);
  const project = folder.write("tsconfig.json", JSON.stringify(compilerOptions));
  const args = [toolScript("typescript", "tsc"), "-p", project, "--pretty", "false"];
  const { output } = await runToEnd(process.execPath, args);
  const lines = output.split("\n").filter((line) => line.includes("error TS"));
  // An error of no module, such as one in the compiler's options, is an error of each.
  const ofNone = lines.filter((line) => !modules.some(({ path }) => line.includes(path)));
  return new Map(
    modules.map(({ path }) => {
      const own = lines.filter((line) => line.includes(path));
      return [path, [...ofNone, ...own].join("\n")];
    }),
  );
}

interface Setting {
  readonly page: Page;
  readonly session: DocsSession;
  readonly folder: DocsFolder;
  readonly compileErrors: ReadonlyMap<string, string>;
}

async function runConsole(block: Block, { session }: Setting): Promise<void> {
  for (const command of commandsOf(block)) {
    const { exitCode, output } = await session.run(command.script);
    if (!outputMatches(command.output, output)) {
      // The comparison is for the reader: it shows the two texts side by side.
      expect(output.trimEnd(), command.script).toBe(command.output.join("\n"));
      throw new Error(`${command.script} printed something else:\n${output}`);
    }
    expect(exitCode, `exit code of ${command.script}, which printed:\n${output}`).toBe(
      command.exitCode,
    );
  }
}

async function runScript(block: Block, { session }: Setting): Promise<void> {
  if (!block.words.includes("run")) return;
  const { exitCode, output } = await session.run(block.text);
  expect(exitCode, output).toBe(0);
}

async function compileAndRun(block: Block, setting: Setting): Promise<void> {
  const { page, session, folder, compileErrors } = setting;
  const path = moduleOf(page, block);
  const errors = compileErrors.get(path);
  expect(errors, errors).toBe("");
  if (!block.words.includes("run")) return;
  const compiled = path.replace(/^modules/, "compiled").replace(/\.ts$/, ".js");
  const { exitCode, output } = await session.run(`node '${join(folder.path, compiled)}'`);
  expect(exitCode, output).toBe(0);
  const next = page.blocks[page.blocks.indexOf(block) + 1];
  if (next === undefined || next.language !== "text" || !next.words.includes("output")) return;
  if (!outputMatches(next.text.split("\n"), output)) expect(output).toBe(next.text);
}

function parseYaml(block: Block): void {
  for (const document of parseAllDocuments(block.text)) expect(document.errors).toEqual([]);
}

function needsReason(block: Block): void {
  expect(block.words.join(" "), "the reason why it cannot run here").not.toBe("");
}

function isOnlyAFile(block: Block): void {
  expect(option(block, "file"), `a block of ${block.language} must be a file=`).toBeDefined();
}

type Check = (block: Block, setting: Setting) => void | Promise<void>;

/** What is done with a block, by its language: a language that is not here is refused. */
const checks: Readonly<Record<string, Check>> = {
  console: runConsole,
  sh: async (block, setting) => {
    if (!block.words.includes("run")) isOnlyAFile(block);
    await runScript(block, setting);
  },
  "sh-norun": needsReason,
  ts: compileAndRun,
  json: (block) => void JSON.parse(block.text),
  jsonl: (block) => {
    for (const line of block.text.trimEnd().split("\n")) JSON.parse(line);
  },
  yaml: parseYaml,
  text: () => undefined,
  js: isOnlyAFile,
  mjs: isOnlyAFile,
  py: isOnlyAFile,
  python: isOnlyAFile,
  dotenv: isOnlyAFile,
};

function missingPrograms(block: Block): string[] {
  const programs = option(block, "needs")?.split(",") ?? [];
  return programs.filter(
    (program) => spawnSync("bash", ["-c", 'command -v -- "$1"', "bash", program]).status !== 0,
  );
}

async function examine(block: Block, setting: Setting): Promise<void> {
  const check = Object.hasOwn(checks, block.language) ? checks[block.language] : undefined;
  if (check === undefined) {
    throw new Error(`language "${block.language}" is none of ${Object.keys(checks).join(", ")}`);
  }
  await check(block, setting);
  const file = option(block, "file");
  if (file === undefined) return;
  const path = join(setting.session.work, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, block.text);
}

const pages = pagesOfProject();

/** Examines pages block by block: one test each, in the order of the page. */
function describePages(): void {
  let folder: DocsFolder;
  let compileErrors: Map<string, string>;

  beforeAll(async () => {
    folder = new DocsFolder();
    compileErrors = await compile(folder, pages);
  });
  afterAll(() => folder[Symbol.dispose]());

  test("README.md has code", (context) => {
    const readme = pages.find(({ path }) => path === "README.md");
    context.skip(readme === undefined, "README.md is not written yet");
    expect(readme?.blocks.length).toBeGreaterThan(0);
  });

  const withCode = pages.filter((page) => page.blocks.length > 0);
  describe.each(withCode.map((page) => [page.path, page] as const))("%s", (_path, page) => {
    let session: DocsSession;
    beforeAll(() => {
      session = sessionOf(page, folder);
    });

    test.for(page.blocks.map((block) => [block.line, block.language, block] as const))(
      "line %i, %s",
      { timeout: 120_000 },
      async ([, , block], context) => {
        context.skip(!hasBash, "no bash on this machine");
        const missing = missingPrograms(block);
        context.skip(missing.length > 0, `needs ${missing.join(", ")}`);
        await examine(block, { page, session, folder, compileErrors });
      },
    );
  });
}

function sessionOf(page: Page, folder: DocsFolder): DocsSession {
  return new DocsSession(folder, `page-${page.path.replaceAll(/[^A-Za-z0-9]+/g, "-")}`);
}

describe("the docs", describePages);

/** Examines a page that is not in the project, and says what is wrong with it. */
async function faultOf(markdown: string): Promise<string> {
  using folder = new DocsFolder();
  try {
    const page = { path: "sample.md", blocks: blocksOf(markdown) };
    const session = sessionOf(page, folder);
    const compileErrors = await compile(folder, [page]);
    for (const block of page.blocks) {
      await examine(block, { page, session, folder, compileErrors });
    }
    return "";
  } catch (error) {
    return String(error);
  }
}

const block = (info: string, ...lines: string[]): string =>
  ["```" + info, ...lines, "```", ""].join("\n");

/** One row, one page that must be refused: without these the examiner could pass everything. */
const refused: readonly (readonly [claim: string, markdown: string, fault: RegExp])[] = [
  ["other output", block("console", "$ echo one", "two"), /one/],
  ["missing output", block("console", "$ echo one"), /one/],
  ["output that is not printed", block("console", "$ true", "one"), /one/],
  ["a failing command", block("console", "$ false"), /exit code of false/],
  ["another exit code", block("console", "$ exit 3", "# exit 2"), /exit code of exit 3/],
  ["output before a command", block("console", "one"), /starts with/],
  ["a failing script", block("sh run", "false"), /AssertionError/],
  ["a script that is not run", block("sh", "true"), /must be a file=/],
  ["no reason", block("sh-norun", "true"), /the reason why/],
  ["a type error", block("ts", 'export const x: number = "a";'), /TS2322/],
  ["an import the package lacks", block("ts", 'import "upheld/nothing-here";'), /TS2\d+/],
  ["a program that throws", block("ts run", 'throw new Error("boom");'), /boom/],
  [
    "a program that prints something else",
    block("ts run", 'console.log("a");') + block("text output", "b"),
    /AssertionError/,
  ],
  ["broken JSON", block("json", "{,}"), /SyntaxError/],
  ["broken YAML", block("yaml", "a: [1"), /AssertionError/],
  ["an unknown language", block("cobol", "DISPLAY"), /language "cobol"/],
  ["no language", block("", "x"), /language ""/],
  ["a block that is not closed", "```text\nx\n", /not closed/],
];

const accepted: readonly (readonly [claim: string, markdown: string])[] = [
  ["dots for text", block("console", "$ echo took 31 ms, 2 files", "took ... ms, 2 files")],
  ["dots for lines", block("console", "$ seq 1 9", "1", "...", "9")],
  ["dots for no line", block("console", "$ echo 1", "1", "...")],
  ["standard error", block("console", "$ echo no >&2; exit 2", "no", "# exit 2")],
  ["a continued command", block("console", "$ cat <<END", "> one", "> END", "one")],
  [
    "one session a page",
    block("console", "$ mkdir a && cd a && export X=1") +
      block("console", "$ echo $X; pwd", "1", ".../a"),
  ],
  [
    "a file for later",
    block("json file=a/b.json", "{}") + block("console", "$ cat a/b.json", "{}"),
  ],
  [
    "a program and its output",
    block("ts run", 'const x: string = "a";', "console.log(x);") + block("text output", "a"),
  ],
  ["free text", block("text", "anything") + block("sh-norun needs a Mac", "diskutil list")],
  ["a block in a list", "- item\n\n  ```console\n  $ echo 1\n  1\n  ```\n"],
];

describe("the examiner", () => {
  test.for(refused)("refuses %s", async ([, markdown, fault], context) => {
    context.skip(!hasBash, "no bash on this machine");
    expect(await faultOf(markdown)).toMatch(fault);
  });

  test.for(accepted)("accepts %s", async ([, markdown], context) => {
    context.skip(!hasBash, "no bash on this machine");
    expect(await faultOf(markdown)).toBe("");
  });
});
