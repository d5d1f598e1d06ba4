import { appendFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { basename, dirname, join, resolve } from "node:path";
import { isUpheldError, UpheldError } from "../core/errors.ts";
import { githubAnnotations, githubSummary } from "../report/github.ts";
import { junitXml } from "../report/junit.ts";
import type { ReportedGroup } from "../report/outcome.ts";
import { printable } from "../report/printable.ts";
import { sarifLog } from "../report/sarif.ts";
import { systemCode } from "../store/system-code.ts";
import type { CommandContext } from "./command.ts";
import { EXIT, UNDETERMINED_POLICIES, type UndeterminedPolicy } from "./exit.ts";
import { usage, type Parsed } from "./options.ts";

const FORMATS = ["junit", "sarif", "github"] as const;
type Format = (typeof FORMATS)[number];

/** The options of every command that tells how sub-goals came out. */
export const REPORT_OPTIONS = {
  report: {
    value: "FORMAT=FILE",
    multiple: true,
    help: "also as junit=FILE, sarif=FILE, or github (summary and annotations of a step)",
  },
  undetermined: {
    value: "POLICY",
    help: "exit code of what is not known: neutral (2, the default), fail (1), pass (0)",
  },
} as const;

interface AskedReport {
  readonly format: Format;
  readonly file: string;
}

/** The reports that were asked for, and what is made of what is not known. */
export interface AskedReports {
  readonly reports: readonly AskedReport[];
  readonly policy: UndeterminedPolicy;
}

/**
 * Reads the options. Throws "argument_invalid" on a format that is none or goes nowhere, and "file_unwritable" where a folder is
 * missing: both before anything is started.
 */
export function askedReports(parsed: Parsed, environment: NodeJS.ProcessEnv): AskedReports {
  const reports = parsed.many("report").map((text) => reportOf(text, environment));
  for (const { file } of reports) refuseNoFolder(file);
  return { reports, policy: policyOf(parsed.one("undetermined")) };
}

function reportOf(text: string, environment: NodeJS.ProcessEnv): AskedReport {
  const [, name = text, given = ""] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  const format = FORMATS.find((each) => each === name);
  if (format === undefined)
    throw usage(`--report ${text}: expected junit=FILE, sarif=FILE, github or github=FILE`);
  const file = given === "" && format === "github" ? environment["GITHUB_STEP_SUMMARY"] : given;
  if (file !== undefined && file !== "") return { format, file };
  throw usage(
    format === "github"
      ? "--report github: GITHUB_STEP_SUMMARY is not set: write --report github=FILE elsewhere"
      : `--report ${name}: the file is missing: write --report ${name}=FILE`,
  );
}

function policyOf(text: string | undefined): UndeterminedPolicy {
  const policy = UNDETERMINED_POLICIES.find((each) => each === (text ?? "neutral"));
  if (policy !== undefined) return policy;
  throw usage(`--undetermined ${text}: expected one of ${UNDETERMINED_POLICIES.join(", ")}`);
}

function refuseNoFolder(file: string): void {
  const folder = dirname(resolve(file));
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new UpheldError("file_unwritable", `cannot write ${file}: its directory is not there`);
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory() === true)
    throw new UpheldError("file_unwritable", `cannot write ${file}: it is a directory`);
}

/**
 * Writes what was asked for and gives the exit code: the one that was come to, or infrastructure where that is 0 and a report could
 * not be written. A report that stood there before is then as it was.
 */
export function concluded(
  exitCode: number,
  groups: readonly ReportedGroup[],
  { reports }: AskedReports,
  context: Pick<CommandContext, "terminal" | "version">,
): number {
  try {
    for (const each of reports) writeReport(each, groups, context);
    return exitCode;
  } catch (error) {
    // What was come to has been told, and stays.
    if (!isUpheldError(error)) throw error;
    context.terminal.err(`upheld: ${printable(error.message)}\n`);
    return exitCode === EXIT.asExpected ? EXIT.infrastructure : exitCode;
  }
}

function writeReport(
  { format, file }: AskedReport,
  groups: readonly ReportedGroup[],
  { terminal, version }: Pick<CommandContext, "terminal" | "version">,
): void {
  switch (format) {
    case "junit":
      writeWhole(file, junitXml(groups));
      break;
    case "sarif":
      writeWhole(file, `${JSON.stringify(sarifLog(groups, version), undefined, 2)}\n`);
      break;
    case "github":
      // Earlier steps may have written to it.
      orUnwritable(file, () => appendFileSync(file, githubSummary(groups)));
      terminal.err(githubAnnotations(groups));
  }
}

function writeWhole(file: string, text: string): void {
  const name = `.upheld-tmp-${process.pid}-${randomBytes(8).toString("hex")}-${basename(file)}`;
  const temporary = join(dirname(file), name);
  orUnwritable(file, () => {
    try {
      writeFileSync(temporary, text);
      renameSync(temporary, file);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
  });
}

function orUnwritable(file: string, write: () => void): void {
  try {
    write();
  } catch (cause) {
    throw new UpheldError("file_unwritable", `cannot write ${file}: ${systemCode(cause)}`, {
      cause,
    });
  }
}
