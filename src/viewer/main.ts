import { isUpheldError } from "../core/errors.ts";
import { byteSource, type ByteSource } from "../evidence/reader.ts";
import { tarReader } from "../evidence/tar-reader.ts";
import { element } from "./element.ts";
import { embeddedBundle } from "./embedded-bundle.ts";
import { isSuite, openRun, verifyEither } from "./open-evidence.ts";
import { previewSection } from "./preview.ts";
import { runPage } from "./run-page.ts";
import { failedBanner, intactBanner, refusedBanner, waitingBanner } from "./seal-banner.ts";
import { suitePage } from "./suite-page.ts";

/** Keys by which the reader wants signatures checked; those in the page were named by who wrote the page, never by a bundle. */
const pems: string[] = (document.querySelector("#keys")?.textContent ?? "")
  .split(/(?<=-----END PUBLIC KEY-----)\s*/)
  .filter((pem) => pem.trim() !== "");

let shown: ByteSource | undefined;

function stage(): HTMLElement {
  const found = document.querySelector("main");
  if (found === null) throw new TypeError("the page has no main element");
  return found;
}

/** Verifies the bundle and shows it; of one that is not intact, only that. */
async function show(source: ByteSource, meanwhile: readonly HTMLElement[]): Promise<void> {
  if (meanwhile.length === 0) stage().replaceChildren(waitingBanner());
  else stage().replaceChildren(...meanwhile);
  await painted();
  const reader = tarReader(source);
  const intact = await verifyEither(reader, pems);
  if (!intact.ok) {
    stage().replaceChildren(refusedBanner(intact), tools());
    return;
  }
  const banner = intactBanner(intact);
  if (isSuite(intact)) {
    document.title = `${intact.statement.predicate.run.suite ?? "A suite"} - upheld`;
    stage().replaceChildren(banner, suitePage(intact, reader), tools());
    return;
  }
  const opened = await openRun(reader, intact.statement);
  document.title = `${opened.record.run.runId} - upheld`;
  stage().replaceChildren(banner, ...runPage(opened), tools());
}

/** Lets the browser draw what is there before more is worked out. */
function painted(): Promise<void> {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

/** What stands there until the bundle is verified. */
function preview(): readonly HTMLElement[] {
  const section = previewSection();
  return section === null ? [] : [waitingBanner(), section];
}

async function showOrSay(
  source: ByteSource,
  meanwhile: readonly HTMLElement[] = [],
): Promise<void> {
  shown = source;
  try {
    await show(source, meanwhile);
  } catch (error) {
    const message = isUpheldError(error) ? error.message : "the page failed while reading it";
    stage().replaceChildren(failedBanner(message), tools());
    if (!isUpheldError(error)) throw error;
  }
}

/** What a reader can bring along: another bundle, or a key. Neither leaves the page. */
function tools(): HTMLElement {
  return element(
    "footer",
    { class: "tools" },
    chooser("key", "Check signatures by a key of yours:", async (file) => {
      pems.push(await file.text());
      if (shown !== undefined) await showOrSay(shown);
    }),
    chooser("file", "Open another bundle:", async (file) =>
      showOrSay(byteSource(new Uint8Array(await file.arrayBuffer()))),
    ),
    element("p", {}, "What you choose stays on this machine: the page cannot send anything."),
  );
}

function chooser(id: string, label: string, open: (file: File) => Promise<void>): HTMLElement {
  const input = element("input", { type: "file", id });
  input.addEventListener("change", () => {
    const [file] = input.files ?? [];
    if (file !== undefined) void open(file);
  });
  return element("p", {}, element("label", { for: id }, label), " ", input);
}

document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
  event.preventDefault();
  const [file] = event.dataTransfer?.files ?? [];
  if (file !== undefined)
    void file.arrayBuffer().then((bytes) => showOrSay(byteSource(new Uint8Array(bytes))));
});

// The bundle comes last in the page: what is known without it is shown while it is read.
stage().replaceChildren(...preview());
document.addEventListener("DOMContentLoaded", () => {
  const source = embeddedBundle();
  if (source === undefined) stage().replaceChildren(tools());
  else void showOrSay(source, preview());
});
