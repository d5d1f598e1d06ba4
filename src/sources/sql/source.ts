import { UpheldError } from "../../core/errors.ts";
import type { Identifier } from "../../core/identifier.ts";
import { limitsOf, type Limits } from "../../core/limits.ts";
import { parseLocator, RootName } from "../../core/locator.ts";
import type { Observation } from "../../core/observation.ts";
import { globOfScorable, type SurfaceScorable } from "../../core/scorable.ts";
import type {
  Baseline,
  BaselineSource,
  ObservationRequest,
  ObserveOptions,
} from "../../core/source.ts";
import type { WorldLook, WorldQuestion, WorldSource } from "../../core/world.ts";
import { answerOf } from "./answer.ts";
import type { SqlBaseline, SqlEngine } from "./engine.ts";
import { postgresEngine } from "./postgres.ts";
import { sqliteEngine } from "./sqlite/engine.ts";

/** A database that is looked at, and its name in uris. `url` may hold a password: it is never kept or told. */
export interface SqlRoot {
  readonly name: string;
  readonly url: string;
}

export interface SqlOptions {
  readonly limits?: Partial<Limits>;
  /** "auto" and "exact" hold a snapshot; "baseline" stores row digests; "none" takes no world before. */
  readonly attribution?: "auto" | "exact" | "baseline" | "none";
  /** Milliseconds for which a snapshot is held at most; default 30 minutes. */
  readonly holdMs?: number;
  /** Milliseconds that one statement may take; default 10 minutes. */
  readonly statementTimeoutMs?: number;
  /** Where copies of a SQLite file are kept while they are needed: outside of what is observed. */
  readonly folder?: string;
  /** Whether the moment of the last observation stays open for `world`, until that or until the source is disposed. */
  readonly keepsMoment?: boolean;
}

const VERSION = "1";

/**
 * Reads the tables of one database. Nothing is written, no table is locked while an agent works, and every value is read as the
 * text that the server writes. Gaps: see docs/gaps.md. Throws "argument_invalid" on a bad name or address.
 */
export class SqlSurfaceSource implements BaselineSource, WorldSource {
  readonly #name: string;
  readonly #engine: SqlEngine;
  readonly #limits: Limits;
  readonly #attribution: NonNullable<SqlOptions["attribution"]>;
  readonly #held = new WeakMap<Baseline, SqlBaseline>();

  constructor(root: SqlRoot, options: SqlOptions = {}) {
    if (!RootName.safeParse(root.name).success)
      throw new UpheldError(
        "argument_invalid",
        `the database's name must be 2 to 64 letters, digits, dashes or underscores, got ${JSON.stringify(root.name)}`,
      );
    this.#name = root.name;
    this.#limits = limitsOf(options.limits);
    this.#attribution = options.attribution ?? "auto";
    this.#engine = engineOf(root, {
      holdMs: options.holdMs ?? 1_800_000,
      statementTimeoutMs: options.statementTimeoutMs ?? 600_000,
      folder: options.folder,
      keepsMoment: options.keepsMoment ?? false,
    });
  }

  identifier(): Identifier {
    return {
      name: this.#engine.name,
      version: VERSION,
      parameters: {
        root: this.#name,
        attribution: this.#attribution,
        maxRows: this.#limits.maxRows,
      },
      children: [],
    };
  }

  /** Holds on to the world before a run. Throws "database_unavailable" where it cannot be opened. */
  async baseline(options: { readonly signal?: AbortSignal } = {}): Promise<Baseline> {
    return this.#hold(await this.#engine.baseline(this.#attribution, options.signal));
  }

  /** A world before in which there was nothing: an observation over it holds every row, as created. */
  nothing(): Baseline {
    return this.#hold(this.#engine.nothing());
  }

  /** Writes row digests into a folder of the caller's, for another process. */
  async saveBaseline(baseline: Baseline, folder: string): Promise<void> {
    await this.#engine.save(this.#of(baseline), folder);
  }

  /** Takes up what an earlier process saved. Throws "state_invalid". */
  async openBaseline(folder: string): Promise<Baseline> {
    return this.#hold(await this.#engine.open(folder));
  }

  /** Answers all requests from one look at the whole database. */
  async observe(
    requests: readonly ObservationRequest<SurfaceScorable>[],
    { baseline, signal }: ObserveOptions = {},
  ): Promise<readonly Observation[]> {
    if (requests.length === 0) return [];
    for (const { scorable } of requests) this.#refuseOthers(scorable);
    const before =
      baseline === undefined || this.#attribution === "none" ? undefined : this.#of(baseline);
    const delta = await this.#engine.observe(before, this.#limits, signal);
    const look = { source: this.identifier(), atMs: Date.now() };
    return requests.map((request) => answerOf(request, delta, look));
  }

  /**
   * Every table with how many rows it has and some of them, at the moment of the last observation: it has to be kept for this.
   * Values beyond 8,192 characters are cut. Without a moment that was kept, a gap says so.
   */
  async world(
    question: WorldQuestion,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<WorldLook> {
    return this.#engine.world(question, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#engine[Symbol.asyncDispose]();
  }

  #refuseOthers(scorable: SurfaceScorable): void {
    const { root } = parseLocator(scorable.uri);
    if (root !== this.#name)
      throw new UpheldError(
        "argument_invalid",
        `${scorable.uri} lies under the root ${root}, this source reads ${this.#name}`,
      );
    globOfScorable(scorable);
  }

  #hold(held: SqlBaseline): Baseline {
    const { digest, method, takenAt } = held;
    const baseline: Baseline = {
      digest,
      method,
      takenAt,
      [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
    };
    this.#held.set(baseline, held);
    return baseline;
  }

  #of(baseline: Baseline): SqlBaseline {
    const held = this.#held.get(baseline);
    if (held === undefined)
      throw new UpheldError("argument_invalid", "the baseline was taken by another source");
    return held;
  }
}

function engineOf(
  { name, url }: SqlRoot,
  options: {
    readonly holdMs: number;
    readonly statementTimeoutMs: number;
    readonly folder: string | undefined;
    readonly keepsMoment: boolean;
  },
): SqlEngine {
  if (/^postgres(ql)?:\/\//i.test(url)) return postgresEngine({ root: name, url, ...options });
  const file = /^sqlite:(?:\/\/)?(.+)$/is.exec(url)?.[1];
  if (file !== undefined) return sqliteEngine({ root: name, file, ...options });
  throw new UpheldError(
    "argument_invalid",
    `the address of the database ${name} must start with postgres:// or sqlite:`,
  );
}
