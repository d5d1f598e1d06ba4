import { readFileSync } from "node:fs";

const manifest = new URL("../../package.json", import.meta.url);

/** The package's `exports` that are code: the name a user imports and the built file behind it. */
export function exportsEntries(): { name: string; built: string; source: string }[] {
  const { exports } = JSON.parse(readFileSync(manifest, "utf8"));
  return Object.entries<{ default?: string }>(exports).flatMap(([entry, { default: built }]) =>
    built === undefined
      ? []
      : [
          {
            name: entry === "." ? "upheld" : `upheld/${entry.slice(2)}`,
            built: built.slice(2),
            source: built.replace("./dist/", "src/").replace(/\.js$/, ".ts"),
          },
        ],
  );
}

/** The sources behind the `exports`. */
export const entrySources = (): string[] => exportsEntries().map(({ source }) => source);
