// Adds entries to a spool and sends them, without an end: for tests that kill it. Prints the key of each entry once it is saved.
// Arguments: the spool's folder, the collector's address, and a prefix for the keys.
import { writeSync } from "node:fs";
import { digestOf } from "../../dist/core/fingerprint.js";
import { collectorClient } from "../../dist/deliver/client.js";
import { drainSpool } from "../../dist/deliver/drain.js";
import { Spool } from "../../dist/deliver/spool.js";
import { makeReceipt } from "../../dist/evidence/receipt.js";
import { evidenceOf, receiptOf } from "../../dist/testing/collector/probe.js";

const [folder, url, prefix] = process.argv.slice(2);
const time = { now: Date.now, random: () => 0, sleep: async () => {} };
const client = collectorClient({ url, token: "token" }, { time, idleMs: 2_000 });
const spool = new Spool(folder);
for (let index = 0; ; index += 1) {
  const scenarioKey = `${prefix}-${index}`;
  const attempt = {
    jobId: "job",
    attemptId: "attempt-1",
    attemptNumber: 1,
    scenarioKey,
    scenarioAttempt: 1,
  };
  const bytes = await evidenceOf(attempt, "x".repeat(index * 1_000));
  const digest = digestOf(bytes);
  spool.add({
    to: url,
    receipt: makeReceipt(receiptOf(attempt, { evidence: digest })),
    artifacts: [{ kind: "evidence", digest, sizeBytes: bytes.length, pieces: [bytes] }],
  });
  writeSync(1, `${scenarioKey}\n`);
  if (index % 3 === 2) await drainSpool(spool, { to: url, client });
}
