import { join } from "node:path";
import { isUpheldError } from "../core/errors.ts";
import { collectorClient } from "../deliver/client.ts";
import { systemDeliveryTime } from "../deliver/delivery-time.ts";
import { drainSpool, type Drained, type Stop, type Told } from "../deliver/drain.ts";
import { removeSpool, Spool } from "../deliver/spool.ts";
import { counted } from "../report/bounds.ts";
import { printable } from "../report/printable.ts";
import type { StateFolder } from "../store/state-folder.ts";
import type { CommandContext } from "./command.ts";
import { spoolBundle } from "./deliver-bundle.ts";
import type { AskedDelivery, RunDelivery } from "./delivery-options.ts";
import { EXIT } from "./exit.ts";
import type { Terminal } from "./terminal.ts";

/** Where the spools of runs lie, a folder a run. */
export function deliveriesFolder({ path }: { readonly path: string }): string {
  return join(path, "deliveries");
}

/** The reason with which sending is aborted when the window closes. */
class WindowClosed extends Error {
  constructor(windowMs: number) {
    super(`the collector took longer than ${windowMs / 1000} s`);
  }
}

/** Delivers a sealed run: first into a spool, then to the collector. Gives the exit code: 0 or infrastructure. */
export async function deliverRun(
  bundle: string,
  { destination, level, windowMs }: RunDelivery,
  { state, runId }: { readonly state: StateFolder; readonly runId: string },
  { terminal, interruption }: CommandContext,
): Promise<number> {
  const folder = join(deliveriesFolder(state), runId);
  try {
    using spool = new Spool(folder);
    const { withheld } = await spoolBundle(spool, bundle, { to: destination.url, level });
    if (withheld !== null) terminal.err(line(`evidence is not sent: ${withheld}`));
  } catch (error) {
    // The run itself has been told and saved: this is the delivery's failure alone.
    if (!isUpheldError(error)) throw error;
    terminal.err(line(`nothing is delivered: ${error.message}`));
    return EXIT.infrastructure;
  }
  const closed = new AbortController();
  const timer = setTimeout(() => closed.abort(new WindowClosed(windowMs)), windowMs);
  try {
    const signal = AbortSignal.any([interruption.signal, closed.signal]);
    const drained = await emptySpool(folder, { destination, signal, terminal });
    if (drained.waiting > 0) terminal.err(line(`to send it later: ${laterText(folder, drained)}`));
    return exitOfDrained(drained);
  } finally {
    clearTimeout(timer);
  }
}

function laterText(folder: string, { stopped }: Drained): string {
  const hint = stopped === "fenced" ? " (with another token)" : "";
  return `upheld deliver ${printable(folder)} --token env:VAR${hint}`;
}

/** Sends what waits in a spool for one collector, says what became of it, and removes the spool when it is empty. */
export async function emptySpool(
  folder: string,
  {
    destination,
    signal,
    terminal,
  }: {
    readonly destination: AskedDelivery["destination"];
    readonly signal: AbortSignal;
    readonly terminal: Terminal;
  },
): Promise<Drained> {
  const drained = await drainInto(folder, destination, { signal, terminal });
  if (drained.waiting === 0 && !removeSpool(folder))
    terminal.err(line(`what was refused is kept in ${printable(folder)}`));
  return drained;
}

async function drainInto(
  folder: string,
  destination: AskedDelivery["destination"],
  { signal, terminal }: { readonly signal: AbortSignal; readonly terminal: Terminal },
): Promise<Drained> {
  using spool = new Spool(folder);
  const client = collectorClient(destination, { time: systemDeliveryTime });
  const tell = (told: Told): void => terminal.err(line(toldText(told)));
  try {
    const drained = await drainSpool(spool, { to: destination.url, client, tell, signal });
    if (drained.stopped !== null) terminal.err(line(STOPPED[drained.stopped]));
    return drained;
  } catch (error) {
    if (!(error instanceof WindowClosed)) throw error;
    terminal.err(line(error.message));
    return { ...NOTHING, waiting: spool.waiting.length, stopped: "unanswered" };
  }
}

const NOTHING = { delivered: 0, superseded: 0, refused: 0, withoutArtifacts: 0 };

const STOPPED: Readonly<Record<Stop, string>> = {
  fenced: "the collector does not accept the token: nothing more is sent",
  foreign: "what answers at this address is no collector: nothing more is sent",
  unanswered: "the collector does not answer: everything is kept",
};

/** 0 where all was received, or overtaken by a newer attempt. */
export function exitOfDrained({ waiting, refused, stopped }: Drained): number {
  return waiting === 0 && refused === 0 && stopped === null ? EXIT.asExpected : EXIT.infrastructure;
}

export function drainedText({ delivered, superseded, refused, waiting }: Drained): string {
  return [
    `${counted(delivered, "receipt")} delivered`,
    ...(superseded > 0 ? [`${superseded} superseded by a newer attempt`] : []),
    ...(refused > 0 ? [`${refused} refused`] : []),
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
  ].join(", ");
}

function toldText({ entry, what, answer }: Told): string {
  const name = what === "receipt" ? "receipt" : what.kind;
  const { scenarioKey, scenarioAttempt } = entry.receipt;
  const of = `${printable(scenarioKey)} attempt ${scenarioAttempt}`;
  switch (answer.kind) {
    case "received":
      return `${name} of ${of} ${answer.duplicate ? "was there already" : "received"}`;
    case "refused":
      return `${name} of ${of} refused (${answer.code})${what === "receipt" ? "" : ": the receipt goes without it and says so"}`;
    case "fenced":
    case "foreign":
      return `${name} of ${of} not received (status ${answer.status})`;
    case "unanswered":
      return `${name} of ${of} not received after ${counted(answer.tries, "try", "tries")} (${answer.reason})`;
  }
}

function line(text: string): string {
  return `  deliver    ${text}\n`;
}
