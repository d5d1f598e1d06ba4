import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { z } from "zod";
import { UpheldError } from "../core/errors.ts";
import { Digest } from "../core/ids.ts";
import { RootName } from "../core/locator.ts";
import { Timestamp } from "../core/timestamp.ts";

const FILE = "baseline.json";

const SavedBaseline = z
  .object({
    schemaVersion: z.literal(1),
    takenAt: Timestamp,
    roots: z
      .array(
        z
          .object({
            name: RootName,
            /** Where it lay on this host; observe can be told another place. */
            directory: z.string().min(1),
            digest: Digest,
          })
          .readonly(),
      )
      .readonly(),
    /** Databases by name; their addresses are never kept. */
    databases: z
      .array(z.object({ name: RootName, digest: Digest }).readonly())
      .readonly()
      .default([]),
  })
  .readonly();
/** A baseline on the disk: `baseline.json` and a folder a root. */
export type SavedBaseline = z.infer<typeof SavedBaseline>;

/** The folder in which the source of one root keeps its part. */
export function rootFolder(folder: string, name: string): string {
  return join(resolve(folder), "roots", name);
}

/** Makes the folder, or empties it of an earlier baseline. Throws "file_unwritable" where something else is there. */
export function prepareBaselineFolder(folder: string): void {
  const path = resolve(folder);
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    if (!existsSync(join(path, FILE)) && readdirSync(path).length > 0)
      throw new UpheldError(
        "file_unwritable",
        `${folder} holds something else; name a new folder for the baseline`,
      );
    rmSync(join(path, FILE), { force: true });
    rmSync(join(path, "roots"), { recursive: true, force: true });
  } catch (cause) {
    if (cause instanceof UpheldError) throw cause;
    throw new UpheldError(
      "file_unwritable",
      `the baseline folder ${folder} cannot be made: ${codeOf(cause)}`,
      { cause },
    );
  }
}

/** Writes what makes the folder a baseline, as the last step. */
export function sealBaselineFolder(folder: string, saved: SavedBaseline): void {
  const part = join(resolve(folder), "baseline.part");
  writeFileSync(part, `${JSON.stringify(saved, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(part, join(resolve(folder), FILE));
}

/** Reads what `upheld baseline` left. Throws "file_unreadable" where there is none, "state_invalid" where it cannot be read. */
export function readBaselineFolder(folder: string): SavedBaseline {
  let text: string;
  try {
    text = readFileSync(join(resolve(folder), FILE), "utf8");
  } catch (cause) {
    throw new UpheldError(
      "file_unreadable",
      `no baseline is in ${folder} (${codeOf(cause)}): upheld baseline --save ${folder} makes one`,
      { cause },
    );
  }
  try {
    return SavedBaseline.parse(JSON.parse(text));
  } catch (cause) {
    throw new UpheldError("state_invalid", `${folder}/${FILE} cannot be read`, { cause });
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}
