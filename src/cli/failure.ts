import { isUpheldError, NonReplayableObservationError } from "../core/errors.ts";
import { printable } from "../report/printable.ts";
import { EXIT, exitOfError, exitOfSignal } from "./exit.ts";
import { Interrupted } from "./interrupt.ts";

export interface Failure {
  readonly exitCode: number;
  /** What to print on standard error. */
  readonly message: string;
}

/** One clear message for an error, and its exit code. What we did not foresee becomes a bug report. */
export function failureOf(error: unknown, version: string): Failure {
  if (error instanceof Interrupted)
    return { exitCode: exitOfSignal(error.signal), message: `upheld: ended by ${error.signal}\n` };
  if (isUpheldError(error) && exitOfError(error.code) !== EXIT.internal) {
    const lines = error.message.split("\n").map(printable).join("\n  ");
    const hint = exitOfError(error.code) === EXIT.usage && isAboutOptions(error) ? HINT : "";
    return { exitCode: exitOfError(error.code), message: `upheld: ${lines}${hint}\n` };
  }
  const shortage = shortageOf(error);
  return shortage === undefined
    ? { exitCode: EXIT.internal, message: bugReport(error, version) }
    : { exitCode: EXIT.infrastructure, message: `upheld: ${shortage}\n` };
}

/** What the machine had too little of: no fault of ours, and nothing that a report would help. */
const SHORTAGES: ReadonlyMap<unknown, string> = new Map([
  ["EMFILE", "this process may not open enough files at a time: raise the limit (ulimit -n 256)"],
  ["ENFILE", "the machine has too many files open"],
  ["ENOMEM", "the machine has no memory left"],
]);

function shortageOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const own = "code" in error ? SHORTAGES.get(error.code) : undefined;
  return own ?? shortageOf(error.cause);
}

const HINT = "\n  (upheld help COMMAND shows what can be said)";

function isAboutOptions(error: Error & { readonly code: string }): boolean {
  return error.code === "argument_invalid" && !(error instanceof NonReplayableObservationError);
}

/** What a bug report needs, and nothing of the machine's user: paths of the host are cut to their last names. */
function bugReport(error: unknown, version: string): string {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const cause = error instanceof Error && error.cause !== undefined ? causeOf(error.cause) : [];
  const lines = [
    "upheld: an internal error, which is a fault of this program. Please report this:",
    "",
    `  version   upheld ${version}, Node ${process.version}, ${process.platform} ${process.arch}`,
    ...withoutPaths(stack)
      .slice(0, 15)
      .map((line) => `  ${line}`),
    ...cause.map((line) => `  ${line}`),
    "",
  ];
  return `${lines.map(printable).join("\n")}\n`;
}

function causeOf(cause: unknown): readonly string[] {
  const text = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  return withoutPaths(`caused by ${text}`).slice(0, 5);
}

/** Our own files by their place in the package, all others by their last name. */
function withoutPaths(text: string): readonly string[] {
  return text
    .replaceAll(/(?:file:\/\/)?(?:\/[^\s:()'"]+)+\/(?=(?:dist|src|node_modules)\/)/g, "")
    .replaceAll(/(["'])\/(?:[^"'\n]*\/)?([^"'/\n]*)\1/g, "$1.../$2$1")
    .replaceAll(/(?<![\w./])(?:file:\/\/)?\/(?:[^\s:()'"/]+\/)+/g, ".../")
    .split("\n")
    .map((line) => line.slice(0, 300));
}
