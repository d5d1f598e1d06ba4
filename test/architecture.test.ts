import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { entrySources } from "./support/exports-entries.ts";
import { faultsOf, folderOf, importsOf, rules } from "./support/source-rules.ts";
import type { Project, RuleName, SourceFile } from "./support/source-rules.ts";

/** Which folders each folder of src may import, besides itself: every import points down. */
const mayImport: Project["mayImport"] = {
  core: [],
  sources: ["core"],
  scorers: ["core"],
  evidence: ["core"],
  judge: ["core", "evidence"],
  store: ["core", "evidence"],
  report: ["core", "evidence"],
  deliver: ["core", "evidence", "store"],
  run: ["core", "sources", "scorers", "evidence", "store"],
  server: ["core", "evidence", "judge", "report", "store"],
  suite: ["core", "sources", "scorers", "evidence", "report", "run", "store"],
  integrations: ["core", "sources", "scorers", "evidence", "report", "run", "store"],
  viewer: ["core", "evidence", "report"],
  testing: "all",
  cli: "all",
};

const projectFolder = fileURLToPath(new URL("../", import.meta.url));

function filesBelow(folder: string, endings: RegExp): SourceFile[] {
  const absolute = join(projectFolder, folder);
  if (!existsSync(absolute)) return [];
  return readdirSync(absolute, { recursive: true, encoding: "utf8" })
    .filter((path) => endings.test(path))
    .toSorted()
    .map((path) => ({
      path: path.split(sep).join("/"),
      text: readFileSync(join(absolute, path), "utf8"),
    }));
}

const project: Project = {
  files: filesBelow("src", /\.(?:ts|mjs)$/),
  entries: new Set(entrySources().map((path) => path.replace(/^src\//, ""))),
  mayImport,
};

describe("src", () => {
  test("has files", () => {
    expect(project.files.length).toBeGreaterThan(0);
  });

  test.each(project.files.map((file) => [file.path, file] as const))(
    "%s keeps the rules",
    (_, file) => {
      expect(faultsOf(file, project)).toEqual([]);
    },
  );
});

describe("dist", () => {
  const pure = filesBelow("dist", /\.m?js$/).filter(({ path }) =>
    ["core", "scorers", "evidence", "report"].includes(folderOf(path)),
  );

  test("has files of the folders that run anywhere", () => {
    expect(pure.length).toBeGreaterThan(0);
  });

  test.each(pure.map((file) => [file.path, file] as const))("%s runs anywhere", (_, file) => {
    expect(rules["imports no Node module where it must run anywhere"](file, project)).toEqual([]);
    expect(rules["reads no clock and no chance where it must be pure"](file, project)).toEqual([]);
  });
});

describe("dependencies", () => {
  test("each has its reason in CONTRIBUTING.md", (context) => {
    const guide = join(projectFolder, "CONTRIBUTING.md");
    context.skip(!existsSync(guide), "CONTRIBUTING.md is not written yet");
    const { dependencies } = JSON.parse(readFileSync(join(projectFolder, "package.json"), "utf8"));
    const text = readFileSync(guide, "utf8");
    const unexplained = Object.keys(dependencies).filter((name) => !text.includes(`\`${name}\``));
    expect(unexplained).toEqual([]);
  });
});

/** A project in memory whose first file breaks one rule. */
function worldOf(files: Readonly<Record<string, string>>): [SourceFile, Project] {
  const all = Object.entries(files).map(([path, text]) => ({ path, text }));
  const [first] = all;
  if (first === undefined) throw new Error("a world needs a file");
  return [first, { files: all, entries: new Set(["index.ts", "evidence/index.ts"]), mayImport }];
}

const firstLine = (files: Readonly<Record<string, string>>): string =>
  Object.entries(files)[0]?.join(": ").split("\n")[0] ?? "";

const empty = "export {};\n";

/** One row, one fault: the rule that must refuse the first file. Without these, a rule could pass everything. */
const refused: readonly { rule: RuleName; files: Record<string, string> }[] = [
  {
    rule: "imports only files that exist",
    files: { "core/gap.ts": 'import { x } from "./gone.ts";' },
  },
  {
    rule: "imports only files that exist",
    files: { "core/gap.ts": 'import { x } from "./score.js";', "core/score.ts": empty },
  },
  {
    rule: "imports only files that exist",
    files: { "core/gap.ts": 'import { x } from "../../test/support/source-rules.ts";' },
  },
  {
    rule: "imports point down the table",
    files: { "core/gap.ts": 'import "../scorers/decide.ts";', "scorers/decide.ts": empty },
  },
  {
    rule: "imports point down the table",
    files: {
      "scorers/decide.ts": 'import type { X } from "../sources/sql/source.ts";',
      "sources/sql/source.ts": empty,
    },
  },
  {
    rule: "imports point down the table",
    files: {
      "report/text.ts": 'type X = import("../store/store.ts").X;',
      "store/store.ts": empty,
    },
  },
  {
    rule: "imports point down the table",
    files: {
      "store/store.ts": 'const x = await import("../run/record.ts");',
      "run/record.ts": empty,
    },
  },
  { rule: "imports point down the table", files: { "extras/thing.ts": empty } },
  { rule: "imports point down the table", files: { "loose.ts": empty } },
  {
    rule: "imports its own package by path",
    files: { "run/record.ts": 'import { x } from "upheld/evidence";' },
  },
  {
    rule: "is in no import cycle",
    files: {
      "core/gap.ts": 'import { x } from "./score.ts";',
      "core/score.ts": 'import { y } from "./scope.ts";',
      "core/scope.ts": 'import type { z } from "./gap.ts";',
    },
  },
  { rule: "is in no import cycle", files: { "core/gap.ts": 'import { x } from "./gap.ts";' } },
  {
    rule: "imports no Node module where it must run anywhere",
    files: { "evidence/seal.ts": 'import { createHash } from "node:crypto";' },
  },
  {
    rule: "imports no Node module where it must run anywhere",
    files: { "core/ids.ts": 'const fs = await import("fs/promises");' },
  },
  ...[
    "Date.now()",
    "Date['now']()",
    "new Date()",
    "Date()",
    "Math.random()",
    "performance.now()",
    "process.env.HOME",
    "globalThis.process.pid",
    "crypto.randomUUID()",
    "setTimeout(() => {}, 1)",
    "AbortSignal.timeout(5)",
    "Buffer.from('a')",
  ].map((use) => ({
    rule: "reads no clock and no chance where it must be pure" as const,
    files: { "scorers/decide.ts": `export const x = ${use};` },
  })),
  {
    rule: "reads no clock and no chance where it must be pure",
    files: { "report/text.ts": "export type X = Buffer;" },
  },
  {
    rule: "re-exports nothing unless it is an exports entry",
    files: { "core/gap.ts": 'export { x } from "./score.ts";', "core/score.ts": empty },
  },
  {
    rule: "re-exports nothing unless it is an exports entry",
    files: { "core/gap.ts": 'export * from "./score.ts";', "core/score.ts": empty },
  },
  {
    rule: "re-exports nothing unless it is an exports entry",
    files: {
      "core/gap.ts": 'import { x } from "./score.ts";\nexport { x };',
      "core/score.ts": empty,
    },
  },
  { rule: "has no default export", files: { "core/gap.ts": "export default 1;" } },
  {
    rule: "has no default export",
    files: { "core/gap.ts": "const x = 1;\nexport { x as default };" },
  },
  { rule: "has at most 300 lines", files: { "core/gap.ts": "export {};\n".repeat(301) } },
  ...["utils", "helpers", "types", "run-manager", "service", "base", "camelCase", "snake_case"].map(
    (name) => ({
      rule: "is named by its noun or verb" as const,
      files: { [`core/${name}.ts`]: empty },
    }),
  ),
  { rule: "is named by its noun or verb", files: { "core/index.ts": empty } },
  {
    rule: "imports no sibling source",
    files: {
      "sources/sql/source.ts": 'import { walk } from "../local-files/walk.ts";',
      "sources/local-files/walk.ts": empty,
    },
  },
  {
    rule: "branches on no surface outside sources",
    files: { "scorers/decide.ts": 'export const f = (s) => s.surface === "file";' },
  },
  {
    rule: "branches on no surface outside sources",
    files: { "report/text.ts": "export function f({ surface }) { switch (surface) {} }" },
  },
  {
    rule: "branches on no condition outside scorers",
    files: { "run/record.ts": 'export const f = (e) => e.condition.kind === "said";' },
  },
];

describe("a rule refuses", () => {
  test.each(refused.map((row) => [row.rule, firstLine(row.files), row] as const))(
    "%s: %s",
    (_rule, _text, row) => {
      expect(rules[row.rule](...worldOf(row.files))).not.toEqual([]);
    },
  );

  test("every rule has a file that it refuses", () => {
    const controlled = new Set<string>(refused.map(({ rule }) => rule));
    expect(Object.keys(rules).filter((rule) => !controlled.has(rule))).toEqual([]);
  });
});

/** The same words where they are allowed: a rule that refused everything would pass the rows above. */
const accepted: readonly Record<string, string>[] = [
  { "core/gap.ts": 'import { z } from "zod";\nexport const x = new Date(0);' },
  { "cli/main.ts": 'import "../core/gap.ts";', "core/gap.ts": empty },
  { "index.ts": 'export { x } from "./core/gap.ts";', "core/gap.ts": empty },
  { "evidence/index.ts": 'export * from "./seal.ts";', "evidence/seal.ts": empty },
  { "run/record.ts": 'import { now } from "node:process";\nexport const x = Date.now();' },
  { "sources/sql/source.ts": 'export const f = (s) => s.surface === "sql";' },
  { "scorers/said.ts": 'export const f = (condition) => condition.kind === "said";' },
  { "scorers/decide.ts": "export const f = (a, b) => a.surface === b.surface;" },
  { "core/ids.ts": "export const f = (o) => o.process.now() + o.Date;" },
  { "core/gap.ts": "export {};\n".repeat(300) },
];

describe("the rules accept", () => {
  test.each(accepted.map((files) => [firstLine(files), files] as const))("%s", (_text, files) => {
    expect(faultsOf(...worldOf(files))).toEqual([]);
  });
});

test("imports are seen in every form", () => {
  const text = [
    'import "./a.ts";',
    'import type { B } from "./b.ts";',
    'export { c } from "./c.ts";',
    'export * from "./d.ts";',
    'const e = await import("./e.ts");',
    'type F = import("./f.ts").F;',
  ].join("\n");
  expect(importsOf({ path: "core/x.ts", text })).toEqual(
    ["a", "b", "c", "d", "e", "f"].map((name) => `./${name}.ts`),
  );
});
