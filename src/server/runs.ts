import { z } from "zod";
import { Digest } from "../core/ids.ts";
import { ReceiptStatus } from "../evidence/receipt.ts";
import {
  numberIn,
  onlyRow,
  textIn,
  type DatabaseValue,
  type Statements,
} from "../store/database.ts";
import { time, type ProjectName } from "./auth.ts";
import { searchable, withoutNul } from "./receipts.ts";

/** A run as it is listed: an attempt at a scenario that has a receipt. */
export const ListedRun = z
  .object({
    id: z.string(),
    jobId: z.string(),
    scenarioKey: z.string(),
    attemptId: z.string(),
    attemptNumber: z.int(),
    scenarioAttempt: z.int(),
    /** Whether no newer attempt at this scenario of this job is here. */
    isLatest: z.boolean(),
    status: ReceiptStatus,
    /** The receipt's digest. */
    digest: Digest,
    /** The digest of the evidence artifact, and that of the bundle in it. */
    evidence: Digest.nullable(),
    bundle: Digest.nullable(),
    /** The judged sub-goals that nobody had decided when the receipt was made. */
    toReview: z.array(z.string()),
    receivedAt: z.string(),
  })
  .readonly();
export type ListedRun = z.infer<typeof ListedRun>;

const COLUMNS = `runs.id::text AS id, job_id, scenario_key, attempt_id, attempt_number, scenario_attempt, is_latest,
  status, digest, evidence, bundle, to_review::text AS to_review, ${time("received_at")}`;

/** Which runs of a project are listed. */
export interface RunFilter {
  /** Words that must all occur in the names, sub-goals, reasons or status. */
  readonly search?: string | undefined;
  readonly status?: ReceiptStatus | undefined;
  readonly jobId?: string | undefined;
  /** Whether superseded attempts are listed too. */
  readonly all: boolean;
  /** Whether only those are listed that wait for a person. */
  readonly review: boolean;
}

/** A page of a list, newest first: from what id on, and how many. */
export interface PageOrder {
  readonly before?: string | undefined;
  readonly limit: number;
}

export interface RunPage {
  readonly runs: readonly ListedRun[];
  /** How many runs the filter finds, on all pages. */
  readonly total: number;
  /** The order of the page after this one; null after the last. */
  readonly before: string | null;
}

/** Words of a search that count. */
const MAX_WORDS = 8;

const WAITS_FOR_A_PERSON = `is_latest AND bundle IS NOT NULL AND to_review <> '[]' AND EXISTS (
  SELECT 1 FROM jsonb_array_elements_text(to_review) AS open_claim
   WHERE NOT EXISTS (
     SELECT 1 FROM judgments
      WHERE judgments.project = runs.project AND judgments.bundle = runs.bundle
        AND judge_kind = 'person' AND claim_name = open_claim))`;

/** Lists runs of a project, newest first. */
export async function listRuns(
  statements: Statements,
  project: ProjectName,
  filter: RunFilter,
  { before, limit }: PageOrder,
): Promise<RunPage> {
  const values: DatabaseValue[] = [project];
  const bound = (value: DatabaseValue): string => `$${values.push(value)}`;
  const where = conditionsOf(filter, bound).join(" AND ");
  const [counted] = await statements.query(`SELECT count(*) AS total FROM runs WHERE ${where}`, [
    ...values,
  ]);
  const from = before === undefined ? "" : `AND id < ${bound(before)}::bigint`;
  const rows = await statements.query(
    `SELECT ${COLUMNS} FROM runs WHERE ${where} ${from} ORDER BY runs.id DESC LIMIT ${bound(limit + 1)}`,
    values,
  );
  const runs = rows.slice(0, limit).map(runOf);
  return {
    runs,
    total: counted === undefined ? 0 : numberIn(counted, "total"),
    before: rows.length > limit ? (runs.at(-1)?.id ?? null) : null,
  };
}

function conditionsOf(
  { search = "", status, jobId, all, review }: RunFilter,
  bound: (value: DatabaseValue) => string,
): readonly string[] {
  const words = searchable(search)
    .split(/\s+/)
    .filter((word) => word !== "");
  return [
    "project = $1",
    ...(all ? [] : ["is_latest"]),
    ...(review ? [WAITS_FOR_A_PERSON] : []),
    ...(status === undefined ? [] : [`status = ${bound(status)}`]),
    ...(jobId === undefined ? [] : [`job_id = ${bound(withoutNul(jobId))}`]),
    ...words.slice(0, MAX_WORDS).map((word) => `position(${bound(word)} in searched) > 0`),
  ];
}

function runOf(row: Readonly<Record<string, DatabaseValue>>): ListedRun {
  return ListedRun.parse({
    id: row["id"],
    jobId: row["job_id"],
    scenarioKey: row["scenario_key"],
    attemptId: row["attempt_id"],
    attemptNumber: numberIn(row, "attempt_number"),
    scenarioAttempt: numberIn(row, "scenario_attempt"),
    isLatest: row["is_latest"],
    status: row["status"],
    digest: row["digest"],
    evidence: row["evidence"],
    bundle: row["bundle"],
    toReview: JSON.parse(textIn(row, "to_review")),
    receivedAt: row["received_at"],
  });
}

/** An artifact of a run. */
export const RunArtifact = z
  .object({ kind: z.string(), digest: Digest, sizeBytes: z.int() })
  .readonly();
export type RunArtifact = z.infer<typeof RunArtifact>;

/** A run with its receipt, as it came, and its artifacts. */
export interface KeptRun {
  readonly run: ListedRun;
  readonly receipt: Uint8Array;
  readonly artifacts: readonly RunArtifact[];
}

/** A run of the project; undefined where it has none of that id. */
export async function readRun(
  statements: Statements,
  project: ProjectName,
  id: string,
): Promise<KeptRun | undefined> {
  const [row] = await statements.query(
    `SELECT ${COLUMNS}, receipt, attempt FROM runs WHERE project = $1 AND id = $2::bigint`,
    [project, id],
  );
  if (row === undefined) return undefined;
  const { receipt, attempt = null } = row;
  if (!(receipt instanceof Uint8Array)) throw new TypeError("column receipt holds no bytes");
  const artifacts = await statements.query(
    `SELECT kind, digest, size_bytes FROM artifact_uses JOIN artifacts USING (job, digest)
      WHERE attempt = $1 ORDER BY kind, digest`,
    [attempt],
  );
  return {
    run: runOf(row),
    receipt,
    artifacts: artifacts.map((each) =>
      RunArtifact.parse({
        kind: each["kind"],
        digest: each["digest"],
        sizeBytes: numberIn(each, "size_bytes"),
      }),
    ),
  };
}

/** The size of an artifact that the project has; undefined where it has none of that digest. */
export async function artifactSize(
  statements: Statements,
  project: ProjectName,
  digest: Digest,
): Promise<number | undefined> {
  const rows = await statements.query(
    "SELECT size_bytes FROM artifacts WHERE project = $1 AND digest = $2 LIMIT 1",
    [project, digest],
  );
  return rows.length === 0 ? undefined : numberIn(onlyRow(rows), "size_bytes");
}
