import { MessageChannel, receiveMessageOnPort, type MessagePort } from "node:worker_threads";
import { UpheldError } from "../../core/errors.ts";
import { readFiles, type ReadingPlace } from "./list-reader.ts";
import type { SharedManifest } from "./manifest.ts";
import type { SharedMeter } from "./meter.ts";
import type { Miss, ReadingList, SharedReadingList } from "./reading-list.ts";

/** From so many files, or so many bytes, on a second thread is worth its start. */
const MANY_FILES = 20_000;
const MANY_BYTES = 64 << 20;

/** How long to sleep at a time while the other thread finishes. Being told ends the sleep. */
const WAIT_MS = 100;

/** How far the helping thread is. The main thread sets `ended` where that thread broke. */
export const HELP = { asked: 0, working: 1, ended: 2, unwanted: 3 } as const;

/** What a second thread needs to read files of a list. */
export interface HelpOrder {
  /** The root that is held here: the other thread must come to the same one. */
  readonly device: bigint;
  readonly inode: bigint;
  readonly tree: SharedManifest;
  readonly list: SharedReadingList;
  readonly meter: SharedMeter;
  /** One of `HELP`. */
  readonly state: SharedArrayBuffer;
  /** Where it says what it could not read. */
  readonly port: MessagePort;
}

/** Has a second thread started, by whom that can be done. */
export type AskForHelp = (order: HelpOrder) => void;

/** Reads all files of a list, with a second thread where there are many. Throws `Aborted`, and "internal" where that thread broke. */
export function readAll(
  list: ReadingList,
  place: ReadingPlace,
  plannedBytes: number,
  askForHelp: AskForHelp | undefined,
): void {
  const meter =
    askForHelp !== undefined && (list.count > MANY_FILES || plannedBytes > MANY_BYTES)
      ? place.meter.share()
      : undefined;
  if (meter === undefined || askForHelp === undefined) {
    readFiles(list, place);
    return;
  }
  const second = new SecondReader();
  askForHelp(second.order(list, place, meter));
  try {
    readFiles(list, place);
  } finally {
    second.wait(list);
  }
  if (list.waiting() > 0)
    throw new UpheldError("internal", "the second reading thread left files unread");
}

class SecondReader {
  readonly #state = new Int32Array(new SharedArrayBuffer(4));
  readonly #channel = new MessageChannel();

  order(list: ReadingList, { confined, tree }: ReadingPlace, meter: SharedMeter): HelpOrder {
    const { rootStat } = confined;
    return {
      device: rootStat.dev,
      inode: rootStat.ino,
      // It follows no link.
      tree: { ...tree.share(), targets: new Map() },
      list: list.share(),
      meter,
      state: this.#state.buffer,
      port: this.#channel.port2,
    };
  }

  /** Until it has ended; one that has not begun yet is not waited for. */
  wait(list: ReadingList): void {
    const state = Atomics.compareExchange(this.#state, 0, HELP.asked, HELP.unwanted);
    if (state !== HELP.asked)
      while (Atomics.load(this.#state, 0) === HELP.working)
        Atomics.wait(this.#state, 0, HELP.working, WAIT_MS);
    const told: { readonly message: ReadonlyMap<number, Miss> } | undefined = receiveMessageOnPort(
      this.#channel.port1,
    );
    if (told !== undefined) list.addMisses(told.message);
    this.#channel.port1.close();
  }
}
