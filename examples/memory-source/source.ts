import { randomUUID } from "node:crypto";
import {
  fingerprint,
  gap,
  ObservationId,
  parseGlob,
  parseLocator,
  timestampOf,
  UpheldError,
  type Baseline,
  type BaselineSource,
  type EntryState,
  type Gap,
  type Identifier,
  type Observation,
  type ObservationRequest,
  type ObserveOptions,
  type SurfaceEntry,
  type SurfaceScorable,
} from "upheld";
import type { MemoryBucket, StoredObject } from "./bucket.ts";

type Objects = ReadonlyMap<string, StoredObject>;

export interface MemorySourceOptions {
  /** Locations that are kept, 1,000 unless told otherwise; beyond it the gap "file_limit_exceeded". */
  readonly maxFiles?: number;
  /** Bytes of each content that are kept, 1,000,000 unless told otherwise; what is cut is marked truncated. */
  readonly maxContentBytes?: number;
}

/** Observes a bucket in memory. Attribution: a baseline, or none. */
export class MemorySource implements BaselineSource {
  readonly #root: string;
  readonly #bucket: MemoryBucket;
  readonly #limits: Required<MemorySourceOptions>;
  readonly #held = new WeakMap<Baseline, Objects>();

  constructor(root: string, bucket: MemoryBucket, options: MemorySourceOptions = {}) {
    this.#root = root;
    this.#bucket = bucket;
    this.#limits = { maxFiles: 1_000, maxContentBytes: 1_000_000, ...options };
    for (const [name, value] of Object.entries(this.#limits))
      if (!Number.isSafeInteger(value) || value < 1)
        throw new UpheldError("argument_invalid", `${name} must be a whole number from 1`);
  }

  identifier(): Identifier {
    const parameters = { root: this.#root, ...this.#limits };
    return { name: "memory-bucket", version: "1", parameters, children: [] };
  }

  async baseline({ signal }: { readonly signal?: AbortSignal } = {}): Promise<Baseline> {
    const objects = await this.#read(signal);
    const baseline: Baseline = {
      digest: fingerprint([...objects].map(([key, { sha256 }]) => [key, sha256])),
      method: "baseline",
      takenAt: now(),
      [Symbol.asyncDispose]: async () => {
        this.#held.delete(baseline);
      },
    };
    this.#held.set(baseline, objects);
    return baseline;
  }

  async observe(
    requests: readonly ObservationRequest<SurfaceScorable>[],
    { signal, baseline }: ObserveOptions = {},
  ): Promise<readonly Observation[]> {
    const before = baseline === undefined ? undefined : this.#held.get(baseline);
    if (baseline !== undefined && before === undefined)
      throw new UpheldError("argument_invalid", "the baseline was taken by another source");
    const matchers = requests.map(({ scorable }) => this.#matcherOf(scorable));
    let objects: Objects | undefined;
    try {
      objects = await this.#read(signal);
    } catch (error) {
      // The world's failure is evidence; the caller's abort is not.
      signal?.throwIfAborted();
      if (error instanceof UpheldError) throw error;
    }
    return requests.map((request, index) =>
      this.#observation(request, baseline, objects, {
        before,
        matches: matchers[index] ?? (() => false),
      }),
    );
  }

  /** All objects at one moment. */
  async #read(signal: AbortSignal | undefined): Promise<Objects> {
    signal?.throwIfAborted();
    const objects = new Map<string, StoredObject>();
    for (const key of await this.#bucket.list()) {
      const object = await this.#bucket.get(key);
      signal?.throwIfAborted();
      if (object !== undefined) objects.set(key, object);
    }
    signal?.throwIfAborted();
    return objects;
  }

  #matcherOf({ uri, match }: SurfaceScorable): (uri: string) => boolean {
    const { root, text } = parseLocator(uri);
    if (root !== this.#root)
      throw new UpheldError("argument_invalid", `this source reads ${this.#root}, not ${root}`);
    if (match === "exact") return (each) => each === text;
    const glob = parseGlob(uri);
    return (each) => glob.matches(each);
  }

  #observation(
    request: ObservationRequest<SurfaceScorable>,
    baseline: Baseline | undefined,
    objects: Objects | undefined,
    { before, matches }: { before: Objects | undefined; matches: (uri: string) => boolean },
  ): Observation {
    const { scorable, extent = "candidates" } = request;
    const shows = (entry: SurfaceEntry): boolean =>
      matches(entry.uri) && (entry.change !== "unchanged" || scorable.match === "exact");
    const all = objects === undefined ? [] : this.#compare(objects, before);
    const found = all.filter(shows);
    const entries = found.slice(0, this.#limits.maxFiles);
    const gaps: Gap[] = [];
    if (objects === undefined) gaps.push(gap("root_unavailable", `${this.#root}:/`));
    if (entries.length < found.length) gaps.push(gap("file_limit_exceeded", scorable.uri));
    if (extent === "delta" && before === undefined)
      gaps.push(gap("baseline_missing", scorable.uri));
    const acquisition = gaps.length === 0 ? "complete" : "partial";
    return {
      id: ObservationId.parse(randomUUID()),
      source: this.identifier(),
      acquisition: objects === undefined ? "unavailable" : acquisition,
      observedAt: now(),
      scorable,
      payload: {
        kind: "surface",
        schemaVersion: 1,
        scope: scorable,
        extent,
        attribution:
          baseline === undefined
            ? { method: "none" }
            : { method: "baseline", baseline: baseline.digest },
        entries,
        coverage: {
          gaps,
          listed: objects?.size ?? 0,
          readBytes: 0,
          shown: entries.length,
          total: found.length,
          links: [],
          confinement: "not-applicable",
        },
        excludedOutsideScope: 0,
        scopeKeysNotApplied: (["window", "labels"] as const).filter(
          (key) => scorable.scope?.[key] !== undefined,
        ),
      },
      metadata: {},
    };
  }

  /** Every key of both worlds with what became of it, in the order of the uris. */
  #compare(objects: Objects, before: Objects | undefined): readonly SurfaceEntry[] {
    const keys = new Set([...objects.keys(), ...(before?.keys() ?? [])]);
    return [...keys].toSorted().map((key) => {
      const uri = `${this.#root}:/${key}`;
      const object = objects.get(key);
      const old = before?.get(key);
      const was = old === undefined ? {} : { before: this.#stateOf(old) };
      if (object === undefined) return { uri, change: "deleted", ...was };
      const now = this.#stateOf(object);
      if (before === undefined)
        return { uri, change: "unknown", now, reasons: ["baseline_missing"] };
      if (old === undefined) return { uri, change: "created", now };
      const change = old.sha256 === object.sha256 ? "unchanged" : "modified";
      return { uri, change, now, ...was };
    });
  }

  #stateOf({ bytes, sha256, modifiedAt }: StoredObject): EntryState {
    const kept = bytes.subarray(0, this.#limits.maxContentBytes);
    const truncated = kept.length < bytes.length;
    return {
      type: "file",
      sizeBytes: bytes.length,
      modifiedAt,
      sha256,
      content: contentOf(kept, truncated),
    };
  }
}

function contentOf(bytes: Uint8Array, truncated: boolean): EntryState["content"] {
  try {
    const value = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { encoding: "utf-8", value, truncated };
  } catch {
    return { encoding: "binary", value: Buffer.from(bytes).toString("base64"), truncated };
  }
}

function now() {
  return timestampOf(BigInt(Date.now()) * 1_000_000n);
}
