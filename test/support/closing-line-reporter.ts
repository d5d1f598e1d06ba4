import { writeFileSync } from "node:fs";
import type {
  Reporter,
  SerializedError,
  TestCase,
  TestModule,
  TestRunEndReason,
} from "vitest/node";

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly { readonly name: string; readonly reason: string | undefined }[];
}

type Ending = { state: "passed" | "failed" } | { state: "skipped"; reason: string | undefined };

function endingOf(test: TestCase): Ending {
  const result = test.result();
  if (result.state === "passed") return { state: "passed" };
  if (result.state === "skipped") {
    return { state: "skipped", reason: test.options.mode === "todo" ? "to do" : result.note };
  }
  // A test that never ended is not known to pass.
  return { state: "failed" };
}

function count(modules: readonly TestModule[], errors: readonly SerializedError[]): Counts {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const endings = tests.map((test) => ({ name: test.fullName, ...endingOf(test) }));
  // A file or a suite hook that breaks has no test of its own to fail.
  const broken = modules.flatMap((module) => [module, ...module.children.allSuites()]);
  const failures = broken.reduce((sum, part) => sum + part.errors().length, errors.length);
  return {
    passed: endings.filter((ending) => ending.state === "passed").length,
    failed: endings.filter((ending) => ending.state === "failed").length + failures,
    skipped: endings.flatMap((ending) =>
      ending.state === "skipped" ? [{ name: ending.name, reason: ending.reason }] : [],
    ),
  };
}

function print(counts: Counts): void {
  for (const { name, reason } of counts.skipped) {
    process.stdout.write(`skipped: ${name}: ${reason ?? "no reason given"}\n`);
  }
  const { passed, failed, skipped } = counts;
  process.stdout.write(`${passed} passed, ${failed} failed, ${skipped.length} skipped\n`);
}

/**
 * Counts every test once the run ends. With `UPHELD_COUNTS` the counts go to that file, for the
 * script that adds the gates to them; otherwise they are printed as the closing line.
 */
export default class ClosingLineReporter implements Reporter {
  onTestRunEnd(
    modules: readonly TestModule[],
    errors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    const counts = count(modules, errors);
    const settled = reason === "interrupted" ? { ...counts, failed: counts.failed + 1 } : counts;
    const file = process.env["UPHELD_COUNTS"];
    if (file === undefined || file === "") print(settled);
    else writeFileSync(file, JSON.stringify(settled));
  }
}
