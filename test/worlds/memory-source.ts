import type { SurfaceEntry } from "../../src/core/entry.ts";
import type { Gap } from "../../src/core/gap.ts";
import { acquisitionOf, parseObservation, type Observation } from "../../src/core/observation.ts";
import {
  globOfScorable,
  type ConversationScorable,
  type SurfaceScorable,
} from "../../src/core/scorable.ts";
import type {
  ObservationRequest,
  ObservationSource,
  ObserveOptions,
} from "../../src/core/source.ts";
import { conversation, nextId, NOW, type Line } from "./observations.ts";

/** A source over entries in memory that keeps count of how it was asked. */
export interface MemorySource extends ObservationSource {
  readonly calls: {
    readonly requests: readonly ObservationRequest<SurfaceScorable>[];
    readonly options: ObserveOptions;
  }[];
}

export function memorySource(
  entries: readonly SurfaceEntry[],
  gaps: readonly Gap[] = [],
  change: (observation: Observation) => unknown = (observation) => observation,
): MemorySource {
  const calls: MemorySource["calls"] = [];
  return {
    calls,
    identifier: () => ({ name: "memory", version: "1", parameters: {}, children: [] }),
    observe(requests, options = {}) {
      calls.push({ requests, options });
      if (options.signal?.aborted === true) return Promise.reject(options.signal.reason);
      // A source may return what it should not: that is what some tests are about.
      return Promise.resolve(
        requests.map((request) => change(answer(request, entries, gaps)) as Observation),
      );
    },
  };
}

function answer(
  request: ObservationRequest<SurfaceScorable>,
  entries: readonly SurfaceEntry[],
  gaps: readonly Gap[],
): Observation {
  const glob = globOfScorable(request.scorable);
  const found = entries.filter(
    (entry) => glob.matches(entry.uri) || (entry.from !== undefined && glob.matches(entry.from)),
  );
  return parseObservation({
    id: nextId(),
    source: { name: "memory", version: "1" },
    acquisition: acquisitionOf(gaps),
    observedAt: NOW,
    scorable: request.scorable,
    payload: {
      kind: "surface",
      schemaVersion: 1,
      scope: request.scorable,
      extent: request.extent ?? "candidates",
      attribution: { method: "baseline" },
      entries: found,
      coverage: {
        gaps,
        listed: entries.length,
        readBytes: 0,
        shown: found.length,
        total: found.length,
        links: [],
        confinement: "not-applicable",
      },
      excludedOutsideScope: 0,
      scopeKeysNotApplied: [],
    },
  });
}

/** A source of one recorded conversation. */
export function conversationSource(
  lines: readonly Line[],
): ObservationSource<ConversationScorable> {
  return {
    identifier: () => ({ name: "by-hand", version: "1", parameters: {}, children: [] }),
    observe: (requests) => Promise.resolve(requests.map(() => conversation(lines))),
  };
}
