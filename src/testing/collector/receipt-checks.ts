import { digestOf } from "../../core/fingerprint.ts";
import { AttemptId } from "../../core/ids.ts";
import { makeReceipt, receiptBytes } from "../../evidence/receipt.ts";
import { owes, type CollectorCheck } from "./collector-check.ts";
import { evidenceOf, receiptOf, type CollectorProbe } from "./probe.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Another outcome of the same attempt: another receipt. */
const FAILED = {
  outcome: {
    kind: "graded",
    subGoals: [{ name: "refunded", held: false, judged: false, reason: "no" }],
  },
} as const;

function later(probe: CollectorProbe) {
  return { ...probe.attempt, scenarioAttempt: 2 };
}

/** What a collector owes of receipts. */
export const receiptChecks: readonly CollectorCheck[] = [
  {
    name: "a receipt is stored once: sent again it is a duplicate",
    run: async (probe) => {
      await owes(probe.postReceipt(), "201 stored", "the first time");
      await owes(probe.postReceipt(), "200 duplicate", "the second time");
    },
  },
  {
    name: "a receipt with evidence follows its evidence",
    run: async (probe) => {
      const bytes = await evidenceOf(probe.attempt);
      const evidence = digestOf(bytes);
      await owes(probe.postReceipt({ evidence }), "422 evidence_missing", "before it");
      await owes(probe.put(bytes), "201 stored", "the evidence");
      await owes(probe.postReceipt({ evidence }), "201 stored", "after it");
    },
  },
  {
    name: "evidence of another scenario or attempt is none for a receipt",
    run: async (probe) => {
      const bytes = await evidenceOf(probe.attempt);
      const evidence = digestOf(bytes);
      await owes(probe.put(bytes), "201 stored", "the evidence");
      const other = { ...probe.attempt, scenarioKey: "cancel" };
      const answers = [
        probe.postReceipt({ attempt: other, evidence }),
        probe.postReceipt({ attempt: later(probe), evidence }),
      ];
      for (const answer of answers) await owes(answer, "422 evidence_missing", "its receipt");
    },
  },
  {
    name: "another artifact is no evidence",
    run: async (probe) => {
      const log = bytesOf(probe.attempt.jobId);
      await owes(probe.put(log, { kind: "log" }), "201 stored", "a log");
      const answer = probe.postReceipt({ evidence: digestOf(log) });
      await owes(answer, "422 evidence_missing", "a receipt that names it");
    },
  },
  {
    name: "another receipt of the same attempt is a conflict, never the last write",
    run: async (probe) => {
      await owes(probe.postReceipt(), "201 stored", "the first");
      await owes(probe.postReceipt(FAILED), "409 receipt_conflict", "another");
      await owes(probe.postReceipt(), "200 duplicate", "the first again");
    },
  },
  {
    name: "a newer attempt supersedes, an older one never",
    run: async (probe) => {
      const attempt = later(probe);
      await owes(probe.postReceipt(FAILED), "201 stored", "the first attempt");
      await owes(probe.postReceipt({ attempt }), "201 stored", "the second");
      await owes(probe.postReceipt(FAILED), "409 attempt_superseded", "the first again");
      await owes(probe.postReceipt({ attempt }), "200 duplicate", "the second again");
      const evidence = await evidenceOf(probe.attempt);
      await owes(probe.put(evidence), "409 attempt_superseded", "evidence of the first");
    },
  },
  {
    name: "an attempt of the job counts before an attempt at the scenario",
    run: async (probe) => {
      const attemptId = AttemptId.parse(`${probe.attempt.attemptId}-2`);
      const second = { ...probe.attempt, attemptId, attemptNumber: 2 };
      await owes(probe.postReceipt({ attempt: second }), "201 stored", "2, 1");
      await owes(probe.postReceipt({ attempt: later(probe) }), "409 attempt_superseded", "1, 2");
    },
  },
  {
    name: "of two receipts of one attempt at once, one is stored",
    run: async (probe) => {
      const answers = await Promise.all(
        [{}, FAILED, {}, FAILED, {}, FAILED].map((fields) => probe.postReceipt(fields)),
      );
      const wanted =
        "200 duplicate, 200 duplicate, 201 stored, 409 receipt_conflict, 409 receipt_conflict, 409 receipt_conflict";
      await owes(answers.toSorted().join(", "), wanted, "all at once");
    },
  },
  {
    name: "a receipt that was changed on the way is refused",
    run: async (probe) => {
      const text = new TextDecoder().decode(
        receiptBytes(makeReceipt(receiptOf(probe.attempt, FAILED))),
      );
      const changed = text.replace('"held":false', '"held":true').replace("failed", "passed");
      const twice = text.replace('"status":', '"status":"passed","status":');
      for (const each of [changed, twice, text.slice(0, -9), "[]", "", "<html>"])
        await owes(
          probe.post(bytesOf(each)),
          "422 receipt_invalid",
          JSON.stringify(each).slice(0, 40),
        );
      await owes(probe.post(bytesOf(text)), "201 stored", "as it was made");
    },
  },
  {
    name: "the digest is taken over the bytes that came, in any order of keys",
    run: async (probe) => {
      const receipt = makeReceipt(receiptOf(probe.attempt));
      const reversed = Object.fromEntries(Object.entries(receipt).toReversed());
      const spaced = JSON.stringify(reversed, undefined, 2);
      await owes(probe.post(bytesOf(spaced)), "201 stored", "reversed and spaced");
      await owes(probe.post(receiptBytes(receipt)), "200 duplicate", "canonical");
    },
  },
  {
    name: "a receipt larger than may be read is refused",
    run: async (probe) => {
      const large = bytesOf(`{"a":"${"a".repeat(4 * 1024 * 1024)}"}`);
      await owes(probe.post(large), "413 receipt_too_large", "4 MiB and more");
    },
  },
  {
    name: "no receipt is taken without the right token",
    run: async (probe) => {
      const bytes = receiptBytes(makeReceipt(receiptOf(probe.attempt)));
      await owes(probe.post(bytes, "wrong"), "401 unauthorized", "a receipt");
      await owes(probe.post(bytes), "201 stored", "with the token");
    },
  },
];
