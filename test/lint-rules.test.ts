import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runToEnd, toolScript } from "../scripts/project.mjs";

const projectFolder = fileURLToPath(new URL("../", import.meta.url));
const branches = (count: number): string =>
  Array.from({ length: count }, (_, index) => `  if (n === ${index}) return ${index};\n`).join("");

/** One row, one rule that lint must hold: the sample breaks it. A rule that is switched off fails here. */
const refused: readonly { rule: string; text: string }[] = [
  { rule: "no-explicit-any", text: "export const x = (value: any): unknown => value;" },
  { rule: "no-non-null-assertion", text: "export const x = (a?: string): string => a!;" },
  { rule: "max-lines", text: "export {};\n".repeat(301) },
  {
    rule: "complexity",
    text: `export function f(n: number): number {\n${branches(11)}  return n;\n}`,
  },
  {
    rule: "max-depth",
    text: "export function f(a: boolean): void {\n  if (a) { if (a) { if (a) { if (a) { f(!a); } } } }\n}",
  },
  { rule: "no-default-export", text: "export default 1;" },
  {
    rule: "no-cycle",
    text: 'import type { Other } from "./other.ts";\nexport type Own = Other | 1;',
  },
  {
    rule: "switch-exhaustiveness-check",
    text: 'export function f(k: "a" | "b"): number {\n  switch (k) {\n    case "a":\n      return 1;\n  }\n  return 2;\n}',
  },
  {
    rule: "no-floating-promises",
    text: "const work = async (): Promise<void> => undefined;\nexport function f(): void {\n  work();\n}",
  },
  {
    rule: "consistent-type-imports",
    text: 'import { Other } from "./other.ts";\nexport const x: Other = 1;',
  },
  {
    rule: "Unused oxlint-disable directive",
    text: "// oxlint-disable-next-line no-explicit-any\nexport const x = 1;",
  },
];

const fileOf = (index: number): string => `src/core/sample-${index}.ts`;

describe("lint refuses", () => {
  let folder: string;
  let report: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "upheld-lint-"));
    const other = refused.findIndex(({ rule }) => rule === "no-cycle");
    const files = [
      ...refused.map(({ text }, index) => ({ path: fileOf(index), text })),
      {
        path: "src/core/other.ts",
        text: `import type { Own } from "./sample-${other}.ts";\nexport type Other = 1 | Own[];\n`,
      },
      {
        path: "tsconfig.json",
        text: JSON.stringify({ extends: join(projectFolder, "tsconfig.json"), include: ["src"] }),
      },
    ];
    for (const { path, text } of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    symlinkSync(join(projectFolder, "node_modules"), join(folder, "node_modules"), "junction");
    const config = join(projectFolder, ".oxlintrc.json");
    const args = [
      toolScript("oxlint"),
      "--type-aware",
      "-c",
      config,
      "--format",
      "unix",
      join(folder, "src"),
    ];
    report = (await runToEnd(process.execPath, args)).output;
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each(refused.map(({ rule }, index) => [rule, fileOf(index)] as const))(
    "%s",
    (rule, file) => {
      const own = report.split("\n").filter((line) => line.includes(file));
      expect(own.join("\n")).toContain(rule);
    },
  );
});
