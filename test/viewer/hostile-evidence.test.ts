import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EntryState, SurfaceEntry } from "../../src/core/entry.ts";
import type { RunRecord } from "../../src/evidence/record/run-record.ts";
import { tarPieces } from "../../src/evidence/tar.ts";
import { Workplace } from "../cli/upheld.ts";
import { recordOf, sealRecord } from "../support/sealed-run.ts";
import { hasBrowser, NO_BROWSER, startBrowser } from "../worlds/browser.ts";
import { conversation, created, file, modified, observe } from "../worlds/observations.ts";

const MARKUP = [
  "<img src=x onerror=\"globalThis.ran = 'img'\">",
  "<script>globalThis.ran = 'script'</script>",
  "</script><script>globalThis.ran = 'end'</script>",
  "<svg onload=\"globalThis.ran = 'svg'\"></svg>",
  "<a href=\"javascript:globalThis.ran = 'link'\">press me</a>",
  "<style>body { display: none }</style>",
  "<!-- <base href='https://example.com/'>",
].join("\n");
const ANSI = "\u001b[2J\u001b[31mred\u001b[0m";
const OVERRIDE = "innocent\u202egnp.exe";
const LONG_LINE = "x".repeat(1_000_000);
const ROWS = 10_000;

function row(id: number): SurfaceEntry {
  const columns = [
    { name: "id", type: "integer", value: String(id) },
    { name: "note", type: "text", value: id === 2 ? MARKUP : `${OVERRIDE} ${id}` },
  ];
  const now = EntryState.parse({ type: "row", sizeBytes: 1, row: { columns, key: ["id"] } });
  const uri = `shop:/orders?id=${id}`;
  return SurfaceEntry.parse({ uri, partOf: "shop:/orders", change: "created", now });
}

const record: RunRecord = recordOf({
  deltas: [
    observe({
      extent: "delta",
      entries: [
        created("workspace:/page.html", file(MARKUP)),
        created(`workspace:/${OVERRIDE}`, file(ANSI)),
        modified("workspace:/long", file("short"), file(`${LONG_LINE}\n`)),
      ],
    }),
    observe({
      extent: "delta",
      uri: "shop:/**",
      surface: "sql",
      entries: Array.from({ length: ROWS }, (_, index) => row(index + 1)),
    }),
  ],
  observations: [
    conversation([
      { role: "user", text: MARKUP },
      { role: "assistant", text: `${ANSI} ${OVERRIDE}` },
      { role: "assistant", text: LONG_LINE },
    ]),
  ],
});

// A browser on a machine that may be busy.
const SOON = { timeout: 20_000 };

describe("hostile evidence", { timeout: 240_000 }, () => {
  let browser: Browser | undefined;
  let page: Page | undefined;
  const place = new Workplace();
  const alerts: string[] = [];
  const asked: string[] = [];

  function shown(): Page {
    if (page === undefined) throw new Error(NO_BROWSER);
    return page;
  }

  beforeAll(async () => {
    if (!hasBrowser) return;
    const bundle = join(place.path, "run.upheld");
    const { files } = await sealRecord(record);
    writeFileSync(bundle, Buffer.concat([...tarPieces(files)]));
    const written = await place.upheld(["view", bundle]);
    if (written.code !== 0) throw new Error(written.stderr);
    browser = await startBrowser();
    page = await browser.newPage();
    page.setDefaultTimeout(120_000);
    page.on("dialog", (dialog) => alerts.push(dialog.message()));
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(pathToFileURL(`${bundle}.html`).href);
    await page.locator("#seal.intact").waitFor();
  }, 240_000);

  afterAll(async () => {
    await browser?.close();
    place[Symbol.dispose]();
  });

  test("markup is text, in a file, a row and a message, and runs nothing", async (context) => {
    context.skip(!hasBrowser, NO_BROWSER);
    await shown().locator("#changes summary", { hasText: "page.html" }).click();
    // What is behind a summary is written when it opens, a moment after the click.
    await expect
      .poll(async () => {
        const told = await shown().locator("main").innerText();
        return told.split("<script>globalThis.ran = 'script'</script>").length;
      }, SOON)
      .toBeGreaterThan(3);
    expect(await shown().locator("main").innerText()).toContain("<img src=x onerror=");
    expect(await shown().locator("main :is(img, script, svg, style, base, iframe)").count()).toBe(
      0,
    );
    expect(await shown().locator('a:not([href^="#"])').count()).toBe(0);
    expect(await shown().evaluate<unknown>("globalThis.ran")).toBeUndefined();
    expect([alerts, asked.length]).toEqual([[], 1]);
  });

  test("controls and direction overrides are escapes, in names, values and texts", async (context) => {
    context.skip(!hasBrowser, NO_BROWSER);
    const told = await shown().locator("main").innerText();
    expect(told).toContain(String.raw`innocent\u202egnp.exe`);
    expect(told).toContain(String.raw`\u001b[31mred`);
    // oxlint-disable-next-line no-control-regex -- these are the ones that must not be there
    expect(told).not.toMatch(/[\u001b\u202a-\u202e\u2066-\u2069]/);
  });

  test("a line of a million characters shows its head, and more on request", async (context) => {
    context.skip(!hasBrowser, NO_BROWSER);
    const long = shown().locator("#conversation .long");
    expect(await long.innerText()).toContain("4,000 of 1,000,000 characters");
    await long.getByRole("button", { name: "Show more" }).click();
    expect(await long.innerText()).toContain("204,000 of 1,000,000 characters");
    await shown().locator("#changes summary", { hasText: "long" }).click();
    expect((await shown().locator("#changes .diff").innerText()).length).toBeLessThan(10_000);
  });

  test("ten thousand rows come a page at a time, by the keyboard", async (context) => {
    context.skip(!hasBrowser, NO_BROWSER);
    const rows = shown().locator("#changes .rows");
    expect(await rows.getByRole("status").innerText()).toBe("Rows 1 to 100 of 10,000");
    await rows.getByRole("button", { name: "Next" }).focus();
    await shown().keyboard.press("Enter");
    expect(await rows.getByRole("status").innerText()).toBe("Rows 101 to 200 of 10,000");
    await rows.getByRole("button", { name: "Last" }).press("Enter");
    expect(await rows.locator("tbody tr").last().innerText()).toContain("10000");
    const elements = await shown().evaluate<number>("document.querySelectorAll('*').length");
    expect(elements).toBeLessThan(5_000);
  });
});
