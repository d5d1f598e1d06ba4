import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

// Every line of the list of confinement questions (L01-L60), and the faults that are this source's (F05...). Each has a test
// that names it, or a reason here.

const folder = fileURLToPath(new URL(".", import.meta.url));

const elsewhere: Readonly<Record<string, string>> = {
  L10: "together with L11 and L12 in confinement.test.ts",
  L12: "together with L10 and L11 in confinement.test.ts",
  L41: "names of Windows do not exist here: platform.test.ts, and the workflow on Windows",
  L50: "limits.test.ts is this line",
  L60: "seam.test.ts",
  F12: "loops of links are L06 to L08",
  F16: "odd names are L33 to L40",
  F32: "two sources on one root: two-sources.test.ts; two writers of one bundle: test/store/bundle-file.test.ts",
};

const lines = Array.from({ length: 60 }, (_, at) => `L${String(at + 1).padStart(2, "0")}`);
const numbers = [...range(5, 18), 23, 24, 25, 30, 31, 32];
const faults = numbers.map((number) => `F${String(number).padStart(2, "0")}`);

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

const text = readdirSync(folder)
  .filter((name) => name !== "list.test.ts")
  .map((name) => readFileSync(`${folder}/${name}`, "utf8"))
  .join("\n");

describe("every line of the lists", () => {
  test.each([...lines, ...faults])("%s has a test, or a reason", (id) => {
    expect(text.includes(id) || elsewhere[id] !== undefined).toBe(true);
  });

  test("no reason stands for a line that has no number", () => {
    const known = new Set([...lines, ...faults]);
    expect(Object.keys(elsewhere).filter((id) => !known.has(id))).toEqual([]);
  });
});
