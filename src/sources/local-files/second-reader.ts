import { workerData } from "node:worker_threads";
import type { Matcher } from "../../core/matcher.ts";
import type { ConfinedRoot } from "./confined.ts";
import { readFiles, type Prober } from "./list-reader.ts";
import { Manifest } from "./manifest.ts";
import { Aborted, Meter } from "./meter.ts";
import { openConfinedRoot } from "./open-root.ts";
import { ReadingList } from "./reading-list.ts";
import { HELP, type HelpOrder } from "./reading-team.ts";

type Help = HelpOrder & { readonly directory: string };

/** Reads beside the worker until the list is empty, through a handle of its own on the same root. */
async function help(order: Help): Promise<void> {
  const state = new Int32Array(order.state);
  const prober = await proberFor(order.list.probes);
  if (Atomics.compareExchange(state, 0, HELP.asked, HELP.working) !== HELP.asked) return;
  try {
    read(order, prober);
  } catch (error) {
    // The worker stops at the same flag.
    if (!(error instanceof Aborted)) throw error;
  } finally {
    Atomics.store(state, 0, HELP.ended);
    Atomics.notify(state, 0);
  }
}

/** Matchers are loaded only where there are any: that takes longer than the start of the thread. */
async function proberFor(probes: readonly Matcher[]): Promise<Prober> {
  if (probes.length === 0) return () => [];
  const { proberOf } = await import("./probe.ts");
  return proberOf(probes);
}

function read(order: Help, prober: Prober): void {
  using confined = openSameRoot(order);
  if (confined === undefined) return;
  const list = ReadingList.of(order.list);
  const tree = Manifest.of(order.tree);
  const meter = Meter.of(order.meter);
  const known = new Set(list.misses.keys());
  try {
    readFiles(list, { confined, tree, meter, prober });
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
await help(workerData as Help);
