// @ts-check
// What every script needs to know of the project: where it is, and how to run a tool of it.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../", import.meta.url));

/** @param {string} relativePath */
export function inProject(relativePath) {
  return join(root, relativePath);
}

/** @param {string} relativePath */
export function readJson(relativePath) {
  return JSON.parse(readFileSync(inProject(relativePath), "utf8"));
}

/**
 * The script file behind a tool's command: run by Node itself, so no shell is needed on any system.
 * @param {string} packageName
 * @param {string} [command]
 */
export function toolScript(packageName, command = packageName) {
  const { bin } = readJson(`node_modules/${packageName}/package.json`);
  const file = typeof bin === "string" ? bin : bin[command];
  return inProject(join("node_modules", packageName, file));
}

/**
 * Runs a program to its end. `inherit` lets it talk to the terminal; otherwise its words come back as `output`.
 * @param {string} program
 * @param {readonly string[]} args
 * @param {{ inherit?: boolean, env?: Record<string, string> }} [options]
 * @returns {Promise<{ code: number, output: string }>}
 */
export function runToEnd(program, args, { inherit = false, env = {} } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: inherit ? "inherit" : ["ignore", "pipe", "pipe"],
      // On Windows npm is a command script, which only a shell starts.
      shell: process.platform === "win32" && program === "npm",
    });
    let output = "";
    child.stdout?.on("data", (chunk) => (output += chunk));
    child.stderr?.on("data", (chunk) => (output += chunk));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}
