import { canonicalJsonBytes } from "../core/canonical-json.ts";
import { digestOf } from "../core/fingerprint.ts";
import type { Digest } from "../core/ids.ts";
import { parseStrictJsonBytes } from "../core/strict-json.ts";
import { Judgment, judgeDigest } from "../judge/judgment.ts";
import { textIn, type DatabaseRow, type Statements } from "../store/database.ts";
import type { Received } from "./artifacts.ts";
import type { ProjectName } from "./auth.ts";
import { withoutNul } from "./receipts.ts";
import { Refusal } from "./problem.ts";

/** Judgments of a bundle that are listed at once. */
export const MAX_LISTED_JUDGMENTS = 1_000;

const ADD = `
INSERT INTO judgments (project, id, bundle, claim, claim_name, judge, judge_kind, digest, record)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9
 WHERE EXISTS (SELECT 1 FROM artifacts WHERE project = $1 AND bundle = $3)
ON CONFLICT (project, id) DO NOTHING RETURNING 'stored' AS word`;

/**
 * Appends a judgment over a bundle that the project has. The same again is a duplicate. Throws the refusal: "not_found" without
 * the bundle, "judgment_conflict" where another judgment has its id.
 */
export async function addJudgment(
  statements: Statements,
  project: ProjectName,
  judgment: Judgment,
): Promise<Received> {
  const record = canonicalJsonBytes(judgment);
  const digest = digestOf(record);
  const { id, bundle, claim, judge } = judgment;
  const added = await statements.query(ADD, [
    project,
    id,
    bundle,
    claim.digest,
    withoutNul(claim.name),
    judgeDigest(judge),
    judge.kind,
    digest,
    record,
  ]);
  if (added.length > 0) return { taken: "stored", digest };
  const [known] = await statements.query(
    "SELECT digest FROM judgments WHERE project = $1 AND id = $2",
    [project, id],
  );
  if (known === undefined)
    throw new Refusal("not_found", "this project has no such bundle: deliver it first");
  if (textIn(known, "digest") === digest) return { taken: "duplicate", digest };
  throw new Refusal("judgment_conflict", "another judgment has this id");
}

/** The judgments over a bundle, oldest first, and how many there are. */
export async function judgmentsOf(
  statements: Statements,
  project: ProjectName,
  bundle: Digest,
): Promise<{ readonly judgments: readonly Judgment[]; readonly total: number }> {
  const rows = await statements.query(
    `SELECT record, count(*) OVER () AS total FROM judgments WHERE project = $1 AND bundle = $2
      ORDER BY number LIMIT $3`,
    [project, bundle, MAX_LISTED_JUDGMENTS],
  );
  return { judgments: rows.map(judgmentIn), total: Number(rows[0]?.["total"] ?? 0) };
}

function judgmentIn({ record }: DatabaseRow): Judgment {
  if (record instanceof Uint8Array) return Judgment.parse(parseStrictJsonBytes(record));
  throw new TypeError("column record holds no bytes");
}
