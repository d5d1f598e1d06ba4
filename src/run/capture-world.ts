import { limitsOf, type Limits } from "../core/limits.ts";
import type { Observation } from "../core/observation.ts";
import type { ToolCall } from "../core/tool-call.ts";
import type { WorldSource } from "../core/world.ts";
import { callWords } from "../evidence/world/call-words.ts";
import { changedTables, rankWorld } from "../evidence/world/rank-world.ts";
import type { World } from "../evidence/world/world.ts";

/** What bounds the world that is captured at the end of a run. */
export type CaptureLimits = Pick<Limits, "maxWorldRows" | "maxWorldBytes" | "captureMs">;

export function captureLimits(given: Partial<Limits>): CaptureLimits {
  return limitsOf(given);
}

/** What is captured: of which roots, and within which limits. */
interface Capture {
  readonly roots: readonly { readonly name: string; readonly source: Partial<WorldSource> }[];
  readonly capture?: CaptureLimits | undefined;
}

/** What is there at the end of a run, of each root whose source can show it, ranked by what was observed and called. */
export async function captureWorlds(
  { roots, capture }: Capture,
  observations: readonly Observation[],
  signal: AbortSignal | undefined,
): Promise<readonly World[]> {
  if (capture === undefined) return [];
  const words = callWords(observations.flatMap(callsOf));
  const bound = { maxRows: capture.maxWorldRows, maxBytes: capture.maxWorldBytes };
  const deltas = observations.filter(
    ({ payload }) => payload.kind === "surface" && payload.extent === "delta",
  );
  const captured = await Promise.all(
    roots.map(async ({ name: root, source }) => {
      const look = await source.world?.(
        {
          terms: words.terms,
          first: changedTables(root, deltas),
          maxRows: bound.maxRows,
          deadlineMs: capture.captureMs,
        },
        { signal },
      );
      return look === undefined ? [] : [rankWorld(look, { root, deltas, words, bound })];
    }),
  );
  return captured.flat();
}

function callsOf({ payload }: Observation): readonly ToolCall[] {
  return payload.kind === "tools" ? payload.calls : [];
}
