import { canonicalJson } from "../core/canonical-json.ts";
import type { SurfaceEntry } from "../core/entry.ts";
import type { Matcher } from "../core/matcher.ts";
import type { Extent, Observation, SurfaceObservation } from "../core/observation.ts";
import type { SurfaceScorable } from "../core/scorable.ts";
import type { Baseline, ObservationRequest, ObserveOptions } from "../core/source.ts";
import type { ContractSource, ContractWorld } from "./contract-world.ts";

/** Throws an error that says what did not hold. */
export function claim(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`contract of sources: ${what}`);
}

/** Throws where two values of plain data differ. */
export function claimSame(found: unknown, wanted: unknown, what: string): void {
  const is = canonicalJson(plain(found));
  const should = canonicalJson(plain(wanted));
  claim(is === should, `${what}: expected ${short(should)}, got ${short(is)}`);
}

/** Throws unless the work is refused, and gives the reason. */
export async function claimRefused(work: () => unknown, what: string): Promise<unknown> {
  try {
    await work();
  } catch (reason) {
    return reason;
  }
  throw new Error(`contract of sources: ${what}: expected a refusal, got an answer`);
}

/** Fields that are there and undefined are as good as none. */
function plain(value: unknown): unknown {
  return value === undefined ? null : JSON.parse(JSON.stringify(value));
}

function short(text: string): string {
  return text.length > 600 ? `${text.slice(0, 600)}...` : text;
}

/** The request for every location of a world, or for those of a pattern. */
export function everything(world: ContractWorld, more: Asked = {}): SurfaceRequest {
  const { path = "**", probes, extent, ...scorable } = more;
  return {
    scorable: {
      kind: "surface",
      uri: `${world.root}:/${path}`,
      surface: world.surface,
      match: "glob",
      ...scorable,
    },
    ...(probes === undefined ? {} : { probes }),
    ...(extent === undefined ? {} : { extent }),
  };
}

export type SurfaceRequest = ObservationRequest<SurfaceScorable>;

export interface Asked extends Partial<Pick<SurfaceScorable, "match" | "scope">> {
  readonly path?: string;
  readonly probes?: readonly Matcher[];
  readonly extent?: Extent;
}

/** Observes one request. */
export async function observeOne(
  source: ContractSource,
  request: SurfaceRequest,
  options: ObserveOptions = {},
): Promise<SurfaceObservation> {
  const observations = await source.observe([request], options);
  claim(observations.length === 1, `one request gave ${observations.length} observations`);
  return surfaceOf(observations[0]);
}

export function surfaceOf(observation: Observation | undefined): SurfaceObservation {
  claim(observation?.payload.kind === "surface", "a surface scorable gave no surface payload");
  return { ...observation, payload: observation.payload };
}

/** Uses a source and disposes of it. */
export async function withSource<T>(
  source: ContractSource,
  work: (source: ContractSource) => Promise<T>,
): Promise<T> {
  try {
    return await work(source);
  } finally {
    await source[Symbol.asyncDispose]?.();
  }
}

/** Takes a baseline where the source can, so that what is put afterwards is the run's. */
export async function before(source: ContractSource): Promise<{ readonly baseline?: Baseline }> {
  const baseline = await source.baseline?.();
  return baseline === undefined ? {} : { baseline };
}

/** The entry of a path; throws where there is none. */
export function entryAt(
  observation: SurfaceObservation,
  world: ContractWorld,
  path: string,
): SurfaceEntry {
  const uri = `${world.root}:/${path}`;
  const entry = observation.payload.entries.find((each) => each.uri === uri);
  claim(entry !== undefined, `${uri} is no entry`);
  return entry;
}

/** What of an observation must not differ between two of one world. */
export function factsOf(observation: Observation): unknown {
  return { ...observation, id: "", observedAt: "" };
}
