import { canonicalJsonBytes } from "../../core/canonical-json.ts";
import { rootOf } from "../../core/locator.ts";
import type { Gap } from "../../core/gap.ts";
import { acquisitionOf, gapsOf, type Observation } from "../../core/observation.ts";
import type { ScoringScope } from "../../core/scope.ts";
import { BUNDLE_LIMITS } from "../limits.ts";
import type { RunSecret } from "../salt.ts";
import type { PartInput, SealInput } from "../seal.ts";
import { boundWorlds } from "../world/bound-worlds.ts";
import type { World } from "../world/world.ts";
import { ContentsSplit } from "./contents.ts";
import { LinesParts } from "./lines-parts.ts";
import {
  contentsTitle,
  JSON_TYPE,
  LINES_TYPE,
  observationsTitle,
  STEMS,
  TITLES,
  worldTitle,
} from "./part-titles.ts";
import type { RunPart, RunRecord } from "./run-record.ts";
import { veilOf, type Veil } from "./veil.ts";

const CONVERSATION = "conversation";
const TOOL_CALLS = "tool-calls";

/** What a salt adds to the bytes of a part, at most. */
const SALT_BYTES = 64;

/**
 * A run as the parts of a bundle. What was retained of a root stands in one part, with its digests: no other part tells what it
 * was when that one is withheld. A part beyond the limit of a blob is left out, and named with its count.
 */
export function sealInputOf(
  record: RunRecord,
  producer: { readonly name: string; readonly version: string },
  secret: RunSecret,
): SealInput {
  const { run } = record;
  const seen = [...record.deltas, ...record.observations];
  const veil = veilOf(seen, secret);
  const worlds = boundedWorlds(record);
  const parts = partsOf({ ...record, worlds }, seen, veil);
  const all = veil(seen);
  return {
    run: {
      runId: run.runId,
      attemptId: run.attemptId,
      ...record.scenario,
      startedAt: run.window[0],
      endedAt: run.window[1],
      producer,
    },
    scope: firstScope(all),
    limits: limitsOf(all),
    attribution: veil(record.deltas).flatMap(attributionOf),
    coverage: [
      ...all.map((each) => ({
        source: `${each.source.name} ${each.id}`,
        acquisition: each.acquisition,
        ...gapsTold(gapsOf(each.payload)),
      })),
      ...worlds.map(({ root, gaps }) => ({
        source: `world ${root}`,
        acquisition: acquisitionOf(gaps),
        ...gapsTold(gaps),
      })),
    ],
    parts,
  };
}

function gapsTold(gaps: readonly Gap[]): {
  readonly gaps: readonly Gap[];
  readonly gapsTotal: number;
} {
  return { gaps, gapsTotal: gaps.reduce((sum, { count }) => sum + count, 0) };
}

/** All within the smallest of the bounds that they were captured under. */
function boundedWorlds({ worlds = [] }: RunRecord): readonly World[] {
  if (worlds.length === 0) return [];
  return boundWorlds(worlds, Math.min(...worlds.map(({ bound }) => bound.maxBytes)));
}

/** The rows of its tables are counted where all of them are known. */
function worldPart(world: World): PartInput {
  const part = jsonPart(worldTitle(world.root), world);
  const all = [...world.tables, ...world.omittedTables];
  const isCounted = world.omittedUnnamed === 0 && all.every((each) => each.rowsTotal !== undefined);
  if (part.state !== "present" || !isCounted) return part;
  const shown = world.tables.reduce((sum, { rowsShown }) => sum + rowsShown, 0);
  const total = all.reduce((sum, { rowsTotal = 0 }) => sum + rowsTotal, 0);
  return { ...part, counts: { shown, total } };
}

function partsOf(
  record: RunRecord & { readonly worlds: readonly World[] },
  all: readonly Observation[],
  veil: Veil,
): readonly PartInput[] {
  const { worlds } = record;
  const run: RunPart = {
    schemaVersion: 1,
    run: record.run,
    roots: record.roots,
    deltas: record.deltas.map(({ id }) => id),
  };
  const lines = new LinesParts();
  const observed = observationParts(all, lines, veil);
  return [
    jsonPart(TITLES.run, run),
    ...(record.claims === undefined ? [] : [jsonPart(TITLES.claims, record.claims)]),
    ...(record.grading === undefined ? [] : [jsonPart(TITLES.grading, record.grading)]),
    ...lines.parts.map(({ title, lines: each }) => linesPart(title, each)),
    ...observed,
    ...worlds.map(worldPart),
    jsonPart(
      TITLES.scores,
      { schemaVersion: 1, scores: veil(record.scores) },
      record.scores.length,
    ),
  ];
}

function observationParts(
  all: readonly Observation[],
  lines: LinesParts,
  veil: Veil,
): readonly PartInput[] {
  const byName = new Map<string, Observation[]>();
  for (const each of all) {
    const name = partNameOf(each);
    byName.set(name, [...(byName.get(name) ?? []), each]);
  }
  return [...byName]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .flatMap(([name, seen]) => {
      const split = new ContentsSplit();
      const observations = veil(seen.map((each) => referred(each, split, lines)));
      const part = jsonPart(
        observationsTitle(name),
        { schemaVersion: 2, observations },
        observations.length,
      );
      const { contents } = split;
      if (contents.length === 0) return [part];
      return [part, jsonPart(contentsTitle(name), { schemaVersion: 1, contents }, contents.length)];
    });
}

/** Observations of one root, of the conversation and of the tool calls are a part each. */
function partNameOf({ payload }: Observation): string {
  switch (payload.kind) {
    case "surface":
      return rootOf(payload.scope.uri);
    case "conversation":
      return CONVERSATION;
    case "tools":
      return TOOL_CALLS;
  }
}

/** An observation with references in place of contents, messages and calls. */
function referred(
  observation: Observation,
  split: ContentsSplit,
  lines: LinesParts,
): Readonly<Record<string, unknown>> {
  const { payload } = observation;
  switch (payload.kind) {
    case "surface":
      return { ...observation, payload: split.refer(payload) };
    case "conversation": {
      const { messages, ...conversation } = payload.conversation;
      const kept = lines.refer(STEMS.messages, messages);
      return { ...observation, payload: { ...payload, conversation, kept } };
    }
    case "tools": {
      const { calls, ...told } = payload;
      return { ...observation, payload: { ...told, kept: lines.refer(STEMS.calls, calls) } };
    }
  }
}

function linesPart(title: string, lines: readonly unknown[]): PartInput {
  const total = lines.length;
  const named = { title, mediaType: LINES_TYPE };
  const sizeBytes = lines.reduce<number>(
    (sum, line) => sum + canonicalJsonBytes(line).length + 1,
    SALT_BYTES,
  );
  if (sizeBytes > BUNDLE_LIMITS.maxJsonBytes)
    return { state: "omitted", ...named, total, reason: tooLarge(sizeBytes) };
  return { state: "present", ...named, content: { lines }, counts: { shown: total, total } };
}

function tooLarge(sizeBytes: number): string {
  return `${sizeBytes} bytes, at most ${BUNDLE_LIMITS.maxJsonBytes} can be sealed`;
}

function jsonPart(title: string, json: unknown, total: number = 1): PartInput {
  const sizeBytes = canonicalJsonBytes(json).length + SALT_BYTES;
  const named = { title, mediaType: JSON_TYPE };
  if (sizeBytes <= BUNDLE_LIMITS.maxJsonBytes)
    return { state: "present", ...named, content: { json } };
  return { state: "omitted", ...named, total, reason: tooLarge(sizeBytes) };
}

function firstScope(all: readonly Observation[]): ScoringScope {
  for (const { payload } of all)
    if (payload.kind === "surface" && payload.scope.scope !== undefined) return payload.scope.scope;
  return {};
}

/** The numbers among the parameters of the sources: their limits. */
function limitsOf(all: readonly Observation[]): Readonly<Record<string, number>> {
  const limits = all.flatMap(({ source }) =>
    Object.entries(source.parameters).flatMap(([name, value]) =>
      typeof value === "number" ? [[name, value] as const] : [],
    ),
  );
  return Object.fromEntries(limits);
}

function attributionOf({
  payload,
}: Observation): readonly NonNullable<SealInput["attribution"]>[number][] {
  if (payload.kind !== "surface") return [];
  const { method, baseline, reason } = payload.attribution;
  const stat = method === "baseline (stat)" ? "by identity, size and times" : undefined;
  const reasons = [stat, reason].filter((each) => each !== undefined).join("; ");
  return [
    {
      root: rootOf(payload.scope.uri),
      method: method === "baseline (stat)" ? "baseline" : method,
      ...(reasons === "" ? {} : { reason: reasons.slice(0, 2_000) }),
      ...(baseline === undefined ? {} : { baseline }),
    },
  ];
}
