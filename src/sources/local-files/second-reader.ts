import { workerData } from "node:worker_threads";
import { readFiles } from "./list-reader.ts";
import { Manifest } from "./manifest.ts";
import { Aborted, Meter } from "./meter.ts";
import type { ConfinedRoot } from "./confined.ts";
import { openConfinedRoot } from "./open-root.ts";
import { proberOf } from "./probe.ts";
import { ReadingList } from "./reading-list.ts";
import { HELP, type HelpOrder } from "./reading-team.ts";

type Help = HelpOrder & { readonly directory: string };

/** Reads beside the worker until the list is empty, through a handle of its own on the same root. */
function help(order: Help): void {
  const state = new Int32Array(order.state);
  if (Atomics.compareExchange(state, 0, HELP.asked, HELP.working) !== HELP.asked) return;
  try {
    read(order);
  } catch (error) {
    // The worker stops at the same flag.
    if (!(error instanceof Aborted)) throw error;
  } finally {
    Atomics.store(state, 0, HELP.ended);
    Atomics.notify(state, 0);
  }
}

function read(order: Help): void {
  using confined = openSameRoot(order);
  if (confined === undefined) return;
  const list = ReadingList.of(order.list);
  const tree = Manifest.of(order.tree);
  const meter = Meter.of(order.meter);
  const known = new Set(list.misses.keys());
  try {
    readFiles(list, { confined, tree, meter, prober: proberOf(list.probes) });
  } finally {
    const misses = [...list.misses].filter(([index]) => !known.has(index));
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    order.port.postMessage(new Map(misses));
  }
}

/** Undefined where the root cannot be opened, or another directory stands there: then the worker reads alone. */
function openSameRoot({ directory, device, inode }: Help): ConfinedRoot | undefined {
  let confined: ConfinedRoot;
  try {
    confined = openConfinedRoot(directory);
  } catch {
    return undefined;
  }
  if (confined.rootStat.dev === device && confined.rootStat.ino === inode) return confined;
  confined[Symbol.dispose]();
  return undefined;
}

// Given by the client that starts this thread.
help(workerData as Help);
