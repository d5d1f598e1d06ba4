import type { Writable } from "node:stream";

/** Where a command prints: `out` is the result, `err` is talk. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  /** From now on, everything that is printed is put through this first. */
  hide(mask: (text: string) => string): void;
  /** Whether the result may be coloured. */
  readonly colour: boolean;
  /** Whether a line of progress may be written over. */
  readonly livesOnErr: boolean;
  /** Whether a person sits at both ends: an agent may be handed the keys. */
  readonly isInteractive: boolean;
}

/** The terminal of this process. A reader that goes away (EPIPE) ends the printing quietly. */
export function processTerminal(environment: NodeJS.ProcessEnv): Terminal {
  const print = { out: quietly(process.stdout), err: quietly(process.stderr) };
  let mask = asItIs;
  const plain = isSet(environment["NO_COLOR"]) || environment["TERM"] === "dumb";
  return {
    out: (text) => print.out(mask(text)),
    err: (text) => print.err(mask(text)),
    hide: (next) => {
      mask = next;
    },
    colour: process.stdout.isTTY && !plain,
    livesOnErr: process.stderr.isTTY && environment["TERM"] !== "dumb" && !isSet(environment["CI"]),
    isInteractive: process.stdin.isTTY && process.stdout.isTTY,
  };
}

function asItIs(text: string): string {
  return text;
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
