// @ts-check
// Writes docs/gaps.md, docs/errors.md and docs/limits.md from the tables of the built package:  node scripts/write-tables.mjs
import { writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { buildIfStale } from "./build.mjs";
import { inProject } from "./project.mjs";

/**
 * @typedef {{ GAPS: Record<string, { meaning: string, remedy: string }>, ERROR_CODES: Record<string, string>, LIMITS: Record<string, { unit: string, value: number, delta?: number, beyond: string }> }} Tables
 */

const GAP_EXAMPLE = `\`\`\`json
{
  "code": "listing_failed",
  "location": "workspace:/data/private",
  "detail": "EACCES",
  "count": 1,
  "remedy": "Run as a user that can list it."
}
\`\`\``;

const ERROR_EXAMPLE = `\`\`\`ts
import { isUpheldError, parseLocator } from "upheld";

try {
  parseLocator("/../outside");
} catch (error) {
  if (!isUpheldError(error) || error.code !== "locator_invalid") throw error;
}
\`\`\``;

const LIMIT_EXAMPLE = `\`\`\`ts run
import { LIMITS } from "upheld";

console.log(LIMITS.maxFiles.value, LIMITS.maxFiles.beyond);
\`\`\`

\`\`\`text output
1000 file_limit_exceeded
\`\`\``;

const NOTE =
  "<!-- Written by scripts/write-tables.mjs from the table in the code. Change it there. -->";

/** @param {readonly string[]} cells */
const line = (cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;

/** @param {readonly string[]} head @param {readonly (readonly string[])[]} rows */
function table(head, rows) {
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

/** @param {number | undefined} value */
const figure = (value) => (value === undefined ? "" : value.toLocaleString("en"));

/** @param {string} beyond */
const fateOf = (beyond) =>
  beyond.startsWith("count: ") ? `the field \`${beyond.slice(7)}\`` : `[\`${beyond}\`](gaps.md)`;

/**
 * The pages, by their path in the project, with their text.
 * @param {Tables} tables
 */
export function tableFiles({ GAPS, ERROR_CODES, LIMITS }) {
  return [
    {
      path: "docs/gaps.md",
      text: page(
        "Gaps",
        "A gap is a located reason for which something is not known. Every `undetermined` verdict holds at least one. A gap names its place, where known the system's error and figures, and what would settle it. A code is never renamed.",
        table(
          ["code", "meaning", "what settles it"],
          Object.entries(GAPS).map(([code, { meaning, remedy }]) => [
            `\`${code}\``,
            meaning,
            remedy,
          ]),
        ),
        GAP_EXAMPLE,
      ),
    },
    {
      path: "docs/errors.md",
      text: page(
        "Errors",
        "Every error of this package is an `UpheldError` with one of these codes. An error is misuse, a broken file or a broken machine. What is not known about the world is never an error: it is a [gap](gaps.md). An aborted call rejects with the signal's own reason.",
        table(
          ["code", "meaning"],
          Object.entries(ERROR_CODES).map(([code, meaning]) => [`\`${code}\``, meaning]),
        ),
        ERROR_EXAMPLE,
      ),
    },
    {
      path: "docs/limits.md",
      text: page(
        "Limits",
        "Every loop over the world ends at a limit, and a limit that is reached is told. A limit that is met exactly is not exceeded. The column *delta* is the default where a whole root is compared with its baseline.",
        table(
          ["limit", "unit", "default", "delta", "beyond it"],
          Object.entries(LIMITS).map(([name, { unit, value, delta, beyond }]) => [
            `\`${name}\``,
            unit,
            figure(value),
            figure(delta),
            fateOf(beyond),
          ]),
        ),
        LIMIT_EXAMPLE,
      ),
    },
  ];
}

/** @param {string} title @param {string} words @param {string} body @param {string} example */
function page(title, words, body, example) {
  return `# ${title}\n\n${NOTE}\n\n${words}\n\n${example}\n\n${body}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildIfStale();
  const modules = await Promise.all(
    ["gap", "errors", "limits"].map((name) => importBuilt(`core/${name}.js`)),
  );
  for (const { path, text } of tableFiles(Object.assign({}, ...modules))) {
    writeFileSync(inProject(path), text);
    process.stdout.write(`${path}\n`);
  }
}

/** @param {string} path */
function importBuilt(path) {
  return import(pathToFileURL(inProject(`dist/${path}`)).href);
}
