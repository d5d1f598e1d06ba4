import type { ArtifactPolicy } from "../../evidence/artifact-kinds.ts";
import type { CollectorProbe } from "./probe.ts";

/** One thing that a collector owes. `run` rejects with what did not hold. */
export interface CollectorCheck {
  readonly name: string;
  readonly policy?: Partial<ArtifactPolicy>;
  readonly run: (probe: CollectorProbe) => Promise<void>;
}

/** Throws unless a collector answered as it owes. */
export async function owes(
  answer: Promise<string> | string,
  wanted: string,
  what: string,
): Promise<void> {
  const given = await answer;
  if (given !== wanted)
    throw new Error(`contract of collectors: ${what}: expected ${wanted}, got ${given}`);
}
