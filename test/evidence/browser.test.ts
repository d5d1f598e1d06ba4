import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sealBundle } from "../../src/evidence/seal.ts";
import { nodeHasher } from "../../src/store/hasher.ts";
import { ended } from "../cli/upheld.ts";
import { smallInput } from "../support/sample-bundle.ts";

const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const browser = BROWSERS.find((path) => existsSync(path));
const GOLDEN = join(import.meta.dirname, "../golden/run-3.upheld");
const EVIDENCE = join(import.meta.dirname, "../../dist/evidence/index.js");

let folder = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "upheld-browser-"));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What the page does: verifies a bundle and a changed copy with both hashers, seals one, and writes down what came of it. */
const PAGE_PROGRAM = `
import { byteSource, plainHasher, sealBundle, tarReader, verifyBundle, webHasher } from ${JSON.stringify(EVIDENCE)};
const { tar, input } = JSON.parse(document.getElementById("given").textContent);
const bytes = Uint8Array.from(atob(tar), (char) => char.charCodeAt(0));
const changed = bytes.slice();
changed[3000] ^= 1;
const told = (answer) => (answer.ok ? "intact " + answer.digest : answer.reason + " at " + answer.at);
const verify = async (all, hasher) =>
  told(await verifyBundle(tarReader(byteSource(all)), { hasher }));
const text = new TextEncoder().encode(input.text);
const parts = [{ ...input.part, content: { bytes: text } }];
const results = [];
for (const hasher of [plainHasher, webHasher(crypto.subtle)]) {
  results.push(await verify(bytes, hasher), await verify(changed, hasher));
  results.push((await sealBundle({ run: input.run, parts }, { hasher })).digest);
}
document.getElementById("results").textContent = results.join("\\n");
`;

async function pageOf(given: object): Promise<string> {
  const entry = join(folder, "page.js");
  writeFileSync(entry, PAGE_PROGRAM);
  const joined = await rolldown({ input: entry, platform: "browser" });
  const { output } = await joined.generate({ format: "esm" });
  await joined.close();
  expect(output).toHaveLength(1);
  const { code, imports, dynamicImports } = output[0];
  expect([...imports, ...dynamicImports]).toEqual([]);
  const page = join(folder, "page.html");
  const json = JSON.stringify(given).replaceAll("<", "\\u003c");
  const script = code.replaceAll("</script", "<\\/script");
  writeFileSync(
    page,
    `<!doctype html><meta charset="utf-8"><pre id="results">nothing ran</pre>
<script id="given" type="application/json">${json}</script><script type="module">${script}</script>`,
  );
  return page;
}

test(
  "what verifies and seals in Node does so in a browser, unchanged, and comes to the same",
  { timeout: 300_000 },
  async (context) => {
    context.skip(browser === undefined, "there is no Chromium on this machine");
    const tar = readFileSync(GOLDEN);
    const [part] = smallInput.parts;
    if (part?.state !== "present" || !("bytes" in part.content)) throw new Error("no small part");
    const { content, ...named } = part;
    const page = await pageOf({
      tar: tar.toString("base64"),
      input: { run: smallInput.run, part: named, text: new TextDecoder().decode(content.bytes) },
    });
    const done = await ended(
      spawn(browser ?? "", [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        `--user-data-dir=${join(folder, "profile")}`,
        "--virtual-time-budget=60000",
        "--dump-dom",
        `file://${page}`,
      ]),
    );
    const [, results = ""] = /<pre id="results">([^<]*)<\/pre>/.exec(done.stdout) ?? [];
    const { digest } = await sealBundle(smallInput, { hasher: nodeHasher });
    const one = [
      "intact sha256:a6ddc3e9269a40cfa7ba89548ef6beec6c386eec1ce87cfdc794f2c000c77c2c",
      expect.stringMatching(/^[a-z_]+ at /),
      digest,
    ];
    expect(results.split("\n"), done.stderr).toEqual([...one, ...one]);
  },
);
