import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { UpheldError } from "../../core/errors.ts";

const Whole = z.string().regex(/^\d+$/);

/** What a later process needs to know of an isolated run: `isolation.json` in its state folder. */
export const IsolationRecord = z
  .object({
    schemaVersion: z.literal(1),
    runId: z.string(),
    /** When the overlay was made, by the clock of the state folder's file system, in ns since 1970. */
    startedNs: Whole,
    /** Which start of the machine: the upper layer is not written through, so a crash may have cut it. */
    bootId: z.string(),
    ownerPid: z.int(),
    namespaces: z.enum(["user", "root"]),
    uid: z.int(),
    gid: z.int(),
    unshare: z.string(),
    overlayOptions: z.string(),
    roots: z
      .array(z.object({ name: z.string(), dir: z.string(), dev: Whole, ino: Whole }).readonly())
      .readonly(),
  })
  .readonly();
export type IsolationRecord = z.infer<typeof IsolationRecord>;

/** The folder of one run. Throws "argument_invalid" for an id that is not a plain file name. */
export function runFolder(stateDir: string, runId: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(runId)) {
    throw new UpheldError(
      "argument_invalid",
      "the run id must be letters, digits, dots, hyphens or underscores, at most 128",
    );
  }
  return join(stateDir, runId);
}

/** Writes the record whole or not at all. */
export function writeRecord(folder: string, record: IsolationRecord): void {
  const part = join(folder, "isolation.part");
  writeFileSync(part, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(part, join(folder, "isolation.json"));
}

/** Reads the record of a run. Throws "run_unknown" where there is none, "state_invalid" where it cannot be read. */
export function readRecord(folder: string, runId: string): IsolationRecord {
  let text: string;
  try {
    text = readFileSync(join(folder, "isolation.json"), "utf8");
  } catch (cause) {
    throw new UpheldError("run_unknown", `no isolated run "${runId}" is kept`, { cause });
  }
  try {
    return IsolationRecord.parse(JSON.parse(text));
  } catch (cause) {
    throw new UpheldError("state_invalid", `the state of run "${runId}" cannot be read`, { cause });
  }
}

/** Which start of the machine this is; empty where the kernel does not say. */
export function currentBootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}
