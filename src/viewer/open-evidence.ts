import type { Fault } from "../evidence/faults.ts";
import { plainHasher, webHasher, type Hasher } from "../evidence/hasher.ts";
import { readRunRecord } from "../evidence/record/read-run.ts";
import type { RunRecord } from "../evidence/record/run-record.ts";
import type { BundleReader } from "../evidence/reader.ts";
import type { VerifyingKey } from "../evidence/signer.ts";
import type { EvidenceStatement } from "../evidence/statement.ts";
import { verifyBundle, type IntactBundle } from "../evidence/verify.ts";
import { verifySuite, type IntactSuite } from "../evidence/verify-suite.ts";
import { webKey } from "../evidence/web-key.ts";
import { reportOfRecord } from "../report/record-report.ts";
import type { RunReport } from "../report/run-report.ts";

/** The bundle of a run or of a suite run, of which every byte is as it was sealed. */
export type Intact = IntactBundle | IntactSuite;

/** A browser that opens a page without a secure origin has no cryptography of its own. */
const subtle: SubtleCrypto | undefined = globalThis.crypto?.subtle;

export const pageHasher: Hasher = subtle === undefined ? plainHasher : webHasher(subtle);

export function isSuite(intact: Intact): intact is IntactSuite {
  return "scenarios" in intact;
}

/** Verifies a bundle of either kind, by the keys that the reader trusts. Throws "key_invalid" where one is none. */
export async function verifyEither(
  reader: BundleReader,
  pems: readonly string[],
): Promise<Intact | Fault> {
  const options = { hasher: pageHasher, keys: await Promise.all(pems.map(keyOf)) };
  const answer = await verifyBundle(reader, options);
  if (answer.ok || answer.reason !== "kind_unexpected") return answer;
  return verifySuite(reader, options);
}

function keyOf(pem: string): Promise<VerifyingKey> {
  if (subtle === undefined)
    throw new TypeError("this browser has no cryptography for signatures where the page is");
  return webKey(pem, { subtle, hasher: pageHasher });
}

/** A run as the page tells of it. */
export interface OpenedRun {
  readonly record: RunRecord;
  readonly report: RunReport;
  readonly statement: EvidenceStatement;
}

/** Reads a run out of a bundle that was verified. Throws "bundle_invalid". */
export async function openRun(
  reader: BundleReader,
  statement: EvidenceStatement,
): Promise<OpenedRun> {
  const record = await readRunRecord(reader, statement, { hasher: pageHasher });
  return { record, report: reportOfRecord(record), statement };
}
