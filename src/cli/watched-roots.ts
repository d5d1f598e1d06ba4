import { LIMITS } from "../core/limits.ts";
import type { Baseline } from "../core/source.ts";
import { timestampOf } from "../core/timestamp.ts";
import type { WatchedRoot } from "../run/record.ts";
import type { RunSource } from "../run/observe-run.ts";
import type { LocalFileSurfaceSource } from "../sources/local-files/source.ts";
import type { IsolationChoice } from "./isolated-run.ts";
import { databaseSourceOf, type NamedDatabase } from "./databases.ts";
import { sourceOf, type GivenLimits, type NamedRoot, type WishedAttribution } from "./roots.ts";

/** How the roots of a run are watched. */
export interface WatchOptions {
  readonly limits: GivenLimits;
  /** Nothing is believed of a file that has several names. Default false. */
  readonly strict?: boolean;
  readonly wishes?: ReadonlyMap<string, WishedAttribution>;
  readonly isolation?: IsolationChoice;
  readonly signal?: AbortSignal;
  readonly databases?: readonly NamedDatabase[];
  /** Milliseconds for which a database's snapshot may be held. */
  readonly holdMs?: number | undefined;
  /** Where copies of databases are kept during the run, outside of every root. */
  readonly scratch?: string | undefined;
  /** Whether the world at the end will be asked for: it is then of the moment that was observed. */
  readonly keepsMoment?: boolean;
}

/** A source whose baseline can be kept for another process. */
export interface SavingSource extends RunSource, AsyncDisposable {
  saveBaseline(baseline: Baseline, folder: string): Promise<void>;
  openBaseline(folder: string): Promise<Baseline>;
}

/** The sources of all roots of a run, ended together. */
export class WatchedRoots implements AsyncDisposable {
  readonly roots: readonly (WatchedRoot & { readonly source: SavingSource })[];

  constructor(roots: readonly NamedRoot[], options: WatchOptions) {
    const { isolation, reason } = options.isolation ?? {};
    const { strict = false } = options;
    const files = roots.map((root) => {
      const wish = options.wishes?.get(root.name) ?? "auto";
      const source = sourceOf(root, options.limits, { wish, strict });
      const overlay =
        isolation === undefined ? undefined : () => overlayOf(root.name, source, options);
      return {
        name: root.name,
        surface: "file",
        source,
        takesBaseline: wish !== "window" && overlay === undefined,
        overlay,
        reason,
      };
    });
    this.roots = [
      ...files,
      ...(options.databases ?? []).map((each) => watchDatabase(each, options)),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { source } of this.roots) await source[Symbol.asyncDispose]();
  }
}

function watchDatabase(
  database: NamedDatabase,
  { wishes, limits, holdMs, scratch, keepsMoment }: WatchOptions,
): WatchedRoot & { readonly source: SavingSource } {
  const wish = wishes?.get(database.name) ?? "auto";
  const source = databaseSourceOf(database, limits, { wish, holdMs, scratch, keepsMoment });
  return { name: database.name, surface: "sql", source, takesBaseline: wish !== "window" };
}

/** What the run wrote into its overlay, as the source reads it. */
async function overlayOf(
  name: string,
  source: LocalFileSurfaceSource,
  { isolation, limits, signal }: WatchOptions,
): Promise<Baseline> {
  const maxEntries = limits.baselineLimits.maxListedEntries ?? LIMITS.maxListedEntries.delta;
  const writeSet = await isolation?.isolation?.writeSet(name, { maxEntries, signal });
  if (writeSet === undefined) throw new Error("a run without isolation has no overlay");
  return source.overlay(writeSet, timestampOf(writeSet.startedNs));
}
