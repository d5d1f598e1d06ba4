/** Set while a reporter counts what is undetermined: a test may then end as skipped without being overlooked. */
export const UNDETERMINED_VARIABLE = "UPHELD_UNDETERMINED";

/** The exit code of a run in which nothing failed, and something is undetermined. */
const EXIT_UNDETERMINED = 2;

/** A test as the reporter sees it. */
interface ReportedTest {
  readonly fullName: string;
  meta(): { readonly upheldUndetermined?: readonly string[] };
}

interface ReportedModule {
  readonly children: { allTests(): Iterable<ReportedTest> };
}

/** The part of a vitest reporter that this one has. */
export interface UndeterminedReporter {
  onInit(): void;
  onTestRunEnd(
    modules: readonly ReportedModule[],
    errors: readonly unknown[],
    reason: "passed" | "failed" | "interrupted",
  ): void;
}

/**
 * A reporter for `reporters` of vitest: undetermined tests end as skipped with their reason, are listed at the end and counted, and
 * the exit code is 2 where nothing else failed. Without it, what is undetermined is an error.
 */
export function undeterminedReporter(): UndeterminedReporter {
  return {
    onInit() {
      process.env[UNDETERMINED_VARIABLE] = "skip";
    },
    onTestRunEnd(modules, _errors, reason) {
      const tests = modules.flatMap((module) => [...module.children.allTests()]);
      const open = tests.flatMap((test) => {
        const reasons = test.meta().upheldUndetermined ?? [];
        return reasons.length === 0
          ? []
          : [`${test.fullName}\n${reasons.map(indented).join("\n")}`];
      });
      if (open.length === 0) return;
      const lines = [...open.map((each) => `  undetermined  ${each}`), ""];
      process.stdout.write(`\n${lines.join("\n")}  ${open.length} undetermined\n`);
      if (reason === "passed") process.exitCode = EXIT_UNDETERMINED;
    },
  };
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, "    ");
}
