import type { ByteName } from "./name.ts";
import type { GapCode } from "../../core/gap.ts";
import { exactGlob, parseGlob } from "../../core/glob.ts";
import { UpheldError } from "../../core/errors.ts";
import { loadSnapshot, saveSnapshot } from "./baseline-file.ts";
import { errnoOf, type ConfinedRoot } from "./confined.ts";
import { fileSystemNow, flushFileSystem, isLocalDisk } from "./filesystem.ts";
import type { Meter } from "./meter.ts";
import { observeOverlay, observeRoot, type Request } from "./observe.ts";
import { openConfinedRoot } from "./open-root.ts";
import type {
  BaselineFacts,
  PlainRequest,
  Result,
  RootUnavailable,
  Task,
  WorkerRoot,
} from "./protocol.ts";
import { SecondThread, type AskForHelp } from "./second-thread.ts";
import { shareLook } from "./shared-look.ts";
import { takeSnapshot, type Snapshot } from "./snapshot.ts";

/**
 * Does the work of a source, one task after another, all of it synchronous: on a local disk this is several times faster than
 * asynchronous calls. Holds the baselines that were taken. Throws `Aborted` once told to stop.
 */
export class TaskRunner {
  readonly #root: WorkerRoot;
  readonly #open: (directory: string) => ConfinedRoot;
  readonly #snapshots = new Map<number, Snapshot>();
  /** Where the root of a baseline really lay when it was taken by the path that is used now. */
  readonly #places = new Map<number, ByteName>();
  #next = 1;

  constructor(root: WorkerRoot, open: (directory: string) => ConfinedRoot = openConfinedRoot) {
    this.#root = root;
    this.#open = open;
  }

  /** `askForHelp` has a second thread started where there is much to read. */
  perform(task: Task, meter: Meter, askForHelp?: AskForHelp): Result {
    switch (task.kind) {
      case "baseline":
        return this.#withRoot((confined) => {
          using second = SecondThread.of(askForHelp, confined, meter);
          return this.#baseline(confined, task, meter, second);
        });
      case "observe":
        return this.#withRoot((confined) => {
          using second = SecondThread.of(askForHelp, confined, meter);
          return this.#observe(confined, task, meter, second);
        });
      case "observe_overlay":
        return this.#withRoot((confined) => this.#observeOverlay(confined, task, meter));
      case "save":
        this.#save(task.baseline, task.folder);
        return { kind: "done" };
      case "load":
        return { kind: "baseline", facts: this.#load(task.folder) };
      case "release":
        this.#snapshots.delete(task.baseline);
        this.#places.delete(task.baseline);
        return { kind: "done" };
    }
  }

  #withRoot(work: (confined: ConfinedRoot) => Result): Result {
    let confined: ConfinedRoot;
    try {
      confined = this.#open(this.#root.directory);
    } catch (error) {
      return { kind: "unavailable", why: whyUnavailable(error), at: this.#now() };
    }
    try {
      return work(confined);
    } finally {
      confined[Symbol.dispose]();
    }
  }

  #baseline(
    confined: ConfinedRoot,
    task: Extract<Task, { kind: "baseline" }>,
    meter: Meter,
    second: SecondThread | undefined,
  ): Result {
    const { directory } = this.#root;
    const snapshot = takeSnapshot(confined, {
      meter,
      limits: task.limits,
      readsAgain: task.readsAgain,
      now: () => this.#now(),
      settle: () => isLocalDisk(directory) && flushFileSystem(directory),
      second,
    });
    const facts = this.#keep(snapshot);
    this.#places.set(facts.baseline, confined.realPath);
    return { kind: "baseline", facts };
  }

  #save(baseline: number, folder: string): void {
    const realPath = this.#places.get(baseline);
    const place =
      realPath === undefined ? undefined : { directory: this.#root.directory, realPath };
    saveSnapshot(this.#snapshot(baseline), place, folder);
  }

  /** Named by another path, the root may well lie elsewhere: a container's tree, say, that is looked at from outside. */
  #load(folder: string): BaselineFacts {
    const { snapshot, place } = loadSnapshot(folder);
    const facts = this.#keep(snapshot);
    if (place?.directory === this.#root.directory) this.#places.set(facts.baseline, place.realPath);
    return facts;
  }

  /** A root whose path leads elsewhere by now was put there by someone: nothing of it is read. */
  #leadsElsewhere(confined: ConfinedRoot, baseline: number | undefined): boolean {
    const place = baseline === undefined ? undefined : this.#places.get(baseline);
    return place !== undefined && place !== confined.realPath;
  }

  #observe(
    confined: ConfinedRoot,
    task: Extract<Task, { kind: "observe" }>,
    meter: Meter,
    second: SecondThread | undefined,
  ): Result {
    if (this.#leadsElsewhere(confined, task.baseline)) {
      const detail = "its path leads to another directory than before the run";
      return {
        kind: "unavailable",
        why: { unavailable: "root_replaced", detail },
        at: this.#now(),
      };
    }
    const before = task.baseline === undefined ? undefined : this.#snapshot(task.baseline);
    const look = observeRoot(
      {
        name: this.#root.name,
        confined,
        ...(before === undefined ? {} : { before }),
        meter,
        limits: task.limits,
        deltaLimits: task.deltaLimits,
        readsAgain: task.readsAgain,
        strict: task.strict,
        second,
      },
      task.requests.map(requestOf),
    );
    return {
      kind: "answers",
      look: shareLook(look),
      confinement: confined.confinement,
      at: this.#now(),
      touched: meter.touched,
    };
  }

  #observeOverlay(
    confined: ConfinedRoot,
    task: Extract<Task, { kind: "observe_overlay" }>,
    meter: Meter,
  ): Result {
    const { limits, deltaLimits, strict, writeSet } = task;
    const upper = this.#open(writeSet.upperDir);
    try {
      const names = { name: this.#root.name, confined, upper };
      const context = { ...names, meter, limits, deltaLimits, strict, readsAgain: true };
      const look = observeOverlay(
        context,
        writeSet,
        { now: () => this.#now(), settle: () => false, readsAgain: true },
        task.requests.map(requestOf),
      );
      const { confinement } = confined;
      const { touched } = meter;
      return { kind: "answers", look: shareLook(look), confinement, at: this.#now(), touched };
    } finally {
      upper[Symbol.dispose]();
    }
  }

  #keep(snapshot: Snapshot): BaselineFacts {
    const baseline = this.#next;
    this.#next += 1;
    this.#snapshots.set(baseline, snapshot);
    return {
      baseline,
      digest: snapshot.digest,
      takenAt: snapshot.takenAt,
      method: snapshot.timesAreProof ? "baseline (stat)" : "baseline",
      entries: snapshot.tree.count - 1,
      touched: { ...snapshot.touched, opened: 0 },
    };
  }

  #snapshot(baseline: number): Snapshot {
    const snapshot = this.#snapshots.get(baseline);
    if (snapshot === undefined)
      throw new UpheldError(
        "state_invalid",
        "the baseline is not held any more, or belongs to another source",
      );
    return snapshot;
  }

  /** By the clock that stamps the files, so that no other clock can disagree; else by the machine's. */
  #now(): bigint {
    return fileSystemNow(this.#root.directory) ?? BigInt(Date.now()) * 1_000_000n;
  }
}

function requestOf(plain: PlainRequest): Request {
  const notApplied: readonly GapCode[] = plain.labelsOrAttempt ? ["scope_not_applied"] : [];
  return {
    uri: plain.uri,
    glob: plain.match === "glob" ? parseGlob(plain.uri) : exactGlob(plain.uri),
    match: plain.match,
    extent: plain.extent,
    probes: plain.probes,
    ...(plain.window === undefined ? {} : { window: plain.window }),
    notApplied,
  };
}

function whyUnavailable(error: unknown): RootUnavailable {
  const detail = errnoOf(error);
  return {
    unavailable: detail === "EUNCONFINED" ? "confinement_unverified" : "root_unavailable",
    detail,
  };
}
