import { createReadStream, mkdirSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";
import { UpheldError } from "../../core/errors.ts";
import { Digest } from "../../core/ids.ts";
import { Timestamp } from "../../core/timestamp.ts";
import type { StoredTable } from "./row-digest.ts";

const FILE = "digests.jsonl";

const Head = z.object({
  schemaVersion: z.literal(1),
  digest: Digest,
  takenAt: Timestamp,
  tables: z.int().min(0),
});

const TableHead = z.object({
  id: z.string(),
  uri: z.string(),
  definition: z.string(),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  key: z.array(z.string()),
  /** False where its rows were not read. */
  stored: z.boolean(),
  rows: z.int().min(0),
});

const RowLine = z.tuple([z.string(), z.union([z.string(), z.int().min(1)])]);

/** A table without its rows. */
export type TableOutline = Omit<StoredTable, "rows" | "counts">;

export interface DigestFile {
  readonly digest: Digest;
  readonly takenAt: Timestamp;
  readonly tables: readonly TableOutline[];
  readonly stored: ReadonlyMap<string, StoredTable>;
}

/** Writes digests a line a row: a head, then for each table its outline and its rows. */
export async function saveDigests(folder: string, file: DigestFile): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const part = join(resolve(folder), `${FILE}.part`);
  const handle = await open(part, "w", 0o600);
  try {
    for (const block of blocksOf(file)) await handle.appendFile(block);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(part, join(resolve(folder), FILE));
}

const BLOCK_LENGTH = 1_000_000;

function* blocksOf(file: DigestFile): Generator<string> {
  let block = "";
  for (const line of linesOf(file)) {
    block += `${JSON.stringify(line)}\n`;
    if (block.length < BLOCK_LENGTH) continue;
    yield block;
    block = "";
  }
  yield block;
}

function* linesOf({ digest, takenAt, tables, stored }: DigestFile): Generator {
  yield { schemaVersion: 1, digest, takenAt, tables: tables.length };
  for (const { id, uri, definition, columns, key } of tables) {
    const found = stored.get(id);
    const rows = (found?.rows.size ?? 0) + (found?.counts.size ?? 0);
    yield { id, uri, definition, columns, key, stored: found !== undefined, rows };
    yield* found?.rows ?? [];
    yield* found?.counts ?? [];
  }
}

/** Reads what `saveDigests` wrote. Throws "state_invalid" where it is missing, cut or of another form. */
export async function openDigests(folder: string): Promise<DigestFile> {
  const lines = createInterface({ input: createReadStream(join(resolve(folder), FILE)) });
  const next = lines[Symbol.asyncIterator]();
  const read = async (): Promise<unknown> => {
    const { value, done } = await next.next();
    if (done === true) throw new Error("it was cut");
    return JSON.parse(value);
  };
  try {
    const head = Head.parse(await read());
    const tables: TableOutline[] = [];
    const stored = new Map<string, StoredTable>();
    for (let index = 0; index < head.tables; index += 1) {
      const { stored: isStored, rows: count, ...outline } = TableHead.parse(await read());
      tables.push(outline);
      const rows = await readRows(read, count);
      if (isStored) stored.set(outline.id, { ...outline, ...rows });
    }
    return { digest: head.digest, takenAt: head.takenAt, tables, stored };
  } catch (cause) {
    throw new UpheldError("state_invalid", "the stored digests of a database cannot be read", {
      cause,
    });
  } finally {
    lines.close();
  }
}

async function readRows(
  read: () => Promise<unknown>,
  count: number,
): Promise<Pick<StoredTable, "rows" | "counts">> {
  const rows = new Map<string, string>();
  const counts = new Map<string, number>();
  for (let row = 0; row < count; row += 1) {
    const [name, value] = RowLine.parse(await read());
    if (typeof value === "string") rows.set(name, value);
    else counts.set(name, value);
  }
  return { rows, counts };
}
