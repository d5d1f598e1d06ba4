import { parentPort, workerData } from "node:worker_threads";
import { isUpheldError } from "../../../core/errors.ts";
import type { WorldLook } from "../../../core/world.ts";
import { copySqlite, type CopyResult } from "./copy.ts";
import { diffSqlite, sqliteCode, type DiffResult, type DiffTask } from "./diff.ts";
import { sqliteDriver } from "./driver.ts";
import { readSqliteWorld, type WorldTask } from "./world.ts";

/** What the thread does: one thing, then it ends. A statement cannot be stopped within its thread, so the thread is. */
export type SqliteTask =
  | { readonly kind: "copy"; readonly file: string; readonly folder: string }
  | ({ readonly kind: "diff" } & DiffTask)
  | ({ readonly kind: "world" } & WorldTask);

export type SqliteResult =
  | { readonly kind: "copy"; readonly result: CopyResult }
  | { readonly kind: "diff"; readonly result: DiffResult }
  | { readonly kind: "world"; readonly result: WorldLook }
  | { readonly kind: "unreadable"; readonly code: string }
  | { readonly kind: "package_missing"; readonly message: string };

// Given by the engine that starts this thread.
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
if (parentPort !== null) parentPort.postMessage(perform(workerData as SqliteTask));

function perform(task: SqliteTask): SqliteResult {
  try {
    switch (task.kind) {
      case "copy":
        return { kind: "copy", result: copySqlite(task.file, task.folder) };
      case "diff":
        return { kind: "diff", result: diffSqlite(sqliteDriver(), task) };
      case "world":
        return { kind: "world", result: readSqliteWorld(sqliteDriver(), task) };
    }
  } catch (error) {
    if (isUpheldError(error)) return { kind: "package_missing", message: error.message };
    return { kind: "unreadable", code: sqliteCode(error) };
  }
}
