import { z } from "zod";

/**
 * What a run did at a location. "touched" is metadata only (mode, owner, times, or a rewrite with equal content);
 * "unknown" says that it cannot be told, and never stands without a gap beside it.
 */
export const CHANGES = [
  "created",
  "modified",
  "touched",
  "deleted",
  "moved",
  "unchanged",
  "unknown",
] as const;

export const Change = z.enum(CHANGES);
export type Change = z.infer<typeof Change>;
