import { createHash } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { gap } from "../../core/gap.ts";
import { readCallLine } from "./call-line.ts";
import { LineSplitter } from "./lines.ts";
import { CallBudget, GapList, type CallLimits } from "./recording.ts";
import type { CallRecorder, IdentifiedSighting, Recording } from "./recording.ts";

/** The name of this recorder, and where its gaps are located. */
export const CALLS_FILE = "calls-file";
const PLACE = `calls:/${CALLS_FILE}`;

/** The longest line that is read, and the most of a file. */
export const MAX_CALL_LINE_BYTES = 16_777_216;
const MAX_FILE_BYTES = 1_073_741_824;
/** So many lines that are none, and the rest of the file is not looked at. */
const MAX_BAD_LINES = 10_000;
const CHUNK_BYTES = 1_048_576;

/** A calls file, and what stood in it before the run. */
export interface CallsFile extends CallRecorder {
  /** Remembers what is in the file, so that only what the run adds counts as its calls. */
  mark(): Promise<void>;
}

interface Before {
  readonly sizeBytes: number;
  readonly digest: string;
}

/**
 * A JSONL file that the agent, or a proxy, writes: one call a line. Present and well-formed it is complete, even when empty.
 * Gaps: "evidence_kind_missing" where it is not there or nothing was added to older content, "call_truncated" for a line that
 * was cut, "trace_incomplete" for one that is no call.
 */
export function callsFile(path: string, limits: CallLimits): CallsFile {
  let before: Before | undefined;
  return {
    name: CALLS_FILE,
    kind: CALLS_FILE,
    async mark() {
      before = await contentBefore(path);
    },
    async read({ signal }) {
      const opened = await openFile(path);
      if ("reason" in opened) return missing(opened.reason);
      const { handle, stats } = opened;
      try {
        const from = before === undefined ? 0 : await oldPart(handle, before);
        if (from > 0 && from === stats.size)
          return missing("it was there before the run, and nothing was added to it");
        return await readCalls(handle, from, { limits, signal });
      } catch (error) {
        signal?.throwIfAborted();
        return missing(codeOf(error));
      } finally {
        await handle.close();
      }
    },
  };
}

function missing(reason: string): Recording {
  const remedy = "Let the agent write the file that --calls names, one call a line.";
  const gaps = [gap("evidence_kind_missing", PLACE, { detail: reason, remedy })];
  return { complete: false, gaps, sightings: [], total: 0 };
}

async function openFile(
  path: string,
): Promise<{ readonly handle: FileHandle; readonly stats: Stats } | { readonly reason: string }> {
  try {
    // The agent may have put a link or a pipe there: neither is followed, nor waited for.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const handle = await open(path, flags);
    const stats = await handle.stat();
    if (stats.isFile()) return { handle, stats };
    await handle.close();
    return { reason: "it is no regular file" };
  } catch (error) {
    return { reason: codeOf(error) };
  }
}

function codeOf(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error
    ? String(error.code)
    : "it could not be read";
}

async function contentBefore(path: string): Promise<Before | undefined> {
  const opened = await openFile(path);
  if ("reason" in opened) return undefined;
  const { handle, stats } = opened;
  try {
    return { sizeBytes: stats.size, digest: await digestOfHead(handle, stats.size) };
  } finally {
    await handle.close();
  }
}

/** How many bytes at the beginning are from before the run, also where the file was written anew. */
async function oldPart(handle: FileHandle, { sizeBytes, digest }: Before): Promise<number> {
  return (await digestOfHead(handle, sizeBytes)) === digest ? sizeBytes : 0;
}

async function digestOfHead(handle: FileHandle, sizeBytes: number): Promise<string> {
  const hash = createHash("sha256");
  let left = sizeBytes;
  for await (const chunk of chunksOf(handle, 0)) {
    hash.update(chunk.subarray(0, left));
    left -= chunk.length;
    if (left <= 0) break;
  }
  // A file that became shorter does not begin with what it was.
  return left > 0 ? "shorter" : hash.digest("hex");
}

async function* chunksOf(handle: FileHandle, from: number): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  for (let at = from; ;) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

interface Reading {
  readonly limits: CallLimits;
  readonly signal?: AbortSignal | undefined;
}

async function readCalls(
  handle: FileHandle,
  from: number,
  { limits, signal }: Reading,
): Promise<Recording> {
  const lines = new CallLines(limits);
  const splitter = new LineSplitter(MAX_CALL_LINE_BYTES, (line, isCut) => lines.take(line, isCut));
  let readBytes = 0;
  for await (const chunk of chunksOf(handle, from)) {
    signal?.throwIfAborted();
    splitter.push(chunk);
    readBytes += chunk.length;
    if (readBytes >= MAX_FILE_BYTES) {
      lines.stop(`only its first ${readBytes} bytes were read`);
      break;
    }
    if (lines.isHopeless) {
      lines.stop(`more than ${MAX_BAD_LINES} lines are no calls; it was not read to its end`);
      break;
    }
  }
  splitter.end();
  return lines.recording();
}

/** The calls of the lines so far. */
class CallLines {
  readonly #limits: CallLimits;
  readonly #budget: CallBudget;
  readonly #sightings: IdentifiedSighting[] = [];
  readonly #gaps = new GapList();
  #total = 0;
  #number = 0;
  #bad = 0;

  constructor(limits: CallLimits) {
    this.#limits = limits;
    this.#budget = new CallBudget(limits);
  }

  get isHopeless(): boolean {
    return this.#bad > MAX_BAD_LINES;
  }

  take(line: Uint8Array, isCut: boolean): void {
    this.#number += 1;
    if (this.isHopeless) return;
    const text = new TextDecoder().decode(line);
    if (text.trim() === "") return;
    const context = { recorder: CALLS_FILE, sequence: this.#number, budget: this.#budget };
    const read = isCut ? ({ kind: "cut" } as const) : readCallLine(text, context);
    const place = `${PLACE}/line/${this.#number}`;
    if (read.kind !== "call") this.#bad += 1;
    switch (read.kind) {
      case "call":
        this.#total += 1;
        if (this.#sightings.length < this.#limits.maxCalls) this.#sightings.push(read.call);
        return;
      case "cut":
        this.#gaps.push(gap("call_truncated", place, { detail: "the line is cut" }));
        return;
      case "gap":
      case "other":
        this.#gaps.push(gap("trace_incomplete", place, { detail: read.detail }));
    }
  }

  stop(detail: string): void {
    this.#gaps.push(gap("trace_incomplete", PLACE, { detail }));
  }

  recording(): Recording {
    return {
      complete: true,
      gaps: this.#gaps.folded(),
      sightings: inTime(this.#sightings),
      total: this.#total,
    };
  }
}

/** A line is written when its call begins, or when it ends: times tell better, where every line has one. */
function inTime(lines: readonly IdentifiedSighting[]): readonly IdentifiedSighting[] {
  const starts = lines.map(({ sighting }) => sighting.startedAt);
  if (starts.includes(undefined)) return lines;
  return lines
    .toSorted(({ sighting: a }, { sighting: b }) =>
      a.startedAt === b.startedAt
        ? a.sequence - b.sequence
        : (a.startedAt ?? "") < (b.startedAt ?? "")
          ? -1
          : 1,
    )
    .map(({ id, sighting }, sequence) => ({ id, sighting: { ...sighting, sequence } }));
}
