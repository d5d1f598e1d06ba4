import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../src/core/canonical-json.ts";
import { fingerprint } from "../../src/core/fingerprint.ts";
import { AttemptId } from "../../src/core/ids.ts";
import { pythonDigest, readHarnessResult } from "../../src/evidence/harness-result.ts";
import { mismatchOf, type ScenarioAttempt } from "../../src/evidence/scenario-attempt.ts";

type Fields = Readonly<Record<string, unknown>>;

interface Case {
  readonly id: string;
  readonly input: Readonly<Record<"receipt" | "other" | "evidence" | "after_sealing", Fields>>;
  readonly want: Fields;
}

const cases: readonly Case[] = JSON.parse(
  readFileSync(new URL("receipts.json", import.meta.url), "utf8"),
);
const caseOf = (id: string): Case => {
  const found = cases.find((each) => each.id === id);
  if (found === undefined) throw new Error(`no case ${id}`);
  return found;
};
const bytesOf = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

const attemptOf = (fields: Fields): ScenarioAttempt => ({
  jobId: String(fields["job_id"]),
  attemptId: AttemptId.parse(fields["attempt_id"]),
  attemptNumber: 1,
  scenarioKey: String(fields["scenario_key"]),
  scenarioAttempt: Number(fields["scenario_attempt"]),
});

const examined: Readonly<Record<string, (given: Case) => void>> = {
  "receipts-01": ({ input: { receipt }, want }) => {
    expect(canonicalJson(receipt)).toBe(want["canonical"]);
    expect(fingerprint(receipt)).toBe(want["digest"]);
    const reversed = Object.fromEntries(Object.entries(receipt).toReversed());
    const spaced = JSON.stringify({ digest: want["digest"], ...reversed }, undefined, 3);
    expect(readHarnessResult(new TextEncoder().encode(spaced))).toMatchObject({ ok: true });
    // One side digested the receipt with an empty digest in it.
    expect(fingerprint({ ...receipt, digest: null })).not.toBe(want["digest"]);
  },
  "receipts-02": ({ input: { receipt, after_sealing: change }, want }) => {
    const sealed = { ...receipt, digest: fingerprint(receipt) };
    expect(readHarnessResult(bytesOf(sealed)).ok).toBe(true);
    expect(change["set"]).toBe("/sub_goals/0/reason");
    const [goal] = receipt["sub_goals"] as readonly Fields[];
    const changed = { ...sealed, sub_goals: [{ ...goal, reason: change["to"] }] };
    const reading = readHarnessResult(bytesOf(changed));
    expect(reading.ok).toBe(want["verifies"]);
    expect(reading).toMatchObject({ reason: "digest_changed" });
  },
  "receipts-03": ({ input: { receipt, other }, want }) => {
    expect(pythonDigest(JSON.stringify(receipt))).toBe(want["digest"]);
    expect(pythonDigest(JSON.stringify(other))).toBe(want["other_digest"]);
    expect(want["digest"] === want["other_digest"]).toBe(want["same_digest"]);
  },
  "receipts-04": ({ input: { receipt, evidence }, want }) => {
    const mismatch = mismatchOf(attemptOf(receipt), attemptOf(evidence));
    expect(mismatch).toBe("scenarioAttempt");
    expect(want["mismatch"]).toBe("scenario_attempt");
    expect(mismatchOf(attemptOf(receipt), attemptOf(receipt)) === null).toBe(!want["verifies"]);
  },
};

describe("receipts.json", () => {
  test.each(cases.map(({ id }) => [id]))("%s", (id) => {
    const examine = examined[id];
    if (examine === undefined) throw new Error(`nothing examines ${id}`);
    examine(caseOf(id));
  });
});
