// @ts-check
// Writes the page that shows a bundle: one HTML file with its style and script inside, so that it opens from a disk and loads
// nothing. The bundle is put in later, by `upheld view`.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { inProject } from "./project.mjs";

/** @param {string} text */
function hashOf(text) {
  return createHash("sha256").update(text).digest("base64");
}

async function script() {
  const joined = await rolldown({ input: inProject("src/viewer/main.ts"), platform: "browser" });
  const { output } = await joined.generate({ format: "iife", minify: true });
  await joined.close();
  const [chunk, ...others] = output;
  if (others.length > 0)
    throw new Error(`${others[0]?.fileName} came out beside the page's script`);
  // The text of a script element ends at this, wherever it stands.
  return chunk.code.trim().replaceAll("</script", "<\\/script");
}

/**
 * Writes the page into a compiled folder.
 * @param {string} output
 */
export async function writePage(output) {
  const template = readFileSync(inProject("src/viewer/page.html"), "utf8");
  const style = readFileSync(inProject("src/viewer/page.css"), "utf8").trim();
  const code = await script();
  // A hash covers what stands between the tags, white space too.
  const page = template
    .replace(/\s*@@STYLE@@\s*/, () => style)
    .replace(/\s*@@SCRIPT@@\s*/, () => code)
    .replace(/\s*@@KEYS@@\s*/, () => "@@KEYS@@")
    .replace(/\s*@@PREVIEW@@\s*/, () => "@@PREVIEW@@")
    .replace("@@STYLE_HASH@@", hashOf(style))
    .replace("@@SCRIPT_HASH@@", hashOf(code));
  mkdirSync(join(output, "viewer"), { recursive: true });
  writeFileSync(join(output, "viewer/page.html"), page);
}
