import type { GapCode } from "../../core/gap.ts";
import type { Manifest, Node } from "./manifest.ts";

/** A place of a tree that was not seen, and why. */
export interface PlaceGap {
  readonly node: Node;
  readonly code: GapCode;
  readonly detail?: string;
}

/** A tree as it was found. */
export interface Walk {
  readonly tree: Manifest;
  readonly gaps: readonly PlaceGap[];
}
