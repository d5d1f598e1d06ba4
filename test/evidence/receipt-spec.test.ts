import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ADMISSION_FAULTS, ARTIFACT_KINDS } from "../../src/evidence/artifact-kinds.ts";
import { ARTIFACT_HEADERS, DELIVERY_ERRORS } from "../../src/evidence/delivery-answers.ts";
import { RECEIPT_FAULTS } from "../../src/evidence/read-receipt.ts";

const page = readFileSync(new URL("../../docs/spec/receipts.md", import.meta.url), "utf8");

/** The cells of the table rows whose first cell is code, under a heading. */
function rowsUnder(heading: string): readonly (readonly string[])[] {
  const table = page.slice(page.indexOf(heading)).split("\n\n")[0] ?? "";
  return [...table.matchAll(/^\| `(?<key>[a-z_-]+)` \| (?<rest>.+) \|$/gm)].map(({ groups }) => [
    groups?.["key"] ?? "",
    ...(groups?.["rest"] ?? "").split(" | "),
  ]);
}

test.each([
  ["| reason | meaning |", RECEIPT_FAULTS],
  ["| refused as | meaning |", ADMISSION_FAULTS],
])("the specification explains every answer in the words of the code: %s", (heading, table) => {
  expect(Object.fromEntries(rowsUnder(heading))).toEqual(table);
});

test("the specification has every error of the wire", () => {
  const written = rowsUnder("| code | status |").map(([code = "", status, meaning]) => [
    code,
    { status: Number(status), meaning },
  ]);
  expect(Object.fromEntries(written)).toEqual(DELIVERY_ERRORS);
});

test("the specification has every header of an upload", () => {
  const written = rowsUnder("| header | required |").map(([header]) => header);
  expect(written).toEqual(Object.values(ARTIFACT_HEADERS));
});

test("the specification has the table of kinds of the code", () => {
  const written = rowsUnder("| kind | holds |").map(([kind = "", holds, level = "", reserved]) => [
    kind,
    { meaning: holds, from: level.replaceAll("`", ""), reserved: reserved === "yes" },
  ]);
  expect(Object.fromEntries(written)).toEqual(ARTIFACT_KINDS);
});
