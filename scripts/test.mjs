// @ts-check
// All gates, then all tests; the last line counts both. With file names or patterns, only those tests:
//   npm test                      everything
//   npm test -- test/core         the tests below a folder, without the gates
//   npm test -- --gates           the gates alone
//   npm run soak                  everything, with the long versions of the tests
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installIfNeeded } from "./install.mjs";

const args = process.argv.slice(2);
const soak = args.includes("--soak");
const gatesOnly = args.includes("--gates");
const patterns = args.filter((arg) => arg !== "--soak" && arg !== "--gates");

await installIfNeeded();
// Loaded after the install, since the gates are installed tools.
const { runGates } = await import("./gates.mjs");
const { runToEnd, toolScript } = await import("./project.mjs");

/** @returns {Promise<{ passed: number, failed: number, skipped: { name: string, reason?: string }[] }>} */
async function runTests() {
  const folder = mkdtempSync(join(tmpdir(), "upheld-counts-"));
  const file = join(folder, "counts.json");
  /** @type {Record<string, string>} */
  const env = soak ? { UPHELD_COUNTS: file, UPHELD_SOAK: "1" } : { UPHELD_COUNTS: file };
  try {
    const vitest = [toolScript("vitest"), "run", ...patterns];
    const { code } = await runToEnd(process.execPath, vitest, { inherit: true, env });
    const counts = JSON.parse(readFileSync(file, "utf8"));
    // A runner that ends badly with no failed test has failed all the same.
    return code !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
  } catch (error) {
    process.stdout.write(`the test runner left no counts: ${String(error)}\n`);
    return { passed: 0, failed: 1, skipped: [] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const none = { passed: 0, failed: 0, skipped: [] };
const gates = patterns.length > 0 ? none : await runGates();
const tests = gatesOnly ? none : await runTests();

let failed = gates.failed + tests.failed;
// A chosen part of the tests skips the rest of them, which needs no reason.
const complete = patterns.length === 0;
for (const { name, reason } of [...gates.skipped, ...tests.skipped]) {
  if (reason === undefined && !complete) continue;
  process.stdout.write(`skipped: ${name}: ${reason ?? "NO REASON GIVEN, which is a failure"}\n`);
  if (reason === undefined) failed += 1;
}
if (!gatesOnly && tests.passed + tests.failed === 0) {
  process.stdout.write("no test ran, which is a failure\n");
  failed += 1;
}
const passed = gates.passed + tests.passed;
const skipped = gates.skipped.length + tests.skipped.length;
process.exitCode = failed > 0 ? 1 : 0;
process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
