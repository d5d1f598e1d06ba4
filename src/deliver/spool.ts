import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { canonicalJson } from "../core/canonical-json.ts";
import { UpheldError } from "../core/errors.ts";
import { Digest } from "../core/ids.ts";
import { readReceipt } from "../evidence/read-receipt.ts";
import type { Receipt } from "../evidence/receipt.ts";
import { makeFolder, spoolBlobs, syncFolder, type SpoolBlobs } from "./spool-blobs.ts";
import { lockSpool, type SpoolLock } from "./spool-lock.ts";
import { openLog, type SpoolLog } from "./spool-log.ts";

const QUEUE = "queue.jsonl";
const PROGRESS = "progress.jsonl";
const BLOBS = "artifacts";

const SpooledArtifact = z
  .object({ kind: z.string().min(1), digest: Digest, sizeBytes: z.int().min(0) })
  .readonly();
export type SpooledArtifact = z.infer<typeof SpooledArtifact>;

const QueueLine = z
  .object({
    schemaVersion: z.literal(1),
    sequence: z.int().min(1),
    to: z.string().min(1),
    /** The receipt's own text: its bytes are sent as they are kept. */
    receipt: z.string().min(1),
    artifacts: z.array(SpooledArtifact).readonly(),
  })
  .readonly();
type QueueLine = z.infer<typeof QueueLine>;

/** How an entry ended: received, refused for good, or overtaken by a newer attempt. */
export const SettledAs = z.enum(["delivered", "refused", "superseded"]);
export type SettledAs = z.infer<typeof SettledAs>;

const ProgressLine = z.discriminatedUnion("mark", [
  z
    .object({
      mark: z.literal("artifact_refused"),
      sequence: z.int(),
      digest: Digest,
      code: z.string(),
    })
    .readonly(),
  z
    .object({
      mark: z.literal("settled"),
      sequence: z.int(),
      as: SettledAs,
      code: z.string().optional(),
    })
    .readonly(),
]);
type ProgressLine = z.infer<typeof ProgressLine>;

/** What is to be sent of one attempt: its artifacts, and then the receipt that may name them. */
export interface SpoolEntry {
  readonly sequence: number;
  readonly to: string;
  readonly receipt: Receipt;
  readonly artifacts: readonly SpooledArtifact[];
  /** Artifacts that were refused for good, with the code. */
  readonly refused: ReadonlyMap<Digest, string>;
}

/** What is added: an artifact's pieces are read once. */
export interface SpoolAddition {
  readonly to: string;
  readonly receipt: Receipt;
  readonly artifacts: readonly (SpooledArtifact & { readonly pieces: Iterable<Uint8Array> })[];
}

/** Whether a folder is a spool. */
export function isSpool(folder: string): boolean {
  return existsSync(join(folder, QUEUE));
}

type Settled = Extract<ProgressLine, { mark: "settled" }>;

/** What waits to be sent, in a folder: it outlives this process, and one process at a time works on it. */
export class Spool implements Disposable {
  readonly #lock: SpoolLock;
  readonly #blobs: SpoolBlobs;
  readonly #queue: SpoolLog<QueueLine>;
  readonly #progress: SpoolLog<ProgressLine>;
  readonly #entries = new Map<number, SpoolEntry>();
  readonly #settled = new Map<number, Settled>();
  /** How many entries still want the bytes of a digest. */
  readonly #wanted = new Map<Digest, number>();

  /**
   * Opens a spool, and makes it where there is none. Throws "state_busy" while another process works on it, "state_invalid"
   * where it is damaged, and "file_unwritable" where it cannot be written.
   */
  constructor(folder: string) {
    makeFolder(folder);
    this.#lock = lockSpool(folder);
    try {
      const queue = openLog(join(folder, QUEUE), QueueLine);
      this.#queue = queue.log;
      const progress = openLog(join(folder, PROGRESS), ProgressLine);
      this.#progress = progress.log;
      this.#blobs = spoolBlobs(join(folder, BLOBS));
      for (const line of queue.lines) this.#enter(line);
      for (const line of progress.lines) this.#note(line);
      this.#blobs.keepOnly(new Set(this.#wanted.keys()));
      syncFolder(folder);
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  /**
   * Adds an entry; once this returns, it is on the disk whole. Throws "file_unwritable" on a full or read-only disk, and then
   * nothing was added.
   */
  add({ to, receipt, artifacts }: SpoolAddition): void {
    this.#lock.assertHeld();
    for (const { digest, pieces } of artifacts) this.#blobs.keep(digest, pieces);
    const line: QueueLine = {
      schemaVersion: 1,
      sequence: this.#entries.size + 1,
      to,
      receipt: canonicalJson(receipt),
      artifacts: artifacts.map(({ kind, digest, sizeBytes }) => ({ kind, digest, sizeBytes })),
    };
    this.#queue.append(line);
    this.#enter(line);
  }

  /** What is not settled, in the order in which it was added. */
  get waiting(): readonly SpoolEntry[] {
    return [...this.#entries.values()].filter(({ sequence }) => !this.#settled.has(sequence));
  }

  /** Entries refused for good, with the code. They and their artifacts are kept until the folder is deleted. */
  get refused(): readonly { readonly entry: SpoolEntry; readonly code: string }[] {
    return [...this.#settled.values()].flatMap(({ sequence, as, code = "" }) => {
      const entry = this.#entries.get(sequence);
      return as === "refused" && entry !== undefined ? [{ entry, code }] : [];
    });
  }

  /** Whether all was received that was ever added: then nothing would be lost with the folder. */
  get isDone(): boolean {
    return this.waiting.length === 0 && this.#wanted.size === 0 && this.refused.length === 0;
  }

  /** The bytes of an artifact, in pieces. */
  read(digest: Digest): AsyncIterable<Uint8Array> {
    return this.#blobs.read(digest);
  }

  /** Whether an artifact's bytes are here, all of them. */
  holds({ digest, sizeBytes }: SpooledArtifact): boolean {
    return this.#blobs.sizeOf(digest) === sizeBytes;
  }

  /** Notes that an artifact was refused for good. Its bytes stay. */
  refuseArtifact(sequence: number, digest: Digest, code: string): void {
    this.#record({ mark: "artifact_refused", sequence, digest, code });
  }

  /** Notes how an entry ended. What was received is removed. */
  settle(sequence: number, as: SettledAs, code?: string): void {
    this.#record({ mark: "settled", sequence, as, ...(code === undefined ? {} : { code }) });
  }

  [Symbol.dispose](): void {
    // Either may be missing where opening failed half way.
    this.#queue?.[Symbol.dispose]();
    this.#progress?.[Symbol.dispose]();
    this.#lock[Symbol.dispose]();
  }

  #enter(line: QueueLine): void {
    const entry = entryOf(line, this.#entries.size + 1);
    this.#entries.set(entry.sequence, entry);
    for (const { digest } of entry.artifacts)
      this.#wanted.set(digest, (this.#wanted.get(digest) ?? 0) + 1);
  }

  #record(line: ProgressLine): void {
    this.#lock.assertHeld();
    this.#progress.append(line);
    for (const digest of this.#note(line)) this.#blobs.remove(digest);
  }

  /** Takes a mark in, and says which bytes nobody wants any more. */
  #note(line: ProgressLine): readonly Digest[] {
    const entry = this.#entries.get(line.sequence);
    if (entry === undefined) throw damaged(`${PROGRESS} tells of an entry that ${QUEUE} lacks`);
    if (line.mark === "artifact_refused") {
      const refused = new Map([...entry.refused, [line.digest, line.code]]);
      this.#entries.set(line.sequence, { ...entry, refused });
      return [];
    }
    this.#settled.set(line.sequence, line);
    if (line.as === "refused") return [];
    const received = entry.artifacts.filter(({ digest }) => !entry.refused.has(digest));
    return received.flatMap(({ digest }) => this.#unwant(digest));
  }

  #unwant(digest: Digest): readonly Digest[] {
    const left = (this.#wanted.get(digest) ?? 1) - 1;
    if (left > 0) {
      this.#wanted.set(digest, left);
      return [];
    }
    this.#wanted.delete(digest);
    return [digest];
  }
}

function entryOf({ sequence, to, receipt, artifacts }: QueueLine, expected: number): SpoolEntry {
  if (sequence !== expected)
    throw damaged(`entry ${sequence} of ${QUEUE} stands where ${expected} belongs`);
  const reading = readReceipt(new TextEncoder().encode(receipt));
  if (!reading.ok) throw damaged(`entry ${sequence} of ${QUEUE} holds no receipt`);
  return { sequence, to, receipt: reading.receipt, artifacts, refused: new Map() };
}

function damaged(what: string): UpheldError {
  return new UpheldError("state_invalid", `the spool is damaged: ${what}`);
}

/** Removes a spool from which everything was received; says whether it did. */
export function removeSpool(folder: string): boolean {
  using spool = new Spool(folder);
  if (!spool.isDone) return false;
  rmSync(folder, { recursive: true, force: true });
  return true;
}
