// @ts-check
// What must hold of the repository besides its tests: each gate is one run of one tool.
import { buildIfStale } from "./build.mjs";
import { runToEnd, toolScript } from "./project.mjs";

/**
 * @param {string} packageName
 * @param {readonly string[]} args
 * @param {string} [command]
 */
function tool(packageName, args, command) {
  return () => runToEnd(process.execPath, [toolScript(packageName, command), ...args]);
}

/** @type {readonly { name: string, run: () => Promise<{ code: number, output: string }> }[]} */
const gates = [
  {
    name: "build",
    run: async () => {
      const { errors } = await buildIfStale();
      return { code: errors === "" ? 0 : 1, output: errors };
    },
  },
  { name: "types", run: tool("typescript", ["-p", "tsconfig.json"], "tsc") },
  { name: "types of the page", run: tool("typescript", ["-p", "tsconfig.viewer.json"], "tsc") },
  { name: "lint", run: tool("oxlint", ["--type-aware", "--deny-warnings"]) },
  { name: "format", run: tool("oxfmt", ["--check"]) },
  { name: "unused code", run: tool("knip", ["--no-progress"]) },
  { name: "package files", run: tool("publint", ["--strict"]) },
  {
    name: "package types",
    run: tool("@arethetypeswrong/cli", ["--pack", ".", "--profile", "esm-only"], "attw"),
  },
];

/** Runs every gate, also after one has failed, and says how each ended. */
export async function runGates() {
  let passed = 0;
  let failed = 0;
  for (const { name, run } of gates) {
    const { code, output } = await run();
    if (code === 0) passed += 1;
    else failed += 1;
    process.stdout.write(
      code === 0 ? `gate passed: ${name}\n` : `gate FAILED: ${name}\n${output}\n`,
    );
  }
  return { passed, failed, skipped: /** @type {{ name: string, reason: string }[]} */ ([]) };
}
