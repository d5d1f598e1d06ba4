import type { AttributionMethod, Extent, Observation } from "./observation.ts";
import type { Digest } from "./ids.ts";
import type { Identifier } from "./identifier.ts";
import type { Matcher } from "./matcher.ts";
import type { Scorable, SurfaceScorable } from "./scorable.ts";
import type { Timestamp } from "./timestamp.ts";

/**
 * What to observe. `probes` are matchers to run over each full content while it is read; their findings become part of
 * the evidence. They never change what is observed, so that other questions can be asked of the same observation.
 * The extent "candidates" (the default) gives what can hold content; "delta" gives every changed location of any type,
 * directories too, under the larger limits of a whole root. The payload records it.
 */
export interface ObservationRequest<S extends Scorable> {
  readonly scorable: S;
  readonly probes?: readonly Matcher[];
  readonly extent?: Extent;
}

export interface ObserveOptions {
  readonly signal?: AbortSignal;
  /** The world before the run. Without it the strongest method that is left is used, and named. */
  readonly baseline?: Baseline;
}

/**
 * Reads the world. Guarantees: every observation of one call is of one moment and in the order of the requests; each returns
 * its request's scorable unchanged; every place that could matter and was not read is a gap; every location that the
 * scorable names and the run changed is an entry, up to a limit that is a gap when reached. A world that cannot be read
 * is evidence, not an error. Throws on misuse, and rejects with the signal's reason once it is aborted.
 */
export interface ObservationSource<S extends Scorable = SurfaceScorable> {
  identifier(): Identifier;
  observe(
    requests: readonly ObservationRequest<S>[],
    options?: ObserveOptions,
  ): Promise<readonly Observation[]>;
}

/** The world before a run, held until it is disposed. */
export interface Baseline extends AsyncDisposable {
  readonly digest: Digest;
  readonly method: AttributionMethod;
  readonly takenAt: Timestamp;
}

/** A source that can hold on to the world before a run. */
export interface BaselineSource<S extends Scorable = SurfaceScorable> extends ObservationSource<S> {
  baseline(options?: { readonly signal?: AbortSignal }): Promise<Baseline>;
}
