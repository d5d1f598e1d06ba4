import { canonicalJson } from "../core/canonical-json.ts";
import { leavesOf, type Condition } from "../core/condition.ts";
import { UpheldError } from "../core/errors.ts";
import { issuesOf } from "../core/issues.ts";
import { rootOf } from "../core/locator.ts";
import { matcherFingerprint, type Matcher } from "../core/matcher.ts";
import { isMade, Observation } from "../core/observation.ts";
import type {
  ConversationScorable,
  Scorable,
  SurfaceScorable,
  ToolCallsScorable,
} from "../core/scorable.ts";
import type { Need, ScoringContext } from "../core/scorer.ts";
import type { ScoringScope } from "../core/scope.ts";
import type {
  Baseline,
  ObservationRequest,
  ObservationSource,
  ObserveOptions,
} from "../core/source.ts";
import { builtInScorers, type Scorers } from "./registry.ts";

/** A root of the run and the source that reads it. One source may read several roots. */
export interface BoundSource {
  readonly root: string;
  /** The kind of place: file, sql, bucket, ... */
  readonly surface: string;
  readonly source: ObservationSource;
  readonly baseline?: Baseline | undefined;
}

/** The conversation of the run and the source that reads it. */
export interface BoundConversation {
  readonly scorable: ConversationScorable;
  readonly source: ObservationSource<ConversationScorable>;
}

/** The tool calls of the run and the source that collects them. */
export interface BoundCalls {
  readonly scorable: ToolCallsScorable;
  readonly source: ObservationSource<ToolCallsScorable>;
}

/** What is read live. */
export interface LiveEvidence {
  readonly sources: readonly BoundSource[];
  readonly conversation?: BoundConversation | undefined;
  readonly calls?: BoundCalls | undefined;
  readonly scope?: ScoringScope | undefined;
}

export interface ObserveNeedsOptions {
  readonly scorers?: Scorers;
  readonly signal?: AbortSignal | undefined;
}

/** What conditions may ask of live evidence. */
export function contextOf({ sources, conversation, calls, scope }: LiveEvidence): ScoringContext {
  return {
    roots: sources.map(({ root, surface }) => ({ name: root, surface })),
    conversation: conversation?.scorable,
    calls: calls?.scorable,
    scope,
  };
}

/**
 * What has to be observed to decide these conditions: equal scorables once, with the probes of all that ask for them.
 * Throws "condition_unrouted", "source_missing" and "glob_invalid", before anything is read.
 */
export function needsOf(
  conditions: readonly Condition[],
  context: ScoringContext,
  scorers: Scorers = builtInScorers,
): readonly Need[] {
  const leaves = conditions.flatMap(leavesOf);
  return mergeNeeds(leaves.flatMap((leaf) => scorers.of(leaf).needs(leaf, context)));
}

/**
 * Observes all needs, each source once with everything that is asked of it. Throws "source_missing" before anything is read, and
 * "source_contract_broken" where a source returns something else than it was asked for; rejects with the signal's reason.
 */
export async function observeNeeds(
  needs: readonly Need[],
  evidence: LiveEvidence,
  options: ObserveNeedsOptions = {},
): Promise<readonly Observation[]> {
  const merged = mergeNeeds(needs);
  const jobs = jobsOf(merged, evidence);
  options.signal?.throwIfAborted();
  const settled = await Promise.allSettled(jobs.map((job) => job.run(options)));
  options.signal?.throwIfAborted();
  // Every source has ended by now: nothing reads on behind a failure.
  const found = new Map<string, Observation>();
  for (const each of settled) {
    if (each.status === "rejected") throw each.reason;
    for (const [key, observation] of each.value) found.set(key, observation);
  }
  return merged.flatMap((need) => found.get(keyOf(need)) ?? []);
}

/** The one name of what a need looks at. */
export function keyOf(need: Need): string {
  return canonicalJson({ scorable: need.scorable, extent: extentOf(need) });
}

function extentOf(need: Need): string {
  return need.scorable.kind === "surface" ? (need.extent ?? "candidates") : need.scorable.kind;
}

function mergeNeeds(needs: readonly Need[]): readonly Need[] {
  const byKey = new Map<string, Need>();
  for (const need of needs) {
    const other = byKey.get(keyOf(need));
    byKey.set(
      keyOf(need),
      other === undefined ? need : { ...other, probes: unite(other.probes, need.probes) },
    );
  }
  return [...byKey.values()];
}

function unite(left: readonly Matcher[] = [], right: readonly Matcher[] = []): readonly Matcher[] {
  return [
    ...new Map([...left, ...right].map((probe) => [matcherFingerprint(probe), probe])).values(),
  ];
}

interface Job {
  run(options: ObserveNeedsOptions): Promise<readonly (readonly [string, Observation])[]>;
}

function jobsOf(needs: readonly Need[], evidence: LiveEvidence): readonly Job[] {
  const ofSurfaces: ObservationRequest<SurfaceScorable>[] = [];
  const ofConversation: ObservationRequest<ConversationScorable>[] = [];
  const ofCalls: ObservationRequest<ToolCallsScorable>[] = [];
  for (const { scorable, ...how } of needs)
    switch (scorable.kind) {
      case "surface":
        ofSurfaces.push({ scorable, ...how });
        break;
      case "conversation":
        ofConversation.push({ scorable });
        break;
      case "tool_calls":
        ofCalls.push({ scorable });
    }
  return [
    ...surfaceJobs(ofSurfaces, evidence.sources),
    ...boundJob(ofConversation, evidence.conversation, "the conversation"),
    ...boundJob(ofCalls, evidence.calls, "the tool calls"),
  ];
}

function surfaceJobs(
  requests: readonly ObservationRequest<SurfaceScorable>[],
  sources: readonly BoundSource[],
): readonly Job[] {
  const bySource = new Map<
    ObservationSource,
    { baseline: Baseline | undefined; requests: ObservationRequest<SurfaceScorable>[] }
  >();
  for (const request of requests) {
    const bound = boundTo(request.scorable, sources);
    const job = bySource.get(bound.source) ?? { baseline: bound.baseline, requests: [] };
    bySource.set(bound.source, job);
    job.requests.push(request);
  }
  return [...bySource].map(([source, { baseline, requests }]) => ({
    run: ({ signal }) => observe(source, requests, optionsOf(signal, baseline)),
  }));
}

function boundJob<S extends ConversationScorable | ToolCallsScorable>(
  requests: readonly ObservationRequest<S>[],
  bound: { readonly source: ObservationSource<S> } | undefined,
  what: string,
): readonly Job[] {
  if (requests.length === 0) return [];
  if (bound === undefined)
    throw new UpheldError("source_missing", `no source was given for ${what}`);
  return [{ run: ({ signal }) => observe(bound.source, requests, optionsOf(signal, undefined)) }];
}

function optionsOf(
  signal: AbortSignal | undefined,
  baseline: Baseline | undefined,
): ObserveOptions {
  return {
    ...(signal === undefined ? {} : { signal }),
    ...(baseline === undefined ? {} : { baseline }),
  };
}

function boundTo(scorable: SurfaceScorable, sources: readonly BoundSource[]): BoundSource {
  const root = rootOf(scorable.uri);
  const found = sources.find((each) => each.root === root && each.surface === scorable.surface);
  if (found !== undefined) return found;
  throw new UpheldError(
    "source_missing",
    `no source of surface ${scorable.surface} was given for the root ${JSON.stringify(root)}`,
  );
}

async function observe<S extends Need["scorable"]>(
  source: ObservationSource<S>,
  requests: readonly ObservationRequest<S>[],
  options: ObserveOptions,
): Promise<readonly (readonly [string, Observation])[]> {
  const returned = await source.observe(requests, options);
  if (returned.length !== requests.length)
    throw broken(
      source,
      `it was asked for ${requests.length} observations and returned ${returned.length}`,
    );
  return requests.map(
    (request, index) => [keyOf(request), accept(source, request, returned[index])] as const,
  );
}

/** The observation, where it is one and is of what was asked for. */
function accept<S extends Scorable>(
  source: ObservationSource<S>,
  request: ObservationRequest<S>,
  returned: unknown,
): Observation {
  const observation = isMade(returned) ? returned : parsedOf(source, returned);
  const { scorable, payload } = observation;
  if (canonicalJson(scorable) !== canonicalJson(request.scorable))
    throw broken(source, "it returned another scorable than it was asked for");
  if (payload.kind === "surface" && payload.extent !== (request.extent ?? "candidates"))
    throw broken(
      source,
      `it was asked for ${request.extent ?? "candidates"} and returned ${payload.extent}`,
    );
  return observation;
}

function parsedOf(
  source: { identifier(): { readonly name: string } },
  returned: unknown,
): Observation {
  const parsed = Observation.safeParse(returned);
  if (parsed.success) return parsed.data;
  throw broken(source, `it returned no observation: ${issuesOf(parsed.error)}`, parsed.error);
}

function broken(
  source: { identifier(): { readonly name: string } },
  what: string,
  cause?: unknown,
): UpheldError {
  return new UpheldError("source_contract_broken", `source ${source.identifier().name}: ${what}`, {
    cause,
  });
}
