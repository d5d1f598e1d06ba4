import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "vite";
import { describe, expect, test } from "vitest";
import { exportsEntries } from "./support/exports-entries.ts";

// The names that users can import, one list an entry. After a wanted change:
//   UPHELD_UPDATE_NAMES=1 npm test -- test/public-names.test.ts
const snapshotFile = fileURLToPath(new URL("public-names.snapshot.json", import.meta.url));
const projectFolder = fileURLToPath(new URL("../", import.meta.url));
const updating = process.env["UPHELD_UPDATE_NAMES"] === "1";

interface Names {
  readonly values: readonly string[];
  readonly types: readonly string[];
}

/** The names that a module exports, `export *` followed. */
function namesOf(path: string): Names {
  const values = new Set<string>();
  const types = new Set<string>();
  const { staticExports } = parseSync(path, readFileSync(path, "utf8")).module;
  for (const entry of staticExports.flatMap(({ entries }) => entries)) {
    const name = entry.exportName.name;
    if (name !== null) (entry.isType ? types : values).add(name);
    else if (entry.moduleRequest !== null) {
      const behind = namesOf(join(dirname(path), entry.moduleRequest.value));
      for (const value of behind.values) values.add(value);
      for (const type of behind.types) types.add(type);
    }
  }
  return {
    values: [...values].toSorted(),
    // A schema and its type share one name, which is then listed as a value.
    types: [...types].filter((type) => !values.has(type)).toSorted(),
  };
}

function readSnapshot(): Record<string, Names> {
  return existsSync(snapshotFile) ? JSON.parse(readFileSync(snapshotFile, "utf8")) : {};
}

describe.each(exportsEntries().map((entry) => [entry.name, entry] as const))(
  "%s",
  (name, { source, built }) => {
    const missing = !existsSync(join(projectFolder, source));

    test("exports the names of the snapshot", (context) => {
      context.skip(missing, `${source} is not written yet`);
      const names = namesOf(join(projectFolder, source));
      if (updating) {
        const next = Object.entries({ ...readSnapshot(), [name]: names });
        const sorted = Object.fromEntries(next.toSorted(([a], [b]) => (a < b ? -1 : 1)));
        writeFileSync(snapshotFile, `${JSON.stringify(sorted, undefined, 2)}\n`);
      }
      expect(names).toEqual(readSnapshot()[name]);
    });

    test("has exactly these values when a program loads it", async (context) => {
      context.skip(missing, `${source} is not written yet`);
      const loaded: object = await import(/* @vite-ignore */ join(projectFolder, built));
      expect(Object.keys(loaded).toSorted()).toEqual(namesOf(join(projectFolder, source)).values);
    });
  },
);

test("the snapshot names no entry that is gone", () => {
  const current = new Set(exportsEntries().map(({ name }) => name));
  expect(Object.keys(readSnapshot()).filter((name) => !current.has(name))).toEqual([]);
});

test.each(exportsEntries().map(({ name, source }) => [name, source] as const))(
  "%s lies where tsconfig.json looks for it",
  (name, source) => {
    const path = name.replace(/^upheld\/?/, "");
    const candidates =
      path === ""
        ? ["index.ts"]
        : [`${path}/index.ts`, `${path}/source.ts`, `integrations/${path}.ts`, `${path}.ts`];
    expect(candidates.map((candidate) => `src/${candidate}`)).toContain(source);
  },
);
