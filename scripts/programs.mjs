// @ts-check
// Joins each program of the package with what it imports, in few files: most of a short command's time goes into finding
// and loading modules. The modules behind the `exports` stay one by one.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { rolldown } from "rolldown";
import { inProject, readJson } from "./project.mjs";

/** The files that Node starts, without their ending. */
const PROGRAMS = [
  "cli/main",
  "sources/local-files/worker",
  "sources/local-files/second-reader",
  "sources/sql/sqlite/worker",
];

/** What the programs have in common, and the licences of the packages in it. */
const SHARED = "program";

/** Packages that nearly every start needs. The others are found in node_modules when they are asked for. */
const JOINED = [
  "zod",
  "yaml",
  "re2js",
  "@noble/hashes",
  "@secretlint/core",
  "@secretlint/profiler",
  "@secretlint/secretlint-rule-preset-recommend",
  "@secretlint/types",
  "boundary",
  "debug",
  "ms",
  "structured-source",
];

const FOLDER_MARK = "@@dist@@";

/**
 * A joined module lies elsewhere than it was written: what it looks for beside itself is named from the root of dist.
 * @param {string} output
 * @returns {import("rolldown").Plugin}
 */
function placesOf(output) {
  return {
    name: "places",
    transform(code, id) {
      if (!code.includes("import.meta.url") || !id.startsWith(output)) return null;
      const place = relative(output, id).split(sep).join("/");
      const url = `new URL("${FOLDER_MARK}${place}", import.meta.url).href`;
      return code.replaceAll("import.meta.url", url);
    },
    renderChunk(code, { fileName }) {
      const up = "../".repeat(fileName.split("/").length - 1);
      return code.replaceAll(FOLDER_MARK, up);
    },
  };
}

/** @param {string} name */
function licenceOf(name) {
  const folder = inProject(`node_modules/${name}`);
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  if (file === undefined) throw new Error(`${name} brings no licence text, so it cannot be joined`);
  const { version, license } = readJson(`node_modules/${name}/package.json`);
  const text = readFileSync(join(folder, file), "utf8").trim();
  return `${name} ${version} (${license})\n\n${text}\n`;
}

/**
 * Replaces the programs of a compiled folder by joined ones.
 * @param {string} output
 */
export async function joinPrograms(output) {
  const joined = await rolldown({
    input: Object.fromEntries(PROGRAMS.map((name) => [name, join(output, `${name}.js`)])),
    platform: "node",
    external: (id) => /^[^./]/.test(id) && !JOINED.some((name) => isOf(id, name)),
    plugins: [placesOf(output)],
  });
  const { output: files } = await joined.generate({
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: `${SHARED}/[name].js`,
  });
  await joined.close();
  // Nothing but the program was of use there.
  rmSync(join(output, "cli"), { recursive: true });
  for (const file of files) {
    if (file.type !== "chunk") throw new Error(`${file.fileName} came out beside the code`);
    mkdirSync(dirname(join(output, file.fileName)), { recursive: true });
    writeFileSync(join(output, file.fileName), file.code);
  }
  writeFileSync(
    join(output, SHARED, "licenses.txt"),
    JOINED.map(licenceOf).join(`\n${"-".repeat(80)}\n\n`),
  );
}

/**
 * @param {string} id
 * @param {string} name
 */
function isOf(id, name) {
  return id === name || id.startsWith(`${name}/`);
}
