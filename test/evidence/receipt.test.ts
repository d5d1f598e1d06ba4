import { array, assert, constantFrom, property, string } from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../src/core/canonical-json.ts";
import { fingerprint } from "../../src/core/fingerprint.ts";
import { boundedMessage, MAX_MESSAGE_CHARACTERS } from "../../src/evidence/message.ts";
import { readReceipt } from "../../src/evidence/read-receipt.ts";
import {
  makeReceipt,
  receiptBytes,
  statusOf,
  withoutArtifact,
  type ReceiptInput,
} from "../../src/evidence/receipt.ts";
import { compareAttempts, mismatchOf } from "../../src/evidence/scenario-attempt.ts";
import { AttemptId } from "../../src/core/ids.ts";
import { thrownBy } from "../support/json-values.ts";
import { attempt, goal, receiptInput } from "../worlds/receipts.ts";

const bytesOf = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
const failure = {
  domain: "agent",
  stage: "run",
  code: "agent_timed_out",
  message: "60 s",
} as const;

const sealedAs = (fields: Readonly<Record<string, unknown>>): Uint8Array => {
  const { digest: _digest, ...body } = { ...makeReceipt(receiptInput()), ...fields };
  return bytesOf({ ...body, digest: fingerprint(body) });
};

const reasoned = (reason: string): ReceiptInput =>
  receiptInput({ outcome: { kind: "graded", subGoals: [goal(false, { reason })] } });

describe("the status", () => {
  const table: readonly [readonly (boolean | null)[], string][] = [
    [[true], "passed"],
    [[true, true], "passed"],
    [[true, null], "undecided"],
    [[null], "undecided"],
    [[true, false], "failed"],
    [[null, false], "failed"],
  ];
  test.each(table)("of %j is %s", (held, status) => {
    expect(statusOf(held.map((each) => goal(each)))).toBe(status);
  });

  test("of nothing asked is none", () => {
    const input = receiptInput({ outcome: { kind: "graded", subGoals: [] } });
    expect(thrownBy(() => makeReceipt(input)).message).toMatch(/nothing asked is no pass/);
  });

  test("is passed only where every sub-goal is known to hold, and never better for an unknown", () => {
    const held = constantFrom(true, false, null);
    assert(
      property(array(held, { minLength: 1 }), (all) => {
        const status = statusOf(all.map((each) => goal(each)));
        expect(status === "passed").toBe(all.every((each) => each === true));
        const open = statusOf([...all, null].map((each) => goal(each)));
        expect(open).toBe(status === "passed" ? "undecided" : status);
      }),
    );
  });
});

describe("a receipt", () => {
  test("is read back from its bytes, in any order of keys", () => {
    const receipt = makeReceipt(receiptInput());
    expect(readReceipt(receiptBytes(receipt))).toEqual({ ok: true, receipt });
    const reversed = Object.fromEntries(Object.entries(receipt).toReversed());
    expect(readReceipt(bytesOf(reversed))).toEqual({ ok: true, receipt });
  });

  test("has no field for what there is none of", () => {
    const { evidence: _none, ...input } = receiptInput();
    const receipt = makeReceipt(input);
    expect(Object.keys(receipt).toSorted()).toEqual(
      [
        "attemptId",
        "attemptNumber",
        "digest",
        "jobId",
        "scenarioAttempt",
        "scenarioKey",
        "schemaVersion",
        "status",
        "subGoals",
      ].toSorted(),
    );
  });

  test("does not verify with one changed byte", () => {
    const bytes = receiptBytes(makeReceipt(receiptInput()));
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Uint8Array.from(bytes);
      changed[at] = (bytes[at] ?? 0) ^ 1;
      expect(readReceipt(changed).ok, `byte ${at}`).toBe(false);
    }
  });

  test("keeps a field of a later version in its digest, and out of what it says", () => {
    const reading = readReceipt(sealedAs({ mood: "good" }));
    expect(reading).toMatchObject({ ok: true });
    expect(JSON.stringify(reading)).not.toContain("mood");
    const { mood: _mood, ...less } = JSON.parse(
      new TextDecoder().decode(sealedAs({ mood: "good" })),
    );
    expect(readReceipt(bytesOf(less))).toMatchObject({ reason: "digest_changed" });
  });

  test.each([
    ["a duplicate key", '{"status":"failed","status":"passed"}'],
    ["no JSON", "<html>"],
    ["half a text", '{"status":"pas'],
  ])("is refused: %s", (_name, text) => {
    expect(readReceipt(new TextEncoder().encode(text))).toMatchObject({ reason: "json_invalid" });
  });

  test("is refused where a key is written twice, one of them with the digest's value", () => {
    const text = canonicalJson(makeReceipt(receiptInput()));
    const twice = text.replace('"status":"passed"', '"status":"failed","status":"passed"');
    expect(readReceipt(new TextEncoder().encode(twice))).toMatchObject({ reason: "json_invalid" });
  });

  test.each([
    ["passed, with a sub-goal that did not hold", { subGoals: [goal(false)] }],
    ["passed, with an open sub-goal", { subGoals: [goal(null)] }],
    ["passed, with none", { subGoals: [] }],
    ["passed, with a failure", { failure }],
    ["errored, without a failure", { status: "errored" }],
    ["skipped, with results", { status: "skipped" }],
    ["undecided, where all held", { status: "undecided" }],
  ])("contradicts itself: %s", (_name, fields) => {
    expect(readReceipt(sealedAs(fields))).toMatchObject({ reason: "status_contradicted" });
  });

  test.each([
    ["another schema", { schemaVersion: "upheld.receipt.v2" }],
    ["an attempt without a number", { attemptNumber: 0 }],
    ["two sub-goals of one name", { subGoals: [goal(true), goal(true)] }],
    ["null for what is absent", { evidence: null }],
  ])("is not of the form: %s", (_name, fields) => {
    expect(readReceipt(sealedAs(fields))).toMatchObject({ reason: "form_invalid" });
  });

  test("of a place that takes no evidence tells of it, and names it no longer", () => {
    const receipt = makeReceipt(receiptInput());
    const digest = receipt.evidence;
    if (digest === undefined) throw new Error("it has evidence");
    const artifact = { kind: "evidence", digest, sizeBytes: 3 };
    const less = withoutArtifact(receipt, { ...artifact, reason: "kind_unknown" });
    expect(less.evidence).toBeUndefined();
    expect(less.notDelivered).toEqual([{ kind: "evidence", digest, reason: "kind_unknown" }]);
    expect(less.digest).not.toBe(receipt.digest);
    expect(readReceipt(receiptBytes(less))).toEqual({ ok: true, receipt: less });
  });
});

describe("a text of a receipt", () => {
  test("is redacted, then cut, then digested: no half of a secret is left", () => {
    const secret = "sk-live-0123456789";
    const redact = (text: string): string => text.replaceAll(secret, "[secret]");
    assert(
      property(string({ maxLength: 40 }), (word) => {
        const filler = "x".repeat(MAX_MESSAGE_CHARACTERS - 50 - (word.length % 30));
        const receipt = makeReceipt(reasoned(`${filler}${secret}${"y".repeat(3_000)}`), redact);
        const [told] = receipt.subGoals;
        expect(told?.reason?.length).toBeLessThanOrEqual(MAX_MESSAGE_CHARACTERS);
        expect(told?.reason).not.toContain("sk-live");
        expect(readReceipt(receiptBytes(receipt)).ok).toBe(true);
      }),
    );
  });

  test.each([
    ["failure", { kind: "errored", failure: { ...failure, message: "key" } }],
    ["sub-goal", { kind: "graded", subGoals: [goal(false, { reason: "key" })] }],
    [
      "open sub-goal of a failure",
      { kind: "errored", failure, subGoals: [goal(null, { reason: "key" })] },
    ],
  ] as const)("of a %s is redacted", (_name, outcome) => {
    const receipt = makeReceipt(receiptInput({ outcome }), (text) => text.replaceAll("key", "***"));
    expect(canonicalJson(receipt)).not.toContain("key");
    expect(canonicalJson(receipt)).toContain("***");
  });

  test.each([
    ["short", "a".repeat(2_000), "a".repeat(2_000)],
    ["long", "a".repeat(2_001), `${"a".repeat(1_969)}... [cut: 32 more characters]`],
    ["of many bytes", "\u{1f600}".repeat(2_000), "\u{1f600}".repeat(2_000)],
  ])("that is %s", (_name, text, told) => {
    expect(boundedMessage(text)).toBe(told);
  });

  test("that is cut counts every character that is gone, and splits none", () => {
    assert(
      property(string({ unit: "grapheme", minLength: 1 }), (piece) => {
        const text = piece.repeat(Math.ceil(5_000 / piece.length));
        const told = boundedMessage(text);
        const mark = /\.\.\. \[cut: (\d+) more characters\]$/.exec(told);
        const kept = told.slice(0, mark?.index);
        expect(Array.from(told).length).toBeLessThanOrEqual(MAX_MESSAGE_CHARACTERS);
        expect(text.startsWith(kept)).toBe(true);
        if (mark !== null)
          expect(Array.from(kept).length + Number(mark[1])).toBe(Array.from(text).length);
      }),
    );
  });

  test("with half a character is sent with a mark in its place", () => {
    const [told] = makeReceipt(reasoned("a\ud83d")).subGoals;
    expect(told?.reason).toBe("a\ufffd");
  });
});

describe("evidence", () => {
  test.each([
    ["of this attempt", {}, null],
    ["of another job", { jobId: "job-2" }, "jobId"],
    ["of another attempt", { attemptId: AttemptId.parse("attempt-2") }, "attemptId"],
    ["of another scenario", { scenarioKey: "cancel" }, "scenarioKey"],
    ["of another attempt at the scenario", { scenarioAttempt: 2 }, "scenarioAttempt"],
    ["that does not say its scenario", { scenarioKey: undefined }, "scenarioKey"],
  ])("%s", (_name, fields, mismatch) => {
    expect(mismatchOf(attempt(), { ...attempt(), ...fields })).toBe(mismatch);
  });

  test("of a newer attempt comes after an older one's", () => {
    const attempts = [
      attempt({ attemptNumber: 2, scenarioAttempt: 1 }),
      attempt({ attemptNumber: 1, scenarioAttempt: 2 }),
      attempt({ attemptNumber: 1, scenarioAttempt: 1 }),
    ];
    const order = attempts
      .toSorted(compareAttempts)
      .map((each) => [each.attemptNumber, each.scenarioAttempt]);
    expect(order).toEqual([
      [1, 1],
      [1, 2],
      [2, 1],
    ]);
  });
});
