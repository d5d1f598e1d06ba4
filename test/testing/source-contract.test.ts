import { describe, expect, test } from "vitest";
import type { SurfaceEntry } from "../../src/core/entry.ts";
import type { Observation, SurfacePayload } from "../../src/core/observation.ts";
import type { Baseline, ObserveOptions } from "../../src/core/source.ts";
import type { SurfaceScorable } from "../../src/core/scorable.ts";
import type { ObservationRequest } from "../../src/core/source.ts";
import {
  sourceContract,
  type ContractSource,
  type ContractWorld,
} from "../../src/testing/index.ts";
import { memoryWorld } from "../../examples/memory-source/world.ts";

// The negative controls: for each check a source that is broken in one way, which the check must refuse.

type Requests = readonly ObservationRequest<SurfaceScorable>[];
type Observe = (requests: Requests, options?: ObserveOptions) => Promise<readonly Observation[]>;

/** What is broken about a source. */
interface Fault {
  readonly observe?: (observe: Observe) => Observe;
  readonly baseline?: (taken: Baseline) => Baseline;
  readonly source?: (source: ContractSource) => Partial<ContractSource>;
  readonly world?: (world: ContractWorld) => Partial<ContractWorld>;
}

const mapObservations = (change: (each: Observation) => Observation): Fault => ({
  observe: (observe) => async (requests, options) =>
    (await observe(requests, options)).map((each) => change(each)),
});

const mapPayload = (change: (payload: SurfacePayload) => Partial<SurfacePayload>): Fault =>
  mapObservations((each) =>
    each.payload.kind === "surface"
      ? { ...each, payload: { ...each.payload, ...change(each.payload) } }
      : each,
  );

const mapEntries = (change: (entry: SurfaceEntry) => SurfaceEntry): Fault =>
  mapPayload(({ entries }) => ({ entries: entries.map((entry) => change(entry)) }));

const noGaps = mapPayload(({ coverage }) => ({ coverage: { ...coverage, gaps: [] } }));

/** A limit that the source knows of and does not keep. */
const ignoringLimits = (limit: string): Fault => ({
  world: (world) => ({ source: () => world.source(), limits: [limit as "maxFiles"] }),
});

/** A limit that is taken for exceeded when it is met. */
const strictLimits = (limit: string): Fault => ({
  world: (world) => ({
    source: (limits = {}) =>
      world.source(
        Object.fromEntries(Object.entries(limits).map(([name, value]) => [name, value - 1])),
      ),
    limits: [limit as "maxFiles"],
  }),
});

const faults: Readonly<Record<string, Fault>> = {
  "answers each request in order, with its scorable unchanged": {
    observe: (observe) => async (requests, options) =>
      (await observe(requests, options)).toReversed(),
  },
  "answers no request with nothing": {
    observe: (observe) => (requests, options) =>
      observe(requests.length === 0 ? [{ scorable: everywhere }] : requests, options),
  },
  "names itself the same way each time": mapObservations((each) => ({
    ...each,
    source: { ...each.source, version: "2" },
  })),
  "shows only locations that the scorable names, each once": mapPayload(({ entries }) => ({
    entries: [...entries, ...entries],
  })),
  "shows every location that the run made": mapPayload(({ entries }) => ({
    entries: entries.slice(1),
  })),
  "says what the content is": mapEntries((entry) =>
    entry.now?.content === undefined
      ? entry
      : {
          ...entry,
          now: { ...entry.now, content: { ...entry.now.content, value: "something else" } },
        },
  ),
  "is complete exactly when it has no gap": mapObservations((each) => ({
    ...each,
    acquisition: "partial",
  })),
  "knows nothing of the run without a world before": mapEntries((entry) =>
    entry.change === "unknown" ? { ...entry, change: "created", reasons: undefined } : entry,
  ),
  "names the parts of a scope that it did not apply": mapPayload(() => ({
    scopeKeysNotApplied: [],
  })),
  "probes change no fact": {
    observe: (observe) => async (requests, options) => {
      const probed = requests.some(({ probes = [] }) => probes.length > 0);
      const seen = await observe(requests, options);
      return probed ? seen.map((each) => withEntries(each, (entries) => entries.slice(1))) : seen;
    },
  },
  "gives the same evidence of the same world": {
    observe: (observe) => {
      let round = 0;
      return async (requests, options) => {
        round += 1;
        const seen = await observe(requests, options);
        return round % 2 === 0
          ? seen.map((each) => withEntries(each, (entries) => entries.toReversed()))
          : seen;
      };
    },
  },
  "survives being stored": mapEntries((entry) => ({
    ...entry,
    // A field that is not of the model, which reading leaves out.
    ...({ extra: true } as object),
  })),
  "rejects with the signal's reason": {
    observe: (observe) => (requests, options) =>
      observe(requests, options).catch(() => Promise.reject(new Error("aborted"))),
  },
  "refuses a location of another root": {
    observe: (observe) => (requests, options) =>
      observe(
        requests.map((each) => ({ ...each, scorable: everywhere })),
        options,
      ),
  },
  "refuses a pattern that cannot be read": {
    observe: (observe) => (requests, options) =>
      observe(
        requests.map((each) => ({ ...each, scorable: everywhere })),
        options,
      ),
  },
  "gives evidence of a world that cannot be reached": noGaps,
  "baseline: tells what the run created, modified, deleted and left alone": mapPayload(
    ({ entries }) => ({ entries: entries.filter(({ change }) => change !== "deleted") }),
  ),
  "baseline: does not take what was there before for the run's": {
    observe: (observe) => async (requests, options) =>
      (await observe(requests.map(exactly("planted.txt")), options)).map((each, index) =>
        withEntries(backTo(each, requests[index]?.scorable), (entries) =>
          entries.map((entry) => ({ ...entry, change: "created" })),
        ),
      ),
  },
  "baseline: takes a change that was undone for no change of content": mapEntries((entry) => ({
    ...entry,
    change: "modified",
  })),
  "baseline: sees a change that keeps the size": mapEntries((entry) => ({
    ...entry,
    change: "touched",
  })),
  "baseline: names the baseline that it used": mapPayload(() => ({
    attribution: { method: "none" },
  })),
  "baseline: gives equal worlds one digest, and others another": {
    baseline: (taken) => ({
      ...taken,
      digest: `sha256:${"0".repeat(64)}` as Baseline["digest"],
    }),
  },
  "baseline: refuses a baseline that is not its own": {
    observe: (observe) => (requests, options) =>
      observe(requests, { ...options, baseline: undefined } as never),
  },
  "baseline: rejects a baseline with the signal's reason": {
    source: (source) => ({ baseline: async () => (await source.baseline?.()) as Baseline }),
  },
  "tells what maxFiles left out": noGaps,
  "tells what maxContentBytes left out": mapEntries((entry) =>
    entry.now?.content === undefined
      ? entry
      : {
          ...entry,
          now: { ...entry.now, content: { ...entry.now.content, truncated: false } },
        },
  ),
  "tells what maxListedEntries left out": ignoringLimits("maxListedEntries"),
  "tells what maxReadBytes left out": {
    world: (world) => ({
      source: () => {
        const source = world.source();
        return {
          ...bound(source),
          observe: mapPayload(({ coverage }) => ({
            coverage: { ...coverage, readBytes: 20 },
          })).observe?.((...asked) => source.observe(...asked)) as Observe,
        };
      },
      limits: ["maxReadBytes"],
    }),
  },
  "meets maxFiles exactly without a gap": strictLimits("maxFiles"),
  "meets maxContentBytes exactly without a gap": strictLimits("maxContentBytes"),
  "meets maxListedEntries exactly without a gap": {
    world: (world) => ({
      source: () => world.source({ maxFiles: 1 }),
      limits: ["maxListedEntries"],
    }),
  },
  "meets maxReadBytes exactly without a gap": {
    world: (world) => ({
      source: () => world.source({ maxContentBytes: 9 }),
      limits: ["maxReadBytes"],
    }),
  },
  "refuses a maxFiles of -1": ignoringLimits("maxFiles"),
  "refuses a maxContentBytes of -1": ignoringLimits("maxContentBytes"),
  "refuses a maxListedEntries of -1": ignoringLimits("maxListedEntries"),
  "refuses a maxReadBytes of -1": ignoringLimits("maxReadBytes"),
};

const everywhere: SurfaceScorable = {
  kind: "surface",
  uri: "store:/**",
  surface: "bucket",
  match: "glob",
};

function withEntries(
  each: Observation,
  change: (entries: readonly SurfaceEntry[]) => readonly SurfaceEntry[],
): Observation {
  return each.payload.kind === "surface"
    ? { ...each, payload: { ...each.payload, entries: change(each.payload.entries) } }
    : each;
}

const exactly = (path: string) => (each: ObservationRequest<SurfaceScorable>) => ({
  ...each,
  scorable: { ...each.scorable, uri: `store:/${path}`, match: "exact" as const },
});

function backTo(each: Observation, scorable: SurfaceScorable | undefined): Observation {
  return scorable === undefined || each.payload.kind !== "surface"
    ? each
    : { ...each, scorable, payload: { ...each.payload, scope: scorable } };
}

/** The methods of a source as plain functions, so that single ones can be put in their place. */
function bound(source: ContractSource): ContractSource {
  const { baseline } = source;
  return {
    identifier: () => source.identifier(),
    observe: (requests, options) => source.observe(requests, options),
    ...(baseline === undefined ? {} : { baseline: (options) => baseline.call(source, options) }),
  };
}

function brokenSource(source: ContractSource, fault: Fault): ContractSource {
  const sound = bound(source);
  const taken = new Map<Baseline, Baseline>();
  const observe: Observe = (requests, options = {}) => {
    const { baseline } = options;
    const own = baseline === undefined ? undefined : taken.get(baseline);
    return sound.observe(requests, own === undefined ? options : { ...options, baseline: own });
  };
  return {
    ...sound,
    observe: fault.observe?.(observe) ?? observe,
    ...(sound.baseline === undefined || fault.baseline === undefined
      ? {}
      : {
          baseline: async (options) => {
            const own = await sound.baseline?.(options);
            if (own === undefined) throw new Error("no baseline");
            const changed = fault.baseline?.(own) ?? own;
            taken.set(changed, own);
            return changed;
          },
        }),
    ...fault.source?.(sound),
  };
}

function brokenWorld(fault: Fault): ContractWorld {
  const world = memoryWorld();
  const changed = { ...world, ...fault.world?.(world) };
  return {
    ...changed,
    source: (limits) => brokenSource(changed.source(limits), fault),
    unreachable: () => brokenSource(changed.unreachable(), fault),
  };
}

const checks = sourceContract({ make: memoryWorld });

describe("each check of the contract refuses a source that is broken", () => {
  test.each(checks.map(({ name }) => name))("%s", async (name) => {
    const fault = faults[name];
    if (fault === undefined) throw new Error(`no negative control for the check "${name}"`);
    const check = sourceContract({ make: () => brokenWorld(fault) }).find(
      (each) => each.name === name,
    );
    await expect(check?.run()).rejects.toThrow(/./);
    // And the same check accepts the source that is not broken.
    await checks.find((each) => each.name === name)?.run();
  });
});

test("a skip names a check and carries its reason", () => {
  const [first] = checks;
  const skipped = sourceContract({ make: memoryWorld, skip: { [first?.name ?? ""]: "a reason" } });
  expect(skipped[0]?.skip).toBe("a reason");
  expect(() => sourceContract({ make: memoryWorld, skip: { "no such check": "" } })).toThrow(
    "no such check",
  );
});
