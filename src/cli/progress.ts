import { count, counted, duration } from "../report/bounds.ts";
import type { Terminal } from "./terminal.ts";

/** Tells of work while it goes on: a line that is written over on a terminal, a line at the end of each step elsewhere. */
export interface Progress {
  /** A figure that grows during a step. */
  update(step: string, entries: number): void;
  /** A step has ended. */
  done(step: string, text: string): void;
  /** Clears the line that is written over, before someone else prints. */
  clear(): void;
}

const MIN_INTERVAL_MS = 80;

export function progressOn(terminal: Terminal): Progress {
  let shown = false;
  let last = 0;
  const clear = (): void => {
    if (shown) terminal.err("\r\u001b[K");
    shown = false;
  };
  return {
    update(step, entries) {
      const now = performance.now();
      if (!terminal.livesOnErr || now - last < MIN_INTERVAL_MS) return;
      last = now;
      shown = true;
      terminal.err(`\r\u001b[K${stepLine(step, `${count(entries)} ...`)}`);
    },
    done(step, text) {
      clear();
      terminal.err(`${stepLine(step, text)}\n`);
    },
    clear,
  };
}

function stepLine(step: string, text: string): string {
  return `  ${step.padEnd(10)} ${text}`;
}

/** "12,431 locations in 0.4 s". */
export function countedIn(entries: number | undefined, milliseconds: number): string {
  const locations = entries === undefined ? "" : `${counted(entries, "location")} in `;
  return `${locations}${duration(milliseconds)}`;
}
