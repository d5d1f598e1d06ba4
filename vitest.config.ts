import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const soak = process.env["UPHELD_SOAK"] === "1";

/** Each `exports` entry, resolved to the source that it is built from. */
function ownEntries(): { find: RegExp; replacement: string }[] {
  const { exports } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
  return Object.entries<{ default?: string }>(exports).flatMap(([entry, target]) => {
    const built = target.default;
    if (built === undefined) return [];
    const source = built.replace("./dist/", "./src/").replace(/\.js$/, ".ts");
    const name = entry === "." ? "upheld" : `upheld/${entry.slice(2)}`;
    return [
      {
        find: new RegExp(`^${name}$`),
        replacement: fileURLToPath(new URL(source, import.meta.url)),
      },
    ];
  });
}

export default defineConfig({
  resolve: { alias: ownEntries() },
  // Node 20 does not know `using`.
  oxc: { target: "es2023" },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/build-once.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: soak ? 1_800_000 : 30_000,
    hookTimeout: 60_000,
    reporters: ["default", "./test/support/closing-line-reporter.ts"],
    coverage: { include: ["src/**"] },
  },
});
