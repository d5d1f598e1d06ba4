import { readFileSync } from "node:fs";
import type { RunRecord } from "../../src/evidence/record/run-record.ts";
import type { EvidenceStatement } from "../../src/evidence/statement.ts";
import { verifyBundle } from "../../src/evidence/verify.ts";
import { nodeHasher } from "../../src/store/hasher.ts";
import { openBundle } from "../../src/store/open-bundle.ts";
import { readRunRecord } from "../../src/evidence/record/read-run.ts";
import { blobName } from "../../src/evidence/layout.ts";

/** A sealed run, read back. */
export interface OpenedBundle {
  readonly statement: EvidenceStatement;
  readonly record: RunRecord;
  /** The text of each part that is there, by its title. */
  readonly parts: ReadonlyMap<string, string>;
  /** Every byte of the file, a character each. */
  readonly bytes: string;
}

export async function openedBundle(path: string): Promise<OpenedBundle> {
  await using reader = await openBundle(path);
  const answer = await verifyBundle(reader, { hasher: nodeHasher });
  if (!answer.ok) throw new Error(`${answer.reason} at ${answer.at}`);
  const { statement } = answer;
  const parts = new Map<string, string>();
  for (const part of statement.predicate.parts) {
    if (part.state !== "present" && part.state !== "redacted") continue;
    const bytes = await reader.read({ name: blobName(part.digest), sizeBytes: part.sizeBytes });
    parts.set(part.title, Buffer.from(bytes).toString("utf8"));
  }
  const record = await readRunRecord(reader, statement, { hasher: nodeHasher });
  return { statement, record, parts, bytes: readFileSync(path, "latin1") };
}

/** How often something was removed, over all parts. */
export function redactionsOf({ predicate }: EvidenceStatement): number {
  return predicate.parts
    .flatMap((part) => (part.state === "redacted" ? part.redactions : []))
    .reduce((sum, { count }) => sum + count, 0);
}
