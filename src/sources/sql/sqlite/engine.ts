import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { z } from "zod";
import { UpheldError } from "../../../core/errors.ts";
import { gap, type Gap } from "../../../core/gap.ts";
import { Digest } from "../../../core/ids.ts";
import { Timestamp, timestampOf } from "../../../core/timestamp.ts";
import type { LookLimits, SqlDelta } from "../delta.ts";
import type { SqlBaseline, SqlEngine } from "../engine.ts";
import { sha256 } from "../place.ts";
import type { CopyResult } from "./copy.ts";
import type { DiffResult } from "./diff.ts";
import { sqliteDriver } from "./driver.ts";
import { KeptCopy } from "./kept-copy.ts";
import { inThread } from "./thread.ts";
import type { SqliteResult } from "./worker.ts";

export interface SqliteOptions {
  readonly root: string;
  readonly file: string;
  /** Where copies are kept while they are needed; default the directory for temporary files. */
  readonly folder?: string | undefined;
  readonly keepsMoment: boolean;
}

interface SqliteBaseline extends SqlBaseline {
  /** The folder with the copy; the copy is missing where there was no database. */
  readonly copy: {
    readonly folder: string;
    readonly file: string | undefined;
    readonly isOpen: boolean;
  };
}

const Saved = z.object({
  schemaVersion: z.literal(1),
  digest: Digest,
  takenAt: Timestamp,
  exists: z.boolean(),
  isOpen: z.boolean(),
});

/** A SQLite file. It is copied with what belongs to it, and only copies are opened: looking leaves nothing beside it. */
export function sqliteEngine(options: SqliteOptions): SqlEngine {
  const file = resolve(options.file);
  const kept = new KeptCopy(options.root);
  const keep = options.keepsMoment ? kept.take : undefined;
  return {
    name: "sqlite",
    async baseline(_attribution, signal) {
      // Said before the agent starts, not after.
      sqliteDriver();
      const folder = await scratch(options);
      const result = await copyOf(file, folder, signal);
      if (result.kind !== "copied" && result.kind !== "missing") {
        await rm(folder, { recursive: true, force: true });
        throw new UpheldError(
          "database_unavailable",
          `the database ${options.root}: ${told(result)}`,
        );
      }
      const digest = Digest.parse(
        `sha256:${result.kind === "copied" ? result.digest : sha256("")}`,
      );
      const kept = result.kind === "copied" ? result.file : undefined;
      const copy = { folder, file: kept, isOpen: result.kind === "copied" && result.isOpen };
      return baselineOf(
        copy,
        { digest, takenAt: timestampOf(BigInt(Date.now()) * 1_000_000n) },
        true,
      );
    },
    nothing() {
      const takenAt = timestampOf(BigInt(Date.now()) * 1_000_000n);
      const known = { digest: Digest.parse(`sha256:${sha256("")}`), takenAt };
      return baselineOf({ folder: "", file: undefined, isOpen: false }, known, false);
    },
    async save(baseline, folder) {
      const { copy } = sqliteBaseline(baseline);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      if (copy.file !== undefined) await cp(copy.folder, join(folder, "copy"), { recursive: true });
      const { digest, takenAt } = baseline;
      const saved = {
        schemaVersion: 1,
        digest,
        takenAt,
        exists: copy.file !== undefined,
        isOpen: copy.isOpen,
      };
      writeFileSync(join(folder, "sqlite.json"), `${JSON.stringify(saved)}\n`, { mode: 0o600 });
    },
    open: (folder) => openSaved(resolve(folder)),
    observe(baseline, limits, signal) {
      const before = baseline === undefined ? undefined : sqliteBaseline(baseline);
      return look({ ...options, keep }, before, limits, signal);
    },
    world: (question, signal) => kept.world(question, signal),
    [Symbol.asyncDispose]: () => Promise.resolve(kept[Symbol.dispose]()),
  };
}

async function openSaved(folder: string): Promise<SqliteBaseline> {
  try {
    const saved = Saved.parse(JSON.parse(readFileSync(join(folder, "sqlite.json"), "utf8")));
    const file = saved.exists ? join(folder, "copy", "copy.db") : undefined;
    return baselineOf({ folder: join(folder, "copy"), file, isOpen: saved.isOpen }, saved, false);
  } catch (cause) {
    throw new UpheldError("state_invalid", "the stored copy of a database cannot be read", {
      cause,
    });
  }
}

function baselineOf(
  copy: SqliteBaseline["copy"],
  { digest, takenAt }: Pick<SqlBaseline, "digest" | "takenAt">,
  isOurs: boolean,
): SqliteBaseline {
  return {
    copy,
    digest,
    takenAt,
    method: "baseline",
    [Symbol.asyncDispose]: async () => {
      if (isOurs) await rm(copy.folder, { recursive: true, force: true });
    },
  };
}

function sqliteBaseline(baseline: SqlBaseline): SqliteBaseline {
  if (!("copy" in baseline)) throw new UpheldError("internal", "a baseline of another kind");
  return baseline as SqliteBaseline;
}

async function look(
  options: SqliteOptions & { readonly keep: KeptCopy["take"] | undefined },
  before: SqliteBaseline | undefined,
  { maxRows }: LookLimits,
  signal: AbortSignal | undefined,
): Promise<SqlDelta> {
  const folder = await scratch(options);
  let isKept = false;
  try {
    const now = await copyOf(resolve(options.file), folder, signal);
    if (now.kind === "copied" || now.kind === "missing") {
      isKept = options.keep !== undefined;
      options.keep?.({ folder, file: now.kind === "copied" ? now.file : undefined });
    }
    return await compare(options, before, now, { maxRows, signal });
  } finally {
    if (!isKept) rmSync(folder, { recursive: true, force: true });
  }
}

async function compare(
  options: SqliteOptions,
  before: SqliteBaseline | undefined,
  now: CopyResult,
  { maxRows, signal }: LookLimits & { readonly signal: AbortSignal | undefined },
): Promise<SqlDelta> {
  const { root } = options;
  if (now.kind !== "copied" && now.kind !== "missing") return gone(root, now);
  if (before === undefined) return missing(root);
  // A copy of the copy, since opening writes beside it and a baseline may be asked twice.
  const old = await scratch(options);
  try {
    const { copy } = before;
    if (copy.file !== undefined) await cp(copy.folder, old, { recursive: true });
    const files = {
      before: copy.file === undefined ? undefined : join(old, "copy.db"),
      now: now.kind === "copied" ? now.file : undefined,
    };
    const found = await inThread({ kind: "diff", root, maxRows, ...files }, signal);
    if (found.kind === "package_missing") throw new UpheldError("package_missing", found.message);
    if (found.kind !== "diff") return gone(root, found);
    return deltaOf(root, before, now, found.result);
  } finally {
    rmSync(old, { recursive: true, force: true });
  }
}

function missing(root: string): SqlDelta {
  return { ...NOTHING, readBytes: 0, method: "none", gaps: [gap("baseline_missing", `${root}:/`)] };
}

function deltaOf(
  root: string,
  { copy, digest }: SqliteBaseline,
  now: CopyResult,
  found: DiffResult,
): SqlDelta {
  const gaps = [...openGaps(root, copy.isOpen || isOpen(now)), ...found.gaps];
  const readBytes = now.kind === "copied" ? now.bytes : 0;
  return { ...found, method: "baseline", baseline: digest, readBytes, gaps };
}

function isOpen(copied: CopyResult): boolean {
  return copied.kind === "copied" && copied.isOpen;
}

function openGaps(root: string, open: boolean): readonly Gap[] {
  return open ? [gap("transaction_open", `${root}:/`)] : [];
}

const NOTHING = { entries: [], hidden: 0, tables: 0, metadata: {} };

type Unread = Exclude<CopyResult, { kind: "copied" | "missing" }> | SqliteResult;

function gone(root: string, why: Unread): SqlDelta {
  const code = why.kind === "changing" ? "changed_during_read" : "database_unavailable";
  const gaps = [gap(code, `${root}:/`, { detail: told(why) })];
  return { ...NOTHING, method: "none", readBytes: 0, gaps };
}

function told(why: Unread): string {
  if (why.kind === "changing") return "it is written to all the time";
  return "code" in why ? `it cannot be read (${why.code})` : why.kind;
}

async function copyOf(
  file: string,
  folder: string,
  signal: AbortSignal | undefined,
): Promise<CopyResult> {
  const done = await inThread({ kind: "copy", file, folder }, signal);
  if (done.kind === "copy") return done.result;
  return { kind: "unreadable", code: done.kind === "unreadable" ? done.code : done.kind };
}

async function scratch({ folder }: SqliteOptions): Promise<string> {
  if (folder === undefined) return mkdtemp(join(tmpdir(), "upheld-sqlite-"));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return mkdtempSync(join(folder, "sqlite-"));
}
