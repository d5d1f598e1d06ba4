import type { SurfaceEntry } from "../../core/entry.ts";
import type { Gap } from "../../core/gap.ts";
import type { Digest } from "../../core/ids.ts";
import type { AttributionMethod } from "../../core/observation.ts";

/** What a run changed in a database, as one look at the whole of it tells. */
export interface SqlDelta {
  readonly method: AttributionMethod;
  /** Why no stronger method could be had. */
  readonly reason?: string | undefined;
  readonly baseline?: Digest | undefined;
  readonly entries: readonly SurfaceEntry[];
  readonly gaps: readonly Gap[];
  /** Tables met. */
  readonly tables: number;
  /** Changes that are known beyond those kept. */
  readonly hidden: number;
  readonly readBytes: number;
  /** What is said besides: what was not read since it is no part of a database's delta. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** What limits one look. */
export interface LookLimits {
  readonly maxRows: number;
}
