import { createReadStream, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { UpheldError } from "../../core/errors.ts";
import { namespaceArguments, runTool, viewOptions } from "./namespace.ts";
import type { IsolationRecord } from "./record-file.ts";

const Big = z
  .string()
  .regex(/^-?\d+$/)
  .transform(BigInt);

const LayerStat = z
  .object({
    type: z.enum(["file", "directory", "link", "fifo", "socket", "device"]),
    dev: Big,
    ino: Big,
    rdev: Big,
    /** Permission bits, 12 of them. */
    mode: z.int(),
    links: z.int(),
    sizeBytes: Big,
    allocatedBytes: Big,
    modifiedNs: Big,
    changedNs: Big,
  })
  .readonly();
/** What one layer holds under a name. */
export type LayerStat = z.output<typeof LayerStat>;

const Line = z.union([
  z.object({ end: z.enum(["complete", "limit"]) }),
  z.object({
    kind: z.literal("present"),
    path: z.string(),
    upper: LayerStat,
    lower: LayerStat.optional(),
    hides: z.boolean().optional(),
  }),
  z.object({ kind: z.literal("removed"), path: z.string(), lower: LayerStat }),
  z.object({ kind: z.literal("unlisted"), path: z.string(), code: z.string() }),
]);

/** One name that the run wrote or removed. `path` is the bytes below the root, "/" between names; empty for the root itself. */
export type WriteSetEntry =
  | {
      readonly kind: "present";
      readonly path: Buffer;
      /** What the upper layer holds; the content is at `path` below `WriteSet.upperDir`. */
      readonly upper: LayerStat;
      /** What the real tree held under that name when it was listed; absent for a new name. */
      readonly lower: LayerStat | undefined;
      /** A directory made anew in place of another: nothing of the real one shows through it. */
      readonly hides: boolean;
    }
  | { readonly kind: "removed"; readonly path: Buffer; readonly lower: LayerStat };

/** A directory whose content could not be listed: what was removed or written in it is not known. */
export interface Unlisted {
  readonly path: Buffer;
  /** The errno's name. */
  readonly code: string;
}

/** All that a run wrote below one root. Parents come before their children. */
export interface WriteSet {
  readonly rootName: string;
  /** The directory that holds the new content of every entry that is present. */
  readonly upperDir: string;
  /** An entry whose `lower.changedNs` is later was changed by someone else during the run. */
  readonly startedNs: bigint;
  readonly entries: readonly WriteSetEntry[];
  readonly unlisted: readonly Unlisted[];
  /** True where `maxEntries` ended the listing: entries are missing, how many is not known. */
  readonly limitReached: boolean;
}

export interface WriteSetOptions {
  readonly signal?: AbortSignal | undefined;
  /** Entries listed at most. */
  readonly maxEntries: number;
}

/**
 * Lists the upper layer of one root once the agent has ended. The first whole listing is kept as
 * `write-set.jsonl`, with the real tree's figures as they then were: what `apply` later compares with.
 * Throws "state_invalid" where the layers cannot be seen any more.
 */
export async function readWriteSet(
  folder: string,
  record: IsolationRecord,
  index: number,
  { signal, maxEntries }: WriteSetOptions,
): Promise<WriteSet> {
  const name = record.roots[index]?.name ?? "";
  const rootFolder = join(folder, String(index));
  const kept = join(rootFolder, "write-set.jsonl");
  const part = join(rootFolder, "write-set.part");
  if (!existsSync(kept)) await list(rootFolder, record, { signal, maxEntries });
  const lines = await readLines(existsSync(kept) ? kept : part, maxEntries, signal);
  rmSync(part, { force: true });
  return {
    rootName: name,
    upperDir: join(rootFolder, "upper"),
    startedNs: BigInt(record.startedNs),
    ...lines,
  };
}

async function list(
  rootFolder: string,
  record: IsolationRecord,
  { signal, maxEntries }: WriteSetOptions,
): Promise<void> {
  const lister = fileURLToPath(new URL("./lister.mjs", import.meta.url));
  const { code, complaint } = await runTool(
    record.unshare,
    [
      ...namespaceArguments(record.namespaces, { processes: false }),
      process.execPath,
      lister,
      rootFolder,
      viewOptions(record.namespaces),
      String(maxEntries),
    ],
    { signal },
  );
  if (code !== 0) {
    throw new UpheldError("state_invalid", "the layers of the isolated run cannot be listed", {
      cause: new Error(complaint),
    });
  }
}

async function readLines(
  path: string,
  maxEntries: number,
  signal: AbortSignal | undefined,
): Promise<Pick<WriteSet, "entries" | "unlisted" | "limitReached">> {
  const entries: WriteSetEntry[] = [];
  const unlisted: Unlisted[] = [];
  let end: string | undefined;
  for await (const text of createInterface({
    input: createReadStream(path),
    crlfDelay: Infinity,
  })) {
    signal?.throwIfAborted();
    const line = Line.parse(JSON.parse(text));
    if ("end" in line) {
      end = line.end;
    } else if (line.kind === "unlisted") {
      unlisted.push({ path: Buffer.from(line.path, "base64"), code: line.code });
    } else if (entries.length >= maxEntries) {
      return { entries, unlisted, limitReached: true };
    } else {
      entries.push(entryOf(line));
    }
  }
  if (end === undefined) {
    throw new UpheldError("state_invalid", "the list of what the isolated run wrote is cut short");
  }
  return { entries, unlisted, limitReached: end === "limit" };
}

type EntryLine = Extract<z.output<typeof Line>, { readonly kind: "present" | "removed" }>;

function entryOf(line: EntryLine): WriteSetEntry {
  const path = Buffer.from(line.path, "base64");
  if (line.kind === "removed") return { kind: "removed", path, lower: line.lower };
  return {
    kind: "present",
    path,
    upper: line.upper,
    lower: line.lower,
    hides: line.hides === true,
  };
}
