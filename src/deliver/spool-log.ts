import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeSync,
} from "node:fs";
import { basename } from "node:path";
import type { z } from "zod";
import { canonicalJson } from "../core/canonical-json.ts";
import { UpheldError } from "../core/errors.ts";
import { parseStrictJsonBytes } from "../core/strict-json.ts";
import { systemCode } from "../store/system-code.ts";

const NEWLINE = 0x0a;

/**
 * A file to which whole lines are added, each on the disk before `append` returns. A line that a killed writer left
 * without its end is cut off when the file is opened; damage before that is never touched.
 */
export interface SpoolLog<Line> extends Disposable {
  /** Throws "file_unwritable" where the system does not take the whole line; the file is then as before. */
  append(line: Line): void;
}

export interface OpenedLog<Line> {
  readonly lines: readonly Line[];
  readonly log: SpoolLog<Line>;
}

/** Opens a log and reads it. Throws "state_invalid" on a line that is no line of it, naming the place. */
export function openLog<Line>(path: string, schema: z.ZodType<Line>): OpenedLog<Line> {
  const file = orUnwritable(path, () => openSync(path, "a+", 0o600));
  try {
    const bytes = readFileSync(path);
    const whole = bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1);
    const lines = linesOf(whole, schema, path);
    if (whole.length < bytes.length) orUnwritable(path, () => ftruncateSync(file, whole.length));
    return { lines, log: logOn(file, path) };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

function linesOf<Line>(bytes: Buffer, schema: z.ZodType<Line>, path: string): readonly Line[] {
  const lines: Line[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(NEWLINE, at);
    const parsed = schema.safeParse(valueOf(bytes.subarray(at, end)));
    if (!parsed.success)
      throw new UpheldError(
        "state_invalid",
        `${basename(path)}, line ${lines.length + 1}: it is damaged, so nothing is sent from it or added to it`,
      );
    lines.push(parsed.data);
    at = end + 1;
  }
  return lines;
}

function valueOf(line: Uint8Array): unknown {
  try {
    return parseStrictJsonBytes(line);
  } catch {
    return undefined;
  }
}

function logOn<Line>(file: number, path: string): SpoolLog<Line> {
  return {
    append(line) {
      const before = fstatSync(file).size;
      try {
        writeAll(file, new TextEncoder().encode(`${canonicalJson(line)}\n`));
        fsyncSync(file);
      } catch (cause) {
        ftruncateSync(file, before);
        throw unwritable(path, cause);
      }
    },
    [Symbol.dispose]: () => closeSync(file),
  };
}

/** A full disk takes a part of what it is given and reports no error: only a loop sees it. */
export function writeAll(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) {
    const written = writeSync(file, bytes, at, bytes.length - at);
    if (written === 0) throw new Error("the system takes no more bytes");
    at += written;
  }
}

export function orUnwritable<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

function unwritable(path: string, cause: unknown): UpheldError {
  return new UpheldError(
    "file_unwritable",
    `the spool cannot keep ${basename(path)}: ${systemCode(cause)}`,
    { cause },
  );
}
