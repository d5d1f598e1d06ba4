// @ts-check
// Installs the dependencies when what is installed is not what the lockfile says.
import { existsSync } from "node:fs";
import { inProject, readJson, runToEnd } from "./project.mjs";

/** The first package that is missing or of another version, or nothing when all are there. */
function firstDifference() {
  const record = "node_modules/.package-lock.json";
  if (!existsSync(inProject(record))) return "node_modules";
  const installed = readJson(record).packages;
  for (const [path, wanted] of Object.entries(readJson("package-lock.json").packages)) {
    // Optional packages are the binaries of other systems: npm leaves those out.
    if (path === "" || wanted.optional === true || wanted.devOptional === true) continue;
    if (installed[path]?.version !== wanted.version) return path;
  }
  return undefined;
}

export async function installIfNeeded() {
  const difference = firstDifference();
  if (difference === undefined) return;
  process.stderr.write(`installing dependencies (${difference} is missing or out of date)\n`);
  const { code, output } = await runToEnd("npm", ["ci", "--no-audit", "--no-fund"]);
  if (code !== 0) throw new Error(`npm ci failed:\n${output}`);
}
