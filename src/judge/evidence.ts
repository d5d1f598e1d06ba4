import type { Digest } from "../core/ids.ts";
import type { Observation } from "../core/observation.ts";
import type { EvidencePart } from "../evidence/statement.ts";

/** What a judge decides over: an intact bundle, read. */
export interface JudgedEvidence {
  readonly bundle: Digest;
  /** What the statement says of each part: also of those that are not there. */
  readonly parts: readonly EvidencePart[];
  readonly roots: readonly { readonly name: string; readonly surface: string }[];
  readonly observations: readonly Observation[];
}
