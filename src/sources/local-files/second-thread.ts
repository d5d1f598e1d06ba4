import { MessageChannel, receiveMessageOnPort, type MessagePort } from "node:worker_threads";
import type { ConfinedRoot } from "./confined.ts";
import type { Manifest, Node, SharedManifest } from "./manifest.ts";
import type { SharedMetadataList } from "./metadata.ts";
import type { SharedMeter } from "./meter.ts";
import type { ByteName } from "./name.ts";
import type { PlaceGap } from "./place-gap.ts";
import type { Miss, SharedReadingList } from "./reading-list.ts";

/** How long to sleep at a time while the other thread finishes. Being told ends the sleep. */
const WAIT_MS = 100;

/** How far the helping thread is. The main thread sets `ended` where that thread broke. */
export const HELP = { asked: 0, working: 1, ended: 2, unwanted: 3 } as const;

/** What a second thread can do beside the first. */
export type SharedWork =
  | { readonly kind: "contents"; readonly list: SharedReadingList }
  | { readonly kind: "metadata"; readonly list: SharedMetadataList };

/** What it tells at its end: what does not fit into shared memory. */
export type ToldBySecond =
  | { readonly kind: "contents"; readonly misses: ReadonlyMap<number, Miss> }
  | {
      readonly kind: "metadata";
      readonly gaps: readonly PlaceGap[];
      readonly targets: ReadonlyMap<Node, ByteName>;
    };

/** What a second thread needs to take part. */
export interface HelpOrder {
  /** The root that is held here: the other thread must come to the same one. */
  readonly device: bigint;
  readonly inode: bigint;
  readonly tree: SharedManifest;
  readonly work: SharedWork;
  readonly meter: SharedMeter;
  /** One of `HELP`. */
  readonly state: SharedArrayBuffer;
  /** Where it tells. */
  readonly port: MessagePort;
}

/** Has a second thread started, by whom that can be done. */
export type AskForHelp = (order: HelpOrder) => void;

/** The root and the tree that both threads work on. */
interface Place {
  readonly confined: ConfinedRoot;
  readonly tree: Manifest;
}

/** A thread that works beside this one, once. */
export class SecondThread {
  readonly #state = new Int32Array(new SharedArrayBuffer(4));
  readonly #channel = new MessageChannel();

  order(work: SharedWork, { confined, tree }: Place, meter: SharedMeter): HelpOrder {
    const { rootStat } = confined;
    return {
      device: rootStat.dev,
      inode: rootStat.ino,
      // It follows no link.
      tree: { ...tree.share(), targets: new Map() },
      work,
      meter,
      state: this.#state.buffer,
      port: this.#channel.port2,
    };
  }

  /** Until it has ended; one that has not begun yet is not waited for. Undefined where it told nothing. */
  wait(): ToldBySecond | undefined {
    const state = Atomics.compareExchange(this.#state, 0, HELP.asked, HELP.unwanted);
    if (state !== HELP.asked)
      while (Atomics.load(this.#state, 0) === HELP.working)
        Atomics.wait(this.#state, 0, HELP.working, WAIT_MS);
    const told: { readonly message: ToldBySecond } | undefined = receiveMessageOnPort(
      this.#channel.port1,
    );
    this.#channel.port1.close();
    return told?.message;
  }
}
