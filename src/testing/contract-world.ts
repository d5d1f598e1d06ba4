import type { LimitName, Limits } from "../core/limits.ts";
import type { BaselineSource, ObservationSource } from "../core/source.ts";

/** A source under test; what it does not offer is not asked of it. */
export type ContractSource = ObservationSource &
  Partial<Pick<BaselineSource, "baseline">> &
  Partial<AsyncDisposable>;

/** A small world that a check may fill and change, and the sources that look at it. */
export interface ContractWorld extends AsyncDisposable {
  /** The name of its root in uris. */
  readonly root: string;
  /** The kind of place: "file", "bucket", ... */
  readonly surface: string;
  /** The limits that its sources keep; each is tested from both sides. */
  readonly limits: readonly LimitName[];
  /** A new source of this world. The check disposes of it where it can be disposed of. */
  source(limits?: Partial<Limits>): ContractSource;
  /** A source whose world cannot be reached. */
  unreachable(): ContractSource;
  /** Puts text at a path such as "a/b.txt", new or over what is there. */
  put(path: string, text: string): Promise<void>;
  remove(path: string): Promise<void>;
}
