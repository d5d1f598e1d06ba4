import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { BUNDLE_FAULTS } from "../../src/evidence/faults.ts";

test("the specification explains every answer, in the words of the code", () => {
  const page = readFileSync(new URL("../../docs/spec/bundle.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `(?<reason>[a-z]+_[a-z]+)` \| (?<meaning>[^|]+) \|$/gm)];
  const explained = rows.map(({ groups }) => [groups?.["reason"], groups?.["meaning"]]);
  expect(Object.fromEntries(explained)).toEqual(BUNDLE_FAULTS);
});
