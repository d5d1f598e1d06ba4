import { workerData } from "node:worker_threads";
import type { Matcher } from "../../core/matcher.ts";
import type { ConfinedRoot } from "./confined.ts";
import { readFiles, type Prober } from "./list-reader.ts";
import { Manifest } from "./manifest.ts";
import { MetadataList, readMetadata, type MetadataPlace } from "./metadata.ts";
import { Aborted, Meter } from "./meter.ts";
import { openConfinedRoot } from "./open-root.ts";
import { ReadingList, type SharedReadingList } from "./reading-list.ts";
import {
  HELP,
  type HelpOrder,
  type SharedWork,
  type ToldBySecond,
  type WorkOrder,
} from "./second-thread.ts";

type Help = HelpOrder & { readonly directory: string };

/** Works beside the worker until the list is empty, through a handle of its own on the same root. */
async function help(order: Help, { tree, work, state: memory }: WorkOrder): Promise<void> {
  const state = new Int32Array(memory);
  const prober = await proberFor(work.kind === "contents" ? work.list.probes : []);
  if (Atomics.compareExchange(state, 0, HELP.asked, HELP.working) !== HELP.asked) return;
  try {
    takePart(order, work, { tree: Manifest.of(tree), prober });
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

function takePart(
  order: Help,
  work: SharedWork,
  { tree, prober }: { readonly tree: Manifest; readonly prober: Prober },
): void {
  using confined = openSameRoot(order);
  if (confined === undefined) return;
  const place = { confined, tree, meter: Meter.of(order.meter) };
  const tell = (told: ToldBySecond): void => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    order.port.postMessage(told);
  };
  switch (work.kind) {
    case "contents":
      readContents(work.list, { ...place, prober }, tell);
      return;
    case "metadata":
      tell({
        kind: "metadata",
        gaps: readMetadata(new MetadataList(work.list), place),
        targets: place.tree.targets,
      });
  }
}

function readContents(
  shared: SharedReadingList,
  place: MetadataPlace & { readonly prober: Prober },
  tell: (told: ToldBySecond) => void,
): void {
  const list = ReadingList.of(shared);
  const known = new Set(list.misses.keys());
  try {
    readFiles(list, place);
  } finally {
    const misses = new Map([...list.misses].filter(([index]) => !known.has(index)));
    tell({ kind: "contents", misses });
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

// Given by the client that starts this thread, which ends when the worker closes the port.
const order = workerData as Help;
order.port.on("message", (work: WorkOrder) => {
  void help(order, work);
});
