import { exitOfSignal } from "./exit.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The reason with which work is aborted when a signal asks us to end. */
export class Interrupted extends Error {
  readonly signal: (typeof SIGNALS)[number];

  constructor(signal: (typeof SIGNALS)[number]) {
    super(`ended by ${signal}`);
    this.name = "Interrupted";
    this.signal = signal;
  }
}

export interface Interruption extends Disposable {
  readonly signal: AbortSignal;
  /** Leaves Ctrl-C to an agent that has the terminal. */
  leaveKeys(): void;
  /** Takes it back. A key that ended the agent may reach us a moment after its end, and is still the agent's. */
  takeKeysBack(): void;
}

const LATE_KEY_MS = 250;

/** Turns the first signal into an abort, so that everything can be put away; the second ends this process at once. */
export function interruption(): Interruption {
  const controller = new AbortController();
  let isTheirs = false;
  const onSignal = (signal: (typeof SIGNALS)[number]): void => {
    if (signal === "SIGINT" && isTheirs) return;
    if (controller.signal.aborted) process.exit(exitOfSignal(signal));
    controller.abort(new Interrupted(signal));
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    signal: controller.signal,
    leaveKeys() {
      isTheirs = true;
    },
    takeKeysBack() {
      setTimeout(() => {
        isTheirs = false;
      }, LATE_KEY_MS).unref();
    },
    [Symbol.dispose]() {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
}
