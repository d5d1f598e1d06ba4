import { readReceipt } from "../evidence/read-receipt.ts";
import type { Receipt } from "../evidence/receipt.ts";
import { onlyRow, textIn, type Statements } from "../store/database.ts";
import { deliveryError, refused, type Received } from "./artifacts.ts";
import { attemptNames, canBeKept } from "./attempt-names.ts";
import type { ProjectName } from "./auth.ts";

/** Characters of a receipt that a search looks through. */
const MAX_SEARCHED = 4_000;

/** Takes in a receipt by the bytes that came. Throws the refusal. */
export async function takeReceipt(
  statements: Statements,
  project: ProjectName,
  bytes: Uint8Array,
): Promise<Received> {
  const reading = readReceipt(bytes);
  if (!reading.ok)
    throw refused(reading.reason === "too_large" ? "receipt_too_large" : "receipt_invalid");
  const { receipt } = reading;
  if (!canBeKept(receipt)) throw refused("receipt_invalid");
  const { job, scenario, attempt } = attemptNames(project, receipt);
  const rows = await statements.query(
    "SELECT take_receipt($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) AS word",
    [
      project,
      job,
      receipt.jobId,
      scenario,
      receipt.scenarioKey,
      attempt,
      receipt.attemptId,
      receipt.attemptNumber,
      receipt.scenarioAttempt,
      receipt.status,
      receipt.digest,
      receipt.evidence ?? null,
      JSON.stringify(claimsToReview(receipt)),
      bytes,
      searchedText(receipt),
    ],
  );
  const word = textIn(onlyRow(rows), "word");
  if (word === "stored" || word === "duplicate") return { taken: word, digest: receipt.digest };
  throw refused(deliveryError(word));
}

/** The claims that nobody had decided, by name. */
function claimsToReview({ subGoals }: Receipt): readonly string[] {
  return subGoals
    .filter(({ judged, held }) => judged && held === null)
    .map(({ name }) => withoutNul(name));
}

/** What a search finds a receipt by, in lower case: its names, its status, its sub-goals and why it failed. */
function searchedText(receipt: Receipt): string {
  const { jobId, scenarioKey, scenarioId, attemptId, status, subGoals, failure } = receipt;
  const goals = subGoals.flatMap(({ name, reason }) => [name, reason]);
  const words = [
    jobId,
    scenarioKey,
    scenarioId,
    attemptId,
    status,
    failure?.code,
    failure?.message,
    ...goals,
  ];
  return searchable(words.filter((word) => typeof word === "string").join("\n")).slice(
    0,
    MAX_SEARCHED,
  );
}

/** Text as it is searched: in lower case and of one normal form. */
export function searchable(text: string): string {
  return withoutNul(text).normalize("NFKC").toLowerCase();
}

/** The database's text holds every character but NUL. */
export function withoutNul(text: string): string {
  return text.replaceAll("\0", " ");
}
