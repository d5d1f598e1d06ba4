import { lstat, open, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { canonicalJson } from "../core/canonical-json.ts";
import { UpheldError } from "../core/errors.ts";
import { parseStrictJson } from "../core/strict-json.ts";
import { Judgment } from "./judgment.ts";

/** A file of judgments is read whole; a larger one is refused. */
const MAX_BYTES = 512 * 1024 * 1024;
const NEW_LINE = 0x0a;

/** Where the judgments over a bundle are kept: beside it, so that its digest stays what it is. */
export function judgmentFileOf(bundlePath: string): string {
  return `${bundlePath.replace(/[/\\]+$/, "")}.judgments.jsonl`;
}

/** Judgments that were kept. `unread` counts lines that are none: of a newer version, or cut off by a crash. */
export interface StoredJudgments {
  readonly judgments: readonly Judgment[];
  readonly unread: number;
}

/** Reads a file of judgments; one that is not there holds none. Throws "file_unreadable". */
export async function readJudgments(path: string): Promise<StoredJudgments> {
  const text = await readText(path);
  // What stands behind the last line break was cut off while it was written.
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const judgments = lines.map(judgmentOf).filter((each) => each !== undefined);
  return { judgments, unread: lines.length - judgments.length };
}

async function readText(path: string): Promise<string> {
  try {
    const { size } = await lstat(path);
    if (size > MAX_BYTES)
      throw new UpheldError("file_unreadable", `${path} has ${size} bytes, at most ${MAX_BYTES}`);
    return await readFile(path, "utf8");
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return "";
    if (cause instanceof UpheldError) throw cause;
    throw new UpheldError("file_unreadable", `cannot read ${path}: ${codeOf(cause)}`, { cause });
  }
}

function judgmentOf(line: string): Judgment | undefined {
  try {
    const parsed = Judgment.safeParse(parseStrictJson(line));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Adds judgments, a line each, and returns once they are on the disk. Nothing that stands there is changed; a last line that a
 * crash cut off is closed first. Throws "file_unwritable".
 */
export async function appendJudgments(path: string, judgments: readonly Judgment[]): Promise<void> {
  if (judgments.length === 0) return;
  const lines = judgments.map((each) => `${canonicalJson(Judgment.parse(each))}\n`).join("");
  try {
    await using file = await open(path, "a+", 0o600);
    const { size } = await file.stat();
    const torn = size > 0 && (await lastByte(file, size)) !== NEW_LINE;
    await file.appendFile(torn ? `\n${lines}` : lines);
    await file.sync();
    if (size === 0) await syncFolder(path);
  } catch (cause) {
    throw new UpheldError("file_unwritable", `cannot write ${path}: ${codeOf(cause)}`, { cause });
  }
}

async function lastByte(file: Awaited<ReturnType<typeof open>>, size: number): Promise<number> {
  const { buffer } = await file.read(new Uint8Array(1), 0, 1, size - 1);
  return buffer[0] ?? NEW_LINE;
}

/** Makes a new file's name last. Windows has no such thing. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  await using folder = await open(dirname(path), "r");
  await folder.sync();
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && "code" in cause ? String(cause.code) : "unknown";
}
