import type { Writable } from "node:stream";

/** Where a command prints: `out` is the result, `err` is talk. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  /** Whether the result may be coloured. */
  readonly colour: boolean;
  /** Whether a line of progress may be written over. */
  readonly livesOnErr: boolean;
  /** Whether a person sits at both ends: an agent may be handed the keys. */
  readonly isInteractive: boolean;
}

/** The terminal of this process. A reader that goes away (EPIPE) ends the printing quietly. */
export function processTerminal(environment: NodeJS.ProcessEnv): Terminal {
  const out = quietly(process.stdout);
  const err = quietly(process.stderr);
  const plain = isSet(environment["NO_COLOR"]) || environment["TERM"] === "dumb";
  return {
    out,
    err,
    colour: process.stdout.isTTY && !plain,
    livesOnErr: process.stderr.isTTY && environment["TERM"] !== "dumb" && !isSet(environment["CI"]),
    isInteractive: process.stdin.isTTY && process.stdout.isTTY,
  };
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== "";
}

function quietly(stream: Writable): (text: string) => void {
  let gone = false;
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
    gone = true;
  });
  return (text) => {
    if (!gone) stream.write(text);
  };
}
