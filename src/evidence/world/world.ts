import { z } from "zod";
import { Change } from "../../core/change.ts";
import { Gap } from "../../core/gap.ts";
import { WorldCell } from "../../core/world.ts";

/**
 * A row and why it is shown: the run changed it, a call names its key, or it stands for the others. `now` and `before` hold its
 * values in the order of the table's columns; `before` is what a changed one held.
 */
export const WorldRow = z
  .object({
    why: z.enum(["changed", "named", "context"]),
    change: Change.optional(),
    now: z.array(WorldCell).readonly().optional(),
    before: z.array(WorldCell).readonly().optional(),
  })
  .readonly();
export type WorldRow = z.infer<typeof WorldRow>;

const counts = {
  /** Rows of the table at the end of the run; absent where they could not be counted. */
  rowsTotal: z.int().min(0).optional(),
  /** Rows that the run created, changed or deleted; absent where that is not known in full. */
  changedTotal: z.int().min(0).optional(),
};

/** A table and some of its rows. `rowsShown` are rows that are there now, `changedShown` also those that are gone. */
export const WorldTable = z
  .object({
    uri: z.string().min(1),
    columns: z.array(z.object({ name: z.string(), type: z.string() }).readonly()).readonly(),
    key: z.array(z.string()).readonly(),
    rowsShown: z.int().min(0),
    changedShown: z.int().min(0),
    ...counts,
    rows: z.array(WorldRow).readonly(),
  })
  .readonly();
export type WorldTable = z.infer<typeof WorldTable>;

/** A table of which nothing is shown: it did not fit, or could not be read (a gap says why). */
export const OmittedTable = z
  .object({ uri: z.string().min(1), reason: z.enum(["byte_limit", "not_read"]), ...counts })
  .readonly();
export type OmittedTable = z.infer<typeof OmittedTable>;

/** What was there at the end of a run: a part `world/NAME.json`. Tables and their rows stand in the order of their weight. */
export const World = z
  .object({
    schemaVersion: z.literal(1),
    root: z.string().min(1),
    /** Rows of a table, and bytes of all such parts of a bundle together. */
    bound: z.object({ maxRows: z.int().min(1), maxBytes: z.int().min(1) }).readonly(),
    /** Of the texts in the tool calls, how many were looked for among the keys of rows. */
    callTerms: z.object({ used: z.int().min(0), total: z.int().min(0) }).readonly(),
    tables: z.array(WorldTable).readonly(),
    omittedTables: z.array(OmittedTable).readonly(),
    /** Omitted tables beyond those that are named. */
    omittedUnnamed: z.int().min(0),
    gaps: z.array(Gap).readonly(),
  })
  .readonly();
export type World = z.infer<typeof World>;
