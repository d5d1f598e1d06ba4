import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { schemaFiles } from "../../scripts/write-schemas.mjs";
import { tableFiles } from "../../scripts/write-tables.mjs";
import { Condition } from "../../src/core/condition.ts";
import { ERROR_CODES } from "../../src/core/errors.ts";
import { ExpectationFile } from "../../src/core/expectation.ts";
import { Gap, GAPS } from "../../src/core/gap.ts";
import { Identifier } from "../../src/core/identifier.ts";
import { LIMITS } from "../../src/core/limits.ts";
import { Matcher } from "../../src/core/matcher.ts";
import { Observation } from "../../src/core/observation.ts";
import { Run } from "../../src/core/run.ts";
import { Score } from "../../src/core/score.ts";
import { Verdict } from "../../src/core/verdict.ts";
import { HarnessResult } from "../../src/evidence/harness-result.ts";
import { Receipt } from "../../src/evidence/receipt.ts";
import { JudgeAnswer } from "../../src/judge/answer.ts";
import { JudgeIdentity, Judgment } from "../../src/judge/judgment.ts";
import { ScenarioFile } from "../../src/suite/scenario.ts";
import { created, file, observe } from "../worlds/observations.ts";

const written = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const schemas = schemaFiles({
  ExpectationFile,
  ScenarioFile,
  Condition,
  Matcher,
  Observation,
  Score,
  Run,
  Judgment,
  JudgeAnswer,
  JudgeIdentity,
  Gap,
  Verdict,
  Identifier,
  Receipt,
  HarnessResult,
});

describe("what is written from the code", () => {
  const pages = tableFiles({ GAPS, ERROR_CODES, LIMITS });
  test.each([...schemas, ...pages].map(({ path, text }) => [path, text] as const))(
    "%s is current (else run scripts/write-schemas.mjs or write-tables.mjs)",
    (path, text) => {
      // JSON is formatted like our other files once it is written.
      const read = path.endsWith(".json") ? JSON.parse : String;
      expect(read(written(path))).toEqual(read(text));
    },
  );
});

const schemaOf = (name: string) => {
  const text = written(`docs/spec/schemas/${name}.json`);
  return z.fromJSONSchema(JSON.parse(text));
};

const claims = (uri: unknown) => ({
  subGoals: [
    {
      name: "a",
      condition: { kind: "all", of: [{ kind: "not", of: { kind: "content_written", uri } }] },
    },
  ],
});

describe("a published schema", () => {
  test("takes what ours takes, and refuses what has no such form", () => {
    const observation = JSON.parse(
      JSON.stringify(observe({ entries: [created("workspace:/x", file("key"))] })),
    );
    expect(schemaOf("observation").safeParse(observation).error).toBeUndefined();
    expect(schemaOf("observation").safeParse({ ...observation, acquisition: "done" }).success).toBe(
      false,
    );
  });

  test("of claims reaches into nested conditions", () => {
    expect(schemaOf("expectation-file").safeParse(claims("workspace:/x")).error).toBeUndefined();
    expect(schemaOf("expectation-file").safeParse(claims(1)).success).toBe(false);
    expect(
      schemaOf("expectation-file").safeParse({ subGoals: [{ name: "a", judged: "It is kind" }] })
        .success,
    ).toBe(true);
  });
});
