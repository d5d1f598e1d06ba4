import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Workplace } from "../cli/upheld.ts";
import axe from "axe-core";
import { hasBrowser, NO_BROWSER, startBrowser } from "../worlds/browser.ts";

const CLAIMS = `
objective: Put the key away
subGoals:
  - name: written
    what: A note is written
    condition: { kind: content_written, uri: "workspace:/note.txt" }
  - name: report
    what: The report is there
    condition: { kind: content_written, uri: "workspace:/report.pdf" }
  - name: nothing-behind
    what: Nothing is written behind the link
    expect: refuted
    condition: { kind: content_written, uri: "workspace:/**", match: glob, matcher: { kind: contains, value: hidden } }
  - name: polite
    judged: The agent is polite.
`;

function seal(page: Page): Promise<string> {
  return page.locator("#seal").innerText();
}

// Several processes and a browser, on a machine that may be busy.
describe("a page from the disk", { timeout: 240_000 }, () => {
  let browser: Browser | undefined;
  const place = new Workplace({ "note.txt": "one\ntwo\n", "old.txt": "old\n" });
  const at = (name: string): string => join(place.path, name);

  beforeAll(async () => {
    if (!hasBrowser) return;
    browser = await startBrowser();
    for (const name of ["host.key", "other.key"]) await place.upheld(["keygen", at(name)]);
    const expected = place.write("claims.yaml", CLAIMS);
    const agent =
      "ln -s /nowhere out; echo three >> note.txt; rm old.txt; echo 'I wrote report.pdf.'";
    const options = ["--expect", expected, "--key", at("host.key")];
    const saved = ["--save", at("run.upheld"), "--", "sh", "-c", agent];
    const { code, stderr } = await place.upheld(["run", ...options, ...saved]);
    if (code !== 1) throw new Error(stderr);
  }, 240_000);

  afterAll(async () => {
    await browser?.close();
    place[Symbol.dispose]();
  });

  /** The page of the bundle, opened as a file without a network; everything that it asks for is listed. */
  async function openedPage(args: readonly string[], change = (page: string) => page) {
    const file = at("page.html");
    const written = await place.upheld(["view", at("run.upheld"), "--out", file, ...args]);
    expect(written).toMatchObject({ code: 0, stdout: `${pathToFileURL(file).href}\n`, stderr: "" });
    writeFileSync(file, change(readFileSync(file, "utf8")));
    if (browser === undefined) throw new Error(NO_BROWSER);
    const context = await browser.newContext({ offline: true });
    const page = await context.newPage();
    const asked: string[] = [];
    const failed: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    page.on("pageerror", (error) => failed.push(error.message));
    page.on("console", (message) => failed.push(message.text()));
    await page.goto(pathToFileURL(file).href);
    await page.locator("#seal:not(.waiting)").waitFor();
    expect(asked).toEqual([pathToFileURL(file).href]);
    expect(failed).toEqual([]);
    return page;
  }

  test("says that it is intact, and that nobody vouches for it without a key", async (context) => {
    context.skip(!hasBrowser, NO_BROWSER);
    const page = await openedPage([]);
    expect(await seal(page)).toMatch(/Intact, integrity only\..*No key was given/s);
    expect(await seal(page)).not.toMatch(/\bSigned\b/);
  });

  test("says who signed by the key that was named, and by no other", async (context) => {
    context.skip(!hasBrowser, NO_BROWSER);
    const signed = await openedPage(["--key", at("host.key.pub")]);
    expect(await seal(signed)).toMatch(
      /Intact and signed\..*Signed, sealed by the guest: sha256:[0-9a-f]{64}/s,
    );
    const other = await openedPage(["--key", at("other.key.pub")]);
    expect(await seal(other)).toMatch(/NOT intact.*signer_unexpected/s);
    expect(await other.locator("section").count()).toBe(0);
  });

  test("checks by a key that the reader brings along", async (context) => {
    context.skip(!hasBrowser, NO_BROWSER);
    const page = await openedPage([]);
    await page.locator("#key").setInputFiles(at("host.key.pub"));
    await page.getByText("Intact and signed.").waitFor();
    await page.locator("#key").setInputFiles(at("other.key.pub"));
    await page.getByText("NOT intact.").waitFor();
  });

  test("refuses what was changed, says where, and shows nothing of it", async (context) => {
    context.skip(!hasBrowser, NO_BROWSER);
    const page = await openedPage([], (text) => {
      const start = text.indexOf('class="bundle">') + 'class="bundle">'.length;
      const end = text.indexOf("</script>", start);
      const bytes = Buffer.from(text.slice(start, end), "base64");
      const where = bytes.indexOf("report.pdf");
      expect(where).toBeGreaterThan(0);
      bytes[where] = "R".charCodeAt(0);
      return text.slice(0, start) + bytes.toString("base64") + text.slice(end);
    });
    expect(await seal(page)).toMatch(/NOT intact\..*blob_changed at blobs\/sha256\/[0-9a-f]{64}/s);
    expect(await page.locator("body").innerText()).not.toMatch(/upheld|refuted|note\.txt/);
  });

  test("tells the run: verdicts with witnesses and gaps, the delta with its difference, what was said", async (context) => {
    context.skip(!hasBrowser, NO_BROWSER);
    const page = await openedPage([]);
    expect(await page.locator("h1").innerText()).toMatch(
      /^1 of 4 as expected, 1 not, 2 not decided/,
    );
    const verdicts = await page.locator("#verdicts article").allInnerTexts();
    expect(verdicts[0]).toMatch(/upheld.*A note is written.*workspace:\/note\.txt.*modified/s);
    expect(verdicts[1]).toMatch(/refuted.*upheld was expected.*The report is there/s);
    expect(verdicts[2]).toMatch(/undetermined.*link_outside_root.*workspace:\/out/s);
    expect(verdicts[3]).toMatch(/to judge.*polite/s);
    await page.locator("#changes summary", { hasText: "note.txt" }).click();
    expect(await page.locator("#changes .diff .added").innerText()).toContain("three");
    expect(await page.locator("#changes").innerText()).toMatch(/old\.txt\s+deleted/);
    expect(await page.locator("#conversation").innerText()).toContain("I wrote report.pdf.");
  });

  test.for(["light", "dark"] as const)(
    "axe finds nothing serious in %s",
    async (theme, context) => {
      context.skip(!hasBrowser, NO_BROWSER);
      const page = await openedPage(["--key", at("host.key.pub")]);
      await page.emulateMedia({ colorScheme: theme });
      for (const fold of await page.locator("summary:visible").all()) await fold.click();
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate<axe.AxeResults>("axe.run()");
      const serious = violations.filter(
        ({ impact }) => impact === "serious" || impact === "critical",
      );
      expect(
        serious.map(({ id, nodes }) => [id, nodes.map(({ html }) => html).slice(0, 3)]),
      ).toEqual([]);
    },
  );
});
