import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { judgeBundle } from "../../src/judge/judge-bundle.ts";
import { appendJudgments, judgmentFileOf, readJudgments } from "../../src/judge/judgment-file.ts";
import type { Judgment } from "../../src/judge/judgment.ts";
import { claim, evidenceOf, judgingMeans, says, scriptedJudge } from "../worlds/judging.ts";
import { conversation } from "../worlds/observations.ts";

let folder = "";
let judgments: readonly Judgment[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "upheld-judgments-"));
  const means = judgingMeans();
  const evidence = evidenceOf([conversation([{ text: "half a pair \ud83d\ude00" }])]);
  const claims = [claim("a"), claim("b"), claim("c")];
  await judgeBundle(
    evidence,
    claims,
    scriptedJudge([{ verdicts: claims.map(({ name }) => says(name, null)) }]),
    means,
  );
  judgments = means.recorded;
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("what was added is read again, in order", async () => {
  const path = join(folder, "one.jsonl");
  await appendJudgments(path, judgments.slice(0, 2));
  await appendJudgments(path, []);
  await appendJudgments(path, judgments.slice(2));
  expect(await readJudgments(path)).toEqual({ judgments, unread: 0 });
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("a file that is not there holds none, and none makes no file", async () => {
  const path = join(folder, "absent.jsonl");
  await appendJudgments(path, []);
  expect(existsSync(path)).toBe(false);
  expect(await readJudgments(path)).toEqual({ judgments: [], unread: 0 });
});

describe("a file that a crash cut off, at every byte of its last line", () => {
  test("keeps what was whole, counts the rest, and takes more", async () => {
    const path = join(folder, "torn.jsonl");
    await appendJudgments(path, judgments.slice(0, 2));
    const whole = readFileSync(path);
    const first = whole.indexOf("\n") + 1;
    for (let at = first + 1; at < whole.length; at += 41) {
      writeFileSync(path, whole);
      truncateSync(path, at);
      await appendJudgments(path, judgments.slice(2));
      const { judgments: read, unread } = await readJudgments(path);
      // A line that lacks only its end is whole.
      expect(read.length + unread).toBe(3);
      expect(read[0]).toEqual(judgments[0]);
      expect(read.at(-1)).toEqual(judgments[2]);
    }
  });
});

test("lines of another kind are counted, never taken for judgments", async () => {
  const path = join(folder, "mixed.jsonl");
  await appendJudgments(path, judgments.slice(0, 1));
  const [line = ""] = readFileSync(path, "utf8").split("\n");
  const value = JSON.parse(line);
  const foreign = [
    JSON.stringify({ ...value, schemaVersion: 2 }),
    JSON.stringify({ ...value, verdict: { value: "maybe" } }),
    JSON.stringify({
      ...value,
      outcome: { kind: "failed", code: "timed_out", detail: "" },
      verdict: { value: "upheld", witnesses: [], total: 0 },
    }),
    `${line.slice(0, -1)},"verdict":{"value":"upheld","witnesses":[],"total":0}}`,
    "no JSON",
    "null",
  ];
  appendFileSync(path, `${foreign.join("\n")}\n\n`);
  expect(await readJudgments(path)).toEqual({
    judgments: judgments.slice(0, 1),
    unread: foreign.length,
  });
});

test("a place that cannot be written is an error with a code", async () => {
  await expect(
    appendJudgments(join(folder, "no", "such", "folder.jsonl"), judgments),
  ).rejects.toMatchObject({ code: "file_unwritable" });
  await expect(readJudgments(folder)).rejects.toMatchObject({ code: "file_unreadable" });
});

test.each([
  ["run.upheld", "run.upheld.judgments.jsonl"],
  ["runs/one/", "runs/one.judgments.jsonl"],
])("the judgments of %s lie in %s", (bundle, file) => {
  expect(judgmentFileOf(bundle)).toBe(file);
});
