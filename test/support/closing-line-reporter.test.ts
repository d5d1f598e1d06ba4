import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runToEnd, toolScript } from "../../scripts/project.mjs";

const projectFolder = fileURLToPath(new URL("../../", import.meta.url));
const reporter = fileURLToPath(new URL("closing-line-reporter.ts", import.meta.url));

/** Runs vitest on files in a folder of their own and answers the lines it prints. */
async function linesOf(files: Readonly<Record<string, string>>): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "upheld-reporter-"));
  try {
    symlinkSync(join(projectFolder, "node_modules"), join(folder, "node_modules"), "junction");
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(
        join(folder, name),
        `import { beforeAll, describe, expect, test } from "vitest";\n${text}`,
      );
    }
    const args = [toolScript("vitest"), "run", "--root", folder, "--reporter", reporter];
    const { output } = await runToEnd(process.execPath, [...args, "--passWithNoTests"], {
      env: { UPHELD_COUNTS: "" },
    });
    return output.trimEnd().split("\n");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One row, one way for a test to end. */
const rows: readonly { name: string; text: string; closing: string; also?: string }[] = [
  { name: "a pass", text: 'test("a", () => {});', closing: "1 passed, 0 failed, 0 skipped" },
  {
    name: "a failure",
    text: 'test("a", () => expect(1).toBe(2));',
    closing: "0 passed, 1 failed, 0 skipped",
  },
  {
    name: "a skip with its reason",
    text: 'test("a", ({ skip }) => skip("needs root"));',
    closing: "0 passed, 0 failed, 1 skipped",
    also: "skipped: a: needs root",
  },
  {
    name: "a skip without a reason",
    text: 'test.skip("a", () => {});',
    closing: "0 passed, 0 failed, 1 skipped",
    also: "skipped: a: no reason given",
  },
  {
    name: "a file that breaks before its tests",
    text: 'test("a", () => {});\nthrow new Error("boom");',
    closing: "0 passed, 1 failed, 0 skipped",
  },
  {
    name: "a rejection that nobody awaits",
    text: 'test("a", () => void Promise.reject(new Error("boom")));',
    closing: "1 passed, 1 failed, 0 skipped",
  },
  {
    name: "a hook that breaks",
    text: 'describe("s", () => {\n  beforeAll(() => {\n    throw new Error("boom");\n  });\n  test("a", () => {});\n});',
    closing: "0 passed, 1 failed, 1 skipped",
  },
];

test.each(rows.map((row) => [row.name, row] as const))("counts %s", async (_name, row) => {
  const lines = await linesOf({ "sample.test.ts": row.text });
  expect(lines.at(-1)).toBe(row.closing);
  if (row.also !== undefined) expect(lines).toContain(row.also);
});

test("counts nothing where there is no test", async () => {
  expect((await linesOf({})).at(-1)).toBe("0 passed, 0 failed, 0 skipped");
});
