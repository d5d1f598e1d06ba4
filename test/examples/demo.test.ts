import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { blocksOf, outputMatches } from "../support/docs-blocks.ts";

const project = join(import.meta.dirname, "../..");

test("the demo shows what it should, and the README prints it", { timeout: 120_000 }, () => {
  const demo = join(project, "examples/demo/run.mjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [demo], { encoding: "utf8" });
  expect([status, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("Every step showed what it should.");
  const address = stdout.trimEnd().split("\n").at(-1) ?? "";
  expect(readFileSync(fileURLToPath(address), "utf8")).toContain('class="bundle"');
  const shown = blocksOf(readFileSync(join(project, "README.md"), "utf8"))
    .map(({ text }) => text)
    .find((text) => text.startsWith("$ upheld run --db"));
  const printed = stdout.slice(stdout.indexOf("$ upheld run --db"));
  const upToExit = printed.slice(0, printed.indexOf("\n", printed.indexOf("# exit")));
  expect(outputMatches((shown ?? "").split("\n"), upToExit)).toBe(true);
});
