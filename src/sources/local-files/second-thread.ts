import { MessageChannel, receiveMessageOnPort, type MessagePort } from "node:worker_threads";
import type { ConfinedRoot } from "./confined.ts";
import type { Manifest, Node, SharedManifest } from "./manifest.ts";
import type { SharedMetadataList } from "./metadata.ts";
import type { Meter, SharedMeter } from "./meter.ts";
import type { ByteName } from "./name.ts";
import type { PlaceGap } from "./place-gap.ts";
import type { Miss, SharedReadingList } from "./reading-list.ts";

/** How long to sleep at a time while the other thread finishes. Being told ends the sleep. */
const WAIT_MS = 100;

/** How far the helping thread is with a work. */
export const HELP = { asked: 0, working: 1, ended: 2, unwanted: 3 } as const;

/** What a second thread can do beside the first. */
export type SharedWork =
  | { readonly kind: "contents"; readonly list: SharedReadingList }
  | { readonly kind: "metadata"; readonly list: SharedMetadataList };

/** What it tells at the end of a work: what does not fit into shared memory. */
export type ToldBySecond =
  | { readonly kind: "contents"; readonly misses: ReadonlyMap<number, Miss> }
  | {
      readonly kind: "metadata";
      readonly gaps: readonly PlaceGap[];
      readonly targets: ReadonlyMap<Node, ByteName>;
    };

/** What a second thread is started with. */
export interface HelpOrder {
  /** The root that is held here: the other thread must come to the same one. */
  readonly device: bigint;
  readonly inode: bigint;
  readonly meter: SharedMeter;
  /** One 32-bit number that becomes non-zero where the thread is no more. */
  readonly gone: SharedArrayBuffer;
  /** Where it hears of work, and tells. */
  readonly port: MessagePort;
}

/** A work that it is to take part in. */
export interface WorkOrder {
  readonly tree: SharedManifest;
  readonly work: SharedWork;
  /** One of `HELP`. */
  readonly state: SharedArrayBuffer;
}

/** Has a second thread started, by whom that can be done. */
export type AskForHelp = (order: HelpOrder) => void;

/** A work that was handed over. */
export interface SharedTask {
  /** One of `HELP`. */
  readonly state: Int32Array;
  /** Until the other thread has ended; one that has not begun yet is not waited for. Undefined where it told nothing. */
  wait(): ToldBySecond | undefined;
}

/** A thread that works beside this one for the length of a task. It is started when it is first wanted. */
export class SecondThread {
  readonly #askForHelp: AskForHelp;
  readonly #root: ConfinedRoot;
  readonly #meter: SharedMeter;
  readonly #gone = new Int32Array(new SharedArrayBuffer(4));
  readonly #channel = new MessageChannel();
  #isStarted = false;

  private constructor(askForHelp: AskForHelp, root: ConfinedRoot, meter: SharedMeter) {
    this.#askForHelp = askForHelp;
    this.#root = root;
    this.#meter = meter;
  }

  /** Undefined where none can be started, or where it could not be stopped together with this one. */
  static of(
    askForHelp: AskForHelp | undefined,
    root: ConfinedRoot,
    meter: Meter,
  ): SecondThread | undefined {
    const shared = askForHelp === undefined ? undefined : meter.share();
    return askForHelp === undefined || shared === undefined
      ? undefined
      : new SecondThread(askForHelp, root, shared);
  }

  /** Has it started, so that it is there by the time there is work. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    const { rootStat } = this.#root;
    this.#askForHelp({
      device: rootStat.dev,
      inode: rootStat.ino,
      meter: this.#meter,
      gone: this.#gone.buffer,
      port: this.#channel.port2,
    });
  }

  share(work: SharedWork, tree: Manifest): SharedTask {
    this.start();
    const state = new Int32Array(new SharedArrayBuffer(4));
    // It follows no link.
    const shared = { ...tree.share(), targets: new Map() };
    const order: WorkOrder = { tree: shared, work, state: state.buffer };
    this.#channel.port1.postMessage(order);
    return { state, wait: () => this.#wait(state) };
  }

  #wait(state: Int32Array): ToldBySecond | undefined {
    if (Atomics.compareExchange(state, 0, HELP.asked, HELP.unwanted) === HELP.asked)
      return undefined;
    while (Atomics.load(state, 0) === HELP.working && Atomics.load(this.#gone, 0) === 0)
      Atomics.wait(state, 0, HELP.working, WAIT_MS);
    const told: { readonly message: ToldBySecond } | undefined = receiveMessageOnPort(
      this.#channel.port1,
    );
    return told?.message;
  }

  /** Lets it end. */
  [Symbol.dispose](): void {
    this.#channel.port1.close();
  }
}
