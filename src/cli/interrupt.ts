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
  /** Leaves Ctrl-C to someone else for as long as this answers true. */
  leaveKeysTo(owns: () => boolean): void;
}

const nobodys = (): boolean => false;

/** Turns the first signal into an abort, so that everything can be put away; the second ends this process at once. */
export function interruption(): Interruption {
  const controller = new AbortController();
  let isTheirs: () => boolean = nobodys;
  const onSignal = (signal: (typeof SIGNALS)[number]): void => {
    if (signal === "SIGINT" && isTheirs()) return;
    if (controller.signal.aborted) process.exit(exitOfSignal(signal));
    controller.abort(new Interrupted(signal));
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    signal: controller.signal,
    leaveKeysTo(owns) {
      isTheirs = owns;
    },
    [Symbol.dispose]() {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
}
