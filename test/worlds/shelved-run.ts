import { digestOf } from "../../src/core/fingerprint.ts";
import type { Digest } from "../../src/core/ids.ts";
import { byteSource } from "../../src/evidence/reader.ts";
import { makeReceipt, receiptBytes, type ReceiptInput } from "../../src/evidence/receipt.ts";
import type { ScenarioAttempt } from "../../src/evidence/scenario-attempt.ts";
import { hexOf } from "../../src/evidence/statement.ts";
import { tarReader } from "../../src/evidence/tar-reader.ts";
import { verifyBundle } from "../../src/evidence/verify.ts";
import { nodeHasher } from "../../src/store/hasher.ts";
import {
  CollectorProbe,
  evidenceOf,
  receiptOf,
  type ContractCollector,
} from "../../src/testing/collector/probe.ts";

/** A run that was delivered: its attempt, its evidence as an artifact, and the bundle in it. */
export interface ShelvedRun {
  readonly attempt: ScenarioAttempt;
  readonly evidence: Uint8Array;
  readonly artifactHex: string;
  readonly bundle: Digest;
  readonly receipt: Uint8Array;
}

/** Delivers evidence and a receipt that names it, and fails where either is not stored. */
export async function deliver(
  collector: ContractCollector,
  {
    attempt: fields = {},
    text = "hello",
    ...input
  }: Partial<Omit<ReceiptInput, "attempt">> & {
    readonly attempt?: Partial<ScenarioAttempt>;
    readonly text?: string;
  } = {},
): Promise<ShelvedRun> {
  const probe = new CollectorProbe(collector);
  const attempt = { ...probe.attempt, ...fields };
  const evidence = await evidenceOf(attempt, text);
  const receipt = receiptBytes(
    makeReceipt(receiptOf(attempt, { evidence: digestOf(evidence), ...input })),
  );
  const answers = [await probe.put(evidence, { attempt }), await probe.post(receipt)];
  if (answers.join() !== "201 stored,201 stored") throw new Error(answers.join());
  const verified = await verifyBundle(tarReader(byteSource(evidence)), { hasher: nodeHasher });
  if (!verified.ok) throw new Error(verified.reason);
  return {
    attempt,
    evidence,
    artifactHex: hexOf(digestOf(evidence)),
    bundle: verified.digest,
    receipt,
  };
}
