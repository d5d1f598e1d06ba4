import { spawnSync } from "node:child_process";
import { assert, double, integer, oneof, property, string, uniqueArray } from "fast-check";
import { describe, expect, test } from "vitest";
import { parseJsonTree } from "../../src/core/strict-json.ts";
import { exportHarnessResult, importHarnessResult } from "../../src/evidence/harness-exchange.ts";
import { pythonDigest, readHarnessResult } from "../../src/evidence/harness-result.ts";
import { pythonJson, pythonNumeral } from "../../src/evidence/python-json.ts";
import { readReceipt } from "../../src/evidence/read-receipt.ts";
import { makeReceipt, receiptBytes } from "../../src/evidence/receipt.ts";
import { thrownBy } from "../support/json-values.ts";
import { receiptInput } from "../worlds/receipts.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const pythonOf = (text: string): string => pythonJson(parseJsonTree(text, pythonNumeral));

/** What each JSON text becomes in Python's canonical form. */
const forms: readonly (readonly [string, string])[] = [
  ["1.0", "1.0"],
  ["1", "1"],
  ["-0", "0"],
  ["-0.0", "-0.0"],
  ["0.5", "0.5"],
  ["1e-7", "1e-07"],
  ["0.000001", "1e-06"],
  ["0.0001", "0.0001"],
  ["1e16", "1e+16"],
  ["1e15", "1000000000000000.0"],
  ["1E20", "1e+20"],
  ["123456789012345680", "123456789012345680"],
  ["9007199254740993", "9007199254740993"],
  ["1.5e300", "1.5e+300"],
  ["5e-324", "5e-324"],
  ['"\\u00e9\\u2028\\u007f"', '"\u00e9\u2028\u007f"'],
  ['"\\u0001\\b\\/"', '"\\u0001\\b/"'],
  ['{"\\ud800\\udc00":1,"\\uffff":2}', '{"\uffff":2,"\u{10000}":1}'],
  ['{"2":1,"10":2,"a":3}', '{"10":2,"2":1,"a":3}'],
  ['{"ab":1,"a":2}', '{"a":2,"ab":1}'],
];

describe("Python's canonical form", () => {
  test.each(forms)("of %s", (text, form) => {
    expect(pythonOf(text)).toBe(form);
  });

  const program = [
    "import json, sys",
    "for line in sys.stdin:",
    "    value = json.loads(line)",
    '    print(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode("unicode_escape").decode())',
  ].join("\n");
  const python = spawnSync("python3", ["-c", "print(1)"], { encoding: "utf8" }).status === 0;

  test("is what Python itself writes, of any numbers and keys", (context) => {
    context.skip(!python, "no python3 on this machine");
    const lines: string[] = forms.map(([text]) => text);
    const numbers = oneof(double({ noNaN: true, noDefaultInfinity: true }), integer());
    const keys = uniqueArray(string({ unit: "binary" }), { maxLength: 4 });
    assert(
      property(numbers, keys, (number, names) => {
        lines.push(String(number), `[${number.toExponential()}]`);
        lines.push(JSON.stringify(Object.fromEntries(names.map((name, index) => [name, index]))));
      }),
      { numRuns: 300 },
    );
    const { stdout, stderr } = spawnSync("python3", ["-c", program], {
      input: `${lines.join("\n")}\n`,
      encoding: "utf8",
      env: { ...process.env, PYTHONIOENCODING: "utf8" },
    });
    expect(stderr).toBe("");
    const written = stdout.trimEnd().split("\n");
    expect(written.length).toBe(lines.length);
    expect(lines.map((line) => escaped(pythonOf(line)))).toEqual(written);
  });
});

const escapeOf = (character: string): string => {
  const point = character.codePointAt(0) ?? 0;
  if (point === 0x5c) return "\\\\";
  if (point >= 0x20 && point < 0x7f) return character;
  if (point <= 0xff) return `\\x${point.toString(16).padStart(2, "0")}`;
  return point <= 0xffff
    ? `\\u${point.toString(16).padStart(4, "0")}`
    : `\\U${point.toString(16).padStart(8, "0")}`;
};

/** As Python's "unicode_escape" writes it, so that no form of text is lost between the two. */
function escaped(text: string): string {
  return Array.from(text).map(escapeOf).join("");
}

const result = (
  fields: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> => ({
  schema_version: "futureagi.harness-result.v1",
  job_id: "j1",
  attempt_id: "a1",
  attempt_number: 1,
  scenario_key: "refund",
  scenario_id: "sid-1",
  scenario_attempt: 1,
  world_index: 2,
  status: "passed",
  sub_goals: [{ name: "n", held: true, reason: null, judged: false }],
  evaluations: [],
  call: null,
  failure: null,
  ...fields,
});

/** The bytes that a sender in Python puts on the wire. */
const wire = (
  fields: Readonly<Record<string, unknown>> = {},
  text = JSON.stringify(result(fields)),
) => bytesOf(text.replace(/\}$/, `,"digest":"${pythonDigest(text)}"}`));

const failure = { domain: "simulator", stage: "check", code: "judge_undecided", message: "m" };
const open = [{ name: "n", held: null, reason: null, judged: true }];

describe("a result of another harness", () => {
  test("with a fraction verifies by its own rules, and would not by ours", () => {
    const text = JSON.stringify(result()).replace(
      '"evaluations":[]',
      '"evaluations":[{"name":"tone","kind":"metric","score":1.0,"reason":null}]',
    );
    const reading = readHarnessResult(wire({}, text));
    expect(reading).toMatchObject({ ok: true, result: { evaluations: [{ score: 1 }] } });
    const rounded = new TextDecoder().decode(wire({}, text)).replace("1.0", "1");
    expect(readHarnessResult(bytesOf(rounded))).toMatchObject({ reason: "digest_changed" });
  });

  test.each([
    ["a duplicate key", bytesOf(`{"a":1,"a":2}`), "json_invalid"],
    ["no JSON", bytesOf("Bad gateway"), "json_invalid"],
    ["NaN", bytesOf(`{"score":NaN}`), "json_invalid"],
    ["an overflowing number", bytesOf(`{"score":1e400}`), "json_invalid"],
    ["too many bytes", new Uint8Array(5_000_000), "too_large"],
    ["another schema", wire({ schema_version: "futureagi.harness-result.v2" }), "form_invalid"],
    ["a third attempt", wire({ scenario_attempt: 3 }), "form_invalid"],
    ["passed with a failure", wire({ failure }), "status_contradicted"],
    ["passed with an open sub-goal", wire({ sub_goals: open }), "status_contradicted"],
    ["passed without any sub-goal", wire({ sub_goals: [] }), "status_contradicted"],
    ["errored without a failure", wire({ status: "errored" }), "status_contradicted"],
    ["skipped in a world", wire({ status: "skipped", sub_goals: [] }), "status_contradicted"],
    [
      "a score above 1",
      wire({ evaluations: [{ name: "a", kind: "metric", score: 1.5, reason: null }] }),
      "form_invalid",
    ],
  ])("is refused: %s", (_name, bytes, reason) => {
    expect(readHarnessResult(bytes)).toMatchObject({ ok: false, reason });
  });

  test("is refused where a byte of it changed", () => {
    const bytes = wire();
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Uint8Array.from(bytes);
      changed[at] = (bytes[at] ?? 0) ^ 1;
      expect(readHarnessResult(changed).ok, `byte ${at}`).toBe(false);
    }
  });

  test("becomes a receipt, and says what has no place in one", () => {
    const evaluations = [{ name: "tone", kind: "metric", score: 0.5, reason: "ok" }];
    const call = {
      started_at: "2026-11-30T10:00:00.123Z",
      ended_at: "2026-11-30T10:00:07.000Z",
      duration_ms: 6_877,
      turns: 4,
      transcript_artifact: "sha256:1",
      recording_artifacts: ["sha256:2", "sha256:3"],
    };
    const reading = readHarnessResult(wire({ evaluations, call }));
    if (!reading.ok) throw new Error(reading.at);
    const { receipt, notCarried } = importHarnessResult(reading.result);
    expect(notCarried).toEqual({ evaluations: 1, artifacts: 3 });
    expect(receipt).toMatchObject({
      status: "passed",
      worldIndex: 2,
      call: { startedAt: "2026-11-30T10:00:00.123000000Z", turns: 4 },
    });
    expect(readReceipt(receiptBytes(receipt))).toEqual({ ok: true, receipt });
  });

  test.each([
    [
      "undecided, where nobody decided",
      { status: "errored", sub_goals: open, failure },
      "undecided",
    ],
    [
      "errored, where something else went wrong",
      { status: "errored", sub_goals: open, failure: { ...failure, code: "setup_crashed" } },
      "errored",
    ],
    ["skipped", { status: "skipped", sub_goals: [], world_index: null }, "skipped"],
  ])("comes in as %s, and goes out as it was", (_name, fields, status) => {
    const reading = readHarnessResult(wire(fields));
    if (!reading.ok) throw new Error(reading.at);
    const { receipt } = importHarnessResult(reading.result);
    expect(receipt.status).toBe(status);
    const { failure: back, ...exported } = exportHarnessResult(receipt);
    const { failure: given, digest: _digest, ...original } = reading.result;
    expect(exported).toMatchObject(original);
    expect(back?.code).toBe(given?.code);
    expect(readHarnessResult(bytesOf(JSON.stringify(exportHarnessResult(receipt)))).ok).toBe(true);
  });

  test("never carries evidence", () => {
    const receipt = makeReceipt(receiptInput({ scenarioId: "s", worldIndex: 0 }));
    expect(receipt.evidence).toBeDefined();
    expect(JSON.stringify(exportHarnessResult(receipt))).not.toContain(receipt.evidence);
  });

  test.each([
    ["the scenario's id", { worldIndex: 0 }, /scenarioId/],
    ["the world", { scenarioId: "s" }, /worldIndex/],
  ])("is not made up where the receipt does not say %s", (_name, fields, message) => {
    const error = thrownBy(() => exportHarnessResult(makeReceipt(receiptInput(fields))));
    expect(error).toMatchObject({ code: "argument_invalid" });
    expect(error.message).toMatch(message);
  });
});
