import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { UpheldError } from "../../core/errors.ts";
import { fingerprint } from "../../core/fingerprint.ts";
import type { Identifier } from "../../core/identifier.ts";
import { Digest } from "../../core/ids.ts";
import { DEFAULT_LIMITS, LIMITS, limitsOf, type Limits } from "../../core/limits.ts";
import { parseLocator, RootName } from "../../core/locator.ts";
import type { Observation } from "../../core/observation.ts";
import { globOfScorable, type SurfaceScorable } from "../../core/scorable.ts";
import type {
  Baseline,
  BaselineSource,
  ObservationRequest,
  ObserveOptions,
} from "../../core/source.ts";
import { nanosecondsOf, timestampOf, type Timestamp } from "../../core/timestamp.ts";
import { WorkerClient } from "./client.ts";
import type { Touched } from "./meter.ts";
import { observationOf, unavailableObservation } from "./observation.ts";
import { entriesOf, openLook } from "./shared-look.ts";
import type { BaselineFacts, PlainRequest, Result, Task } from "./protocol.ts";
import type { WriteSet } from "./write-set.ts";

/** The directory that is looked at, and its name in uris. */
export interface LocalRoot {
  readonly name: string;
  readonly directory: string;
}

export interface LocalFileOptions {
  /** Limits of one scorable; defaults in docs/limits.md. */
  readonly limits?: Partial<Limits>;
  /** Limits of a baseline and of the delta of the whole root. */
  readonly baselineLimits?: Partial<Limits>;
  /**
   * "auto" uses the baseline where one is given, else the window of the scope. On a large tree on a local disk it takes equal
   * identity, size and times for unchanged, which "baseline" never does where there is a digest.
   */
  readonly attribution?: "auto" | "baseline" | "window" | "none";
  /**
   * A file with several names may be one of outside the root, whose content it then is. Strict, none of such a file's content is
   * shown or believed: "confinement_unverified". Default false: it is read, and the number of its names is recorded.
   */
  readonly strict?: boolean;
}

export interface LocalBaselineOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (touched: Touched) => void;
}

/** A baseline of local files, held by the source's worker. */
export interface LocalBaseline extends Baseline {
  readonly entries: number;
  readonly touched: Touched;
}

const VERSION = "1";

/** The limits of a delta where they differ. */
const DELTA_LIMITS: Limits = {
  ...DEFAULT_LIMITS,
  maxFiles: LIMITS.maxFiles.delta,
  maxListedEntries: LIMITS.maxListedEntries.delta,
  maxReadBytes: LIMITS.maxReadBytes.delta,
};

/**
 * Reads files under one root that belongs to the caller; what is in it belongs to the system under test. Nothing outside the
 * root is read, no special file is opened, no link is followed by the system. All work is done in one worker thread, which
 * `Symbol.asyncDispose` ends. Gaps: see docs/gaps.md. Throws "argument_invalid" on a bad name or limit.
 */
export class LocalFileSurfaceSource implements BaselineSource {
  readonly #root: LocalRoot;
  readonly #limits: Limits;
  readonly #deltaLimits: Limits;
  readonly #attribution: NonNullable<LocalFileOptions["attribution"]>;
  readonly #strict: boolean;
  readonly #client: WorkerClient;
  readonly #held = new WeakMap<Baseline, number>();
  readonly #overlays = new WeakMap<Baseline, WriteSet>();

  constructor(root: LocalRoot, options: LocalFileOptions = {}) {
    if (!RootName.safeParse(root.name).success)
      throw new UpheldError(
        "argument_invalid",
        `the root's name must be 2 to 64 letters, digits, dashes or underscores, got ${JSON.stringify(root.name)}`,
      );
    if (root.directory === "" || root.directory.includes("\0"))
      throw new UpheldError("argument_invalid", `the root ${root.name} needs a directory`);
    this.#root = { name: root.name, directory: resolve(root.directory) };
    this.#limits = limitsOf(options.limits);
    this.#deltaLimits = limitsOf(options.baselineLimits, DELTA_LIMITS);
    this.#attribution = options.attribution ?? "auto";
    this.#strict = options.strict ?? false;
    this.#client = new WorkerClient(this.#root);
  }

  identifier(): Identifier {
    const delta = Object.entries(this.#deltaLimits).map(
      ([name, value]) => [`baseline.${name}`, value] as const,
    );
    return {
      name: "local-files",
      version: VERSION,
      parameters: {
        root: this.#root.name,
        attribution: this.#attribution,
        ...(this.#strict ? { strict: true } : {}),
        ...this.#limits,
        ...Object.fromEntries(delta),
      },
      children: [],
    };
  }

  /** Records the root before a run. Throws "file_unreadable" where it cannot be opened. */
  async baseline(options: LocalBaselineOptions = {}): Promise<LocalBaseline> {
    const result = await this.#client.perform(
      { kind: "baseline", limits: this.#deltaLimits, readsAgain: this.#readsAgain },
      options,
    );
    return this.#hold(result);
  }

  /** Writes a baseline of this source into a folder of the caller's, made with mode 0700. */
  async saveBaseline(baseline: Baseline, folder: string): Promise<void> {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    await this.#client.perform(
      { kind: "save", baseline: this.#idOf(baseline), folder: resolve(folder) },
      {},
    );
  }

  /** Takes up a baseline that an earlier process saved. Throws "state_invalid". */
  async openBaseline(folder: string): Promise<LocalBaseline> {
    return this.#hold(await this.#client.perform({ kind: "load", folder: resolve(folder) }, {}));
  }

  /**
   * The world before a run in an overlay over this root, which is the root itself: nothing was written to it. Observations
   * then read what the run wrote, at the cost of the changes alone.
   */
  overlay(writeSet: WriteSet, takenAt: Timestamp): Baseline {
    const paths = writeSet.entries.map(
      ({ path, kind }) => `${kind} ${Buffer.from(path).toString("base64")}`,
    );
    const baseline: Baseline = {
      digest: fingerprint(paths),
      method: "exact",
      takenAt,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
    this.#overlays.set(baseline, writeSet);
    return baseline;
  }

  /** Answers all requests from one walk. A root that cannot be opened gives observations that say so. */
  async observe(
    requests: readonly ObservationRequest<SurfaceScorable>[],
    options: ObserveOptions & { readonly onProgress?: (touched: Touched) => void } = {},
  ): Promise<readonly Observation[]> {
    if (requests.length === 0) return [];
    const baseline = this.#usable(options.baseline);
    const result = await this.#client.perform(this.#task(requests, baseline), options);
    const source = this.identifier();
    if (result.kind === "unavailable") {
      const look = { source, baseline, at: result.at, root: this.#root.name };
      return requests.map((request) => unavailableObservation(request, result.why, look));
    }
    if (result.kind !== "answers")
      throw new UpheldError("internal", `the worker answered ${result.kind}`);
    const look = { source, baseline, at: result.at, confinement: result.confinement };
    const answers = openLook(result.look);
    const observations: Observation[] = [];
    for (const [index, request] of requests.entries()) {
      const answer = answers[index];
      if (answer === undefined)
        throw new UpheldError("internal", "the worker left a request unanswered");
      const entries = await entriesOf(answer, options.signal);
      observations.push(observationOf(request, { ...answer, entries }, look));
    }
    return observations;
  }

  /** Ends the worker; baselines are gone with it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end();
  }

  get #readsAgain(): boolean {
    return this.#attribution === "baseline";
  }

  #usable(baseline: Baseline | undefined): Baseline | undefined {
    const wanted = this.#attribution === "auto" || this.#attribution === "baseline";
    return wanted ? baseline : undefined;
  }

  #task(
    requests: readonly ObservationRequest<SurfaceScorable>[],
    baseline: Baseline | undefined,
  ): Task {
    const asked = {
      limits: this.#limits,
      deltaLimits: this.#deltaLimits,
      strict: this.#strict,
      requests: requests.map((request) => this.#plain(request)),
    };
    const readsAgain = this.#readsAgain;
    if (baseline === undefined) return { kind: "observe", ...asked, readsAgain };
    const writeSet = this.#overlays.get(baseline);
    if (writeSet !== undefined) return { kind: "observe_overlay", ...asked, writeSet };
    return { kind: "observe", ...asked, readsAgain, baseline: this.#idOf(baseline) };
  }

  #hold(result: Result): LocalBaseline {
    if (result.kind === "unavailable")
      throw new UpheldError(
        "file_unreadable",
        `the root ${this.#root.name} cannot be opened: ${result.why.detail}`,
      );
    if (result.kind !== "baseline")
      throw new UpheldError("internal", `the worker answered ${result.kind}`);
    const { facts } = result;
    const baseline = this.#baselineOf(facts);
    this.#held.set(baseline, facts.baseline);
    return baseline;
  }

  #baselineOf(facts: BaselineFacts): LocalBaseline {
    return {
      digest: Digest.parse(facts.digest),
      method: facts.method,
      takenAt: timestampOf(facts.takenAt),
      entries: facts.entries,
      touched: facts.touched,
      [Symbol.asyncDispose]: async () => {
        await this.#client.perform({ kind: "release", baseline: facts.baseline }, {});
      },
    };
  }

  #idOf(baseline: Baseline): number {
    const id = this.#held.get(baseline);
    if (id === undefined)
      throw new UpheldError("argument_invalid", "the baseline was taken by another source");
    return id;
  }

  #plain({ scorable, probes, extent }: ObservationRequest<SurfaceScorable>): PlainRequest {
    const { root } = parseLocator(scorable.uri);
    if (root !== this.#root.name)
      throw new UpheldError(
        "argument_invalid",
        `${scorable.uri} lies under the root ${root}, this source reads ${this.#root.name}`,
      );
    globOfScorable(scorable);
    const window = this.#attribution === "none" ? undefined : scorable.scope?.window;
    return {
      uri: scorable.uri,
      match: scorable.match,
      extent: extent ?? "candidates",
      probes: probes ?? [],
      ...(window === undefined
        ? {}
        : { window: { from: nanosecondsOf(window[0]), to: nanosecondsOf(window[1]) } }),
      labelsOrAttempt:
        scorable.scope?.labels !== undefined || scorable.scope?.attemptId !== undefined,
    };
  }
}
