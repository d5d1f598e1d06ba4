import { createReadStream } from "node:fs";
import { open, readFile, rename, rm, stat, type FileHandle } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { UpheldError } from "../core/errors.ts";
import type { BundleFile } from "../evidence/bundle.ts";
import { tarPieces } from "../evidence/tar.ts";
import { readRunRecord } from "../evidence/record/read-run.ts";
import { verifyBundle } from "../evidence/verify.ts";
import { reportOfRecord } from "../report/record-report.ts";
import { verdictPreview } from "../report/verdict-preview.ts";
import { nodeHasher } from "../store/hasher.ts";
import { openBundle } from "../store/open-bundle.ts";
import { readPublicPem } from "../store/key-file.ts";
import { systemCode } from "../store/system-code.ts";
import type { Command } from "./command.ts";
import { EXIT } from "./exit.ts";
import { onlyArgument, parseOptions } from "./options.ts";
import { KEY_OPTION } from "./verified-bundle.ts";

const OPTIONS = {
  out: { value: "FILE", help: "the page to write (default: the bundle's name and .html)" },
  key: { ...KEY_OPTION, help: "a public key (PEM) that the page checks the signatures by" },
};

/** Where the keys, the preview and the bundle go in the page that was built. */
const KEYS = "@@KEYS@@";
const PREVIEW = "@@PREVIEW@@";
const BUNDLE = "@@BUNDLE@@";

export const viewCommand: Command = {
  name: "view",
  summary: "Write a page that shows a bundle and verifies it: one file, which opens from a disk.",
  usage: ["upheld view BUNDLE [--key FILE]... [--out FILE]"],
  options: OPTIONS,
  examples: [["a page to send to somebody", "upheld view run.upheld --out run.html"]],
  async run(args, { terminal }) {
    const parsed = parseOptions(OPTIONS, args);
    const bundle = onlyArgument(parsed, "a bundle");
    const out = resolve(parsed.one("out") ?? `${bundle.replace(/[/\\]+$/, "")}.html`);
    const keys = parsed.many("key").map(readPublicPem);
    const given = { keys: keys.join(""), preview: await previewOf(bundle) };
    await writePage(out, given, piecesOf(bundle));
    terminal.out(`${pathToFileURL(out).href}\n`);
    return EXIT.asExpected;
  },
};

/** The verdicts in short, shown while a large bundle is verified; nothing of one that is not intact, or of a suite. */
async function previewOf(path: string): Promise<string> {
  await using bundle = await openBundle(path);
  const answer = await verifyBundle(bundle, { hasher: nodeHasher });
  if (!answer.ok) return "";
  const record = await readRunRecord(bundle, answer.statement, { hasher: nodeHasher });
  const text = JSON.stringify(verdictPreview(reportOfRecord(record).subGoals));
  return text.replaceAll("<", String.raw`\u003c`);
}

/** The bundle as one tar file, intact or not: the page says which. */
async function* piecesOf(path: string): AsyncGenerator<Uint8Array> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() !== true) {
    // Opening says why it cannot be read.
    await using _bundle = await openBundle(path);
    yield* createReadStream(path);
    return;
  }
  await using bundle = await openBundle(path);
  const listing = await bundle.list();
  if (!listing.ok)
    throw new UpheldError("bundle_invalid", `${path}: ${listing.reason} at ${listing.at}`);
  const files: BundleFile[] = [];
  for (const file of listing.files) files.push({ name: file.name, bytes: await bundle.read(file) });
  yield* tarPieces(files);
}

async function writePage(
  out: string,
  given: { readonly keys: string; readonly preview: string },
  pieces: AsyncIterable<Uint8Array>,
): Promise<void> {
  const template = await readFile(new URL("../viewer/page.html", import.meta.url), "utf8");
  const [top = "", tail = ""] = template.split(BUNDLE);
  const head = top.replace(KEYS, () => given.keys).replace(PREVIEW, () => given.preview);
  const partial = `${out}.part`;
  try {
    await using file = await openNew(partial, out);
    await file.appendFile(head);
    for await (const text of elementsOf(pieces)) await file.appendFile(text);
    await file.appendFile(tail);
    await file.sync();
    await rename(partial, out);
  } catch (error) {
    await rm(partial, { force: true });
    if (error instanceof Error && "syscall" in error) throw unwritable(out, error);
    throw error;
  }
}

async function openNew(partial: string, out: string): Promise<FileHandle> {
  await rm(partial, { force: true });
  return open(partial, "wx").catch((cause: unknown) => {
    throw unwritable(out, cause);
  });
}

function unwritable(out: string, cause: unknown): UpheldError {
  return new UpheldError("file_unwritable", `cannot write ${out}: ${systemCode(cause)}`, { cause });
}

/** Bytes of one element: a whole number of base64 groups. */
const ELEMENT_BYTES = 3 * 1024 * 1024;

/** The bundle as elements that a browser neither runs nor shows, so that the page decodes what it reads and no more. */
async function* elementsOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let held: Uint8Array[] = [];
  let size = 0;
  for await (const piece of pieces) {
    held.push(piece);
    size += piece.length;
    if (size < ELEMENT_BYTES) continue;
    const bytes = Buffer.concat(held);
    const whole = bytes.length - (bytes.length % ELEMENT_BYTES);
    for (let at = 0; at < whole; at += ELEMENT_BYTES)
      yield elementOf(bytes.subarray(at, at + ELEMENT_BYTES));
    held = [bytes.subarray(whole)];
    size = bytes.length - whole;
  }
  if (size > 0) yield elementOf(Buffer.concat(held));
}

function elementOf(bytes: Buffer): string {
  return `<script type="application/octet-stream" class="bundle">${bytes.toString("base64")}</script>\n`;
}
