// @ts-check
// Compiles src to dist when dist is stale, and joins the programs. Each file is put in place by a rename, so a program
// that runs meanwhile never reads half a file. `--force` compiles in any case.
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { copyFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { inProject, runToEnd, toolScript } from "./project.mjs";
import { writePage } from "./page.mjs";
import { joinPrograms } from "./programs.mjs";

const stamp = inProject("dist/.stamp");
const command = inProject("dist/cli/main.js");

/**
 * Files below a folder, as paths relative to it, sorted.
 * @param {string} folder
 */
function filesBelow(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => statSync(join(folder, path), { throwIfNoEntry: false })?.isFile())
    .toSorted();
}

/** One digest over all that the build reads: any change of it makes dist stale. */
function digestOfInput() {
  const hash = createHash("sha256");
  const inputs = [
    "tsconfig.json",
    "tsconfig.build.json",
    "package.json",
    "scripts/build.mjs",
    "scripts/page.mjs",
    "scripts/programs.mjs",
    "tsconfig.viewer.json",
    ...filesBelow(inProject("src")).map((path) => join("src", path)),
  ];
  for (const path of inputs) {
    const bytes = readFileSync(inProject(path));
    hash.update(`${path.split(sep).join("/")} ${bytes.length}\n`).update(bytes);
  }
  return hash.digest("hex");
}

/**
 * @param {string} from
 * @param {string} to
 */
function putInPlace(from, to) {
  if (existsSync(to) && readFileSync(to).equals(readFileSync(from))) return;
  mkdirSync(dirname(to), { recursive: true });
  renameSync(from, to);
}

/** @param {string} output */
function copyAssets(output) {
  for (const path of filesBelow(inProject("src"))) {
    if (path.endsWith(".ts") || path.startsWith("viewer")) continue;
    mkdirSync(dirname(join(output, path)), { recursive: true });
    copyFileSync(join(inProject("src"), path), join(output, path));
  }
}

/** @param {string} output */
function replaceDist(output) {
  const made = filesBelow(output);
  for (const path of made) putInPlace(join(output, path), join(inProject("dist"), path));
  const current = new Set(made);
  for (const path of filesBelow(inProject("dist"))) {
    if (!current.has(path)) rmSync(join(inProject("dist"), path), { force: true });
  }
  if (existsSync(command)) chmodSync(command, 0o755);
}

/**
 * Builds when needed. Type errors are returned as text; the JavaScript is written all the same,
 * and the next call compiles again.
 * @param {{ force?: boolean }} [options]
 * @returns {Promise<{ built: boolean, errors: string }>}
 */
export async function buildIfStale({ force = false } = {}) {
  const digest = digestOfInput();
  if (!force && existsSync(stamp) && readFileSync(stamp, "utf8") === digest) {
    return { built: false, errors: "" };
  }
  const output = inProject(`.build/${process.pid}`);
  try {
    const project = inProject("tsconfig.build.json");
    const compiler = toolScript("typescript", "tsc");
    const result = await runToEnd(process.execPath, [compiler, "-p", project, "--outDir", output]);
    copyAssets(output);
    await joinPrograms(output);
    await writePage(output);
    replaceDist(output);
    if (result.code === 0) writeFileSync(stamp, digest);
    return { built: true, errors: result.code === 0 ? "" : result.output };
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { errors } = await buildIfStale({ force: process.argv.includes("--force") });
  if (errors !== "") {
    process.stdout.write(errors);
    process.exitCode = 1;
  }
}
