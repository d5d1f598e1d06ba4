/**
 * Every way in which the caller, a file or the machine can be wrong. Not known is never an error: it is a gap.
 * A code is stable; the message is for people. `docs/errors.md` lists each with its meaning.
 */
export const ERROR_CODES = {
  argument_invalid: "An option or argument is not of the stated form.",
  locator_invalid: "A locator is not of the form NAME:/path, or names what no locator may name.",
  glob_invalid: "A pattern cannot be read, or would expand into too many.",
  matcher_invalid:
    "A matcher asks for something that no content could answer, such as an empty text.",
  expectation_invalid: "The expectation is not of the published form.",
  suite_invalid: "A suite, or a file of one of its scenarios, is not of the published form.",
  json_invalid: "A text is not the JSON that is accepted here, or a value has no JSON form.",
  kind_unknown: "A tag names no registered kind.",
  kind_registered_twice: "Two definitions claim one tag.",
  condition_unrouted: "No scorer declares the kind of this condition.",
  source_missing: "A condition names a root for which no source was given.",
  source_contract_broken: "A source returned something other than what it was asked for.",
  not_replayable: "The stored observation does not cover the question.",
  observation_changed: "An observation differs from its stored copy.",
  reference_invalid:
    "A message reference names nothing, several messages, or messages of several runs.",
  owner_conflict: "A conversation already belongs to another attempt.",
  run_unknown: "No stored run has this id.",
  root_changed: "The root changed since the run, at places that would be written.",
  isolation_unavailable: "Isolation was asked for and cannot be had.",
  agent_not_started: "The agent's command could not be started.",
  database_unavailable: "A database that was named cannot be opened.",
  package_missing: "An optional package is needed and not installed.",
  undetermined: "A matcher of a test could not be decided: it neither passes nor fails.",
  file_unreadable: "A file that was named on the command line cannot be read.",
  file_unwritable: "A file cannot be written, or is not ours to overwrite.",
  key_invalid: "A key is not one that can sign or verify: P-256, as PEM.",
  bundle_invalid: "A file is not an evidence bundle that can be read.",
  state_invalid: "A stored baseline or run cannot be read.",
  state_busy: "Another process is at work on what this one would change.",
  storage_unavailable: "The storage of blobs cannot be used, or is full.",
  address_unavailable: "An address cannot be listened on.",
  internal: "A fault of this program.",
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/** The one error class. Callers read `code`; `cause` holds what lay beneath. */
export class UpheldError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = "UpheldError";
    this.code = code;
  }
}

/** The stored observation cannot answer this question: another location, another kind, or evidence that is not there. */
export class NonReplayableObservationError extends UpheldError {
  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super("not_replayable", message, options);
    this.name = "NonReplayableObservationError";
  }
}

/** True for an error of this package, also one that another copy of it made. */
export function isUpheldError(error: unknown): error is UpheldError {
  return (
    error instanceof Error &&
    "code" in error &&
    typeof error.code === "string" &&
    Object.hasOwn(ERROR_CODES, error.code)
  );
}
