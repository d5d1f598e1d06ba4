import { UpheldError } from "../core/errors.ts";
import { numberIn, type Database } from "./database.ts";
import { DELIVERY_SCHEMA } from "./schema/delivery.ts";
import { JUDGMENT_SCHEMA } from "./schema/judgments.ts";
import { PROJECT_SCHEMA } from "./schema/project.ts";

/** The schema, a step at a time. A step that was released is never edited: a change is a further one. */
const MIGRATIONS: readonly string[] = [PROJECT_SCHEMA, DELIVERY_SCHEMA, JUDGMENT_SCHEMA];

/** Any number, so long as nothing else takes the same lock in this database. */
const LOCK = 7_361_902;

/**
 * Brings the schema up to date, whichever of several processes comes first. Answers the steps that were applied. Throws
 * "database_unavailable" where a newer program has changed the schema already: this one would not know what it writes into.
 */
export async function migrate(
  database: Database,
  steps: readonly string[] = MIGRATIONS,
): Promise<number> {
  return database.transaction(async (statements) => {
    await statements.query("SELECT pg_advisory_xact_lock($1)", [LOCK]);
    await statements.query(
      "CREATE TABLE IF NOT EXISTS upheld_schema (step int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())",
    );
    const rows = await statements.query("SELECT step FROM upheld_schema");
    const applied = new Set(rows.map((row) => numberIn(row, "step")));
    if ([...applied].some((step) => step >= steps.length)) throw newerSchema();
    const missing = [...steps.entries()].filter(([step]) => !applied.has(step));
    for (const [step, script] of missing) {
      await statements.run(script);
      await statements.query("INSERT INTO upheld_schema (step) VALUES ($1)", [step]);
    }
    return missing.length;
  });
}

function newerSchema(): UpheldError {
  return new UpheldError(
    "database_unavailable",
    "the database was written by a newer version of this program: update this one",
  );
}
