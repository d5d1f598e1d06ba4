import { z } from "zod";
import type { Gap } from "./gap.ts";

/**
 * A value of a row as the server writes it, or null. An object where it is not simply that: of another type than its column,
 * cut (`sizeBytes` is how large it was), or not kept at all.
 */
export const WorldCell = z.union([
  z.string(),
  z.null(),
  z
    .object({
      value: z.string(),
      type: z.string().optional(),
      sizeBytes: z.int().min(0).optional(),
    })
    .readonly(),
  z.object({ notKept: z.literal(true) }).readonly(),
]);
export type WorldCell = z.infer<typeof WorldCell>;

/** A table as it is there: how many rows it has, and some of them: those that the question named, then others in the order of the key. */
export interface TableLook {
  readonly uri: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** The columns by which its rows are told apart; none where there are none. */
  readonly key: readonly string[];
  /** Absent where it could not be counted; a gap says why. */
  readonly rowsTotal?: number | undefined;
  /** The values of each row, in the order of the columns. */
  readonly rows: readonly (readonly WorldCell[])[];
}

/** What is there, whether the run changed it or not. Every table is named, also one that could not be read. */
export interface WorldLook {
  readonly tables: readonly TableLook[];
  readonly gaps: readonly Gap[];
}

export interface WorldQuestion {
  /** Texts that name rows by their keys: those rows come first. */
  readonly terms: readonly string[];
  /** The tables to read first, by their uris: the deadline may not leave time for all. */
  readonly first: readonly string[];
  /** Rows of a table that are wanted: so many named ones, and so many of the others. */
  readonly maxRows: number;
  /** Milliseconds that all of it may take. */
  readonly deadlineMs: number;
}

/** A source that can show what is there beside what changed. */
export interface WorldSource {
  /** Never rejects because the world cannot be read: that is a gap. Rejects with the signal's reason once it is aborted. */
  world(
    question: WorldQuestion,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<WorldLook>;
}
