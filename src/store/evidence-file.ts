import { z } from "zod";
import { canonicalJsonBytes } from "../core/canonical-json.ts";
import { UpheldError } from "../core/errors.ts";
import { ExpectationFile } from "../core/expectation.ts";
import { issuesOf } from "../core/issues.ts";
import { rootOf } from "../core/locator.ts";
import { gapsOf, parseObservation, type Observation } from "../core/observation.ts";
import type { ScoringScope } from "../core/scope.ts";
import { parseStrictJsonBytes } from "../core/strict-json.ts";
import { blobName } from "../evidence/layout.ts";
import { BUNDLE_LIMITS } from "../evidence/limits.ts";
import type { BundleReader } from "../evidence/reader.ts";
import type { PartInput, SealInput } from "../evidence/seal.ts";
import type { EvidenceStatement } from "../evidence/statement.ts";
import { RecordedScore, RunPart, type RunRecord } from "./run-record.ts";

const JSON_TYPE = "application/json";
const LINES_TYPE = "application/x-ndjson";

/** The titles of the parts; those of observations are `observations/ROOT.json`. */
const TITLES = {
  run: "run.json",
  claims: "claims.json",
  scores: "scores.json",
  transcript: "transcript.jsonl",
  calls: "tool-calls.jsonl",
} as const;
const OBSERVATIONS = "observations/";
const CONVERSATION = "conversation";
const TOOL_CALLS = "tool-calls";

const Observations = z.object({
  schemaVersion: z.literal(1),
  observations: z.array(z.unknown()),
});
const Scores = z.object({ schemaVersion: z.literal(1), scores: z.array(RecordedScore) });

/** A run as the parts of a bundle. A part beyond the limit of a blob is left out, and named with its count. */
export function sealInputOf(
  record: RunRecord,
  producer: { readonly name: string; readonly version: string },
): SealInput {
  const { run } = record;
  const all = [...record.deltas, ...record.observations];
  return {
    run: {
      runId: run.runId,
      attemptId: run.attemptId,
      startedAt: run.window[0],
      endedAt: run.window[1],
      producer,
    },
    scope: firstScope(all),
    limits: limitsOf(all),
    attribution: record.deltas.flatMap(attributionOf),
    coverage: all.map((each) => ({
      source: `${each.source.name} ${each.id}`,
      acquisition: each.acquisition,
      gaps: gapsOf(each.payload),
      gapsTotal: gapsOf(each.payload).reduce((sum, gap) => sum + gap.count, 0),
    })),
    parts: partsOf(record, all),
  };
}

function partsOf(record: RunRecord, all: readonly Observation[]): readonly PartInput[] {
  const run: RunPart = {
    schemaVersion: 1,
    run: record.run,
    roots: record.roots,
    deltas: record.deltas.map(({ id }) => id),
  };
  return [
    jsonPart(TITLES.run, run),
    ...(record.claims === undefined ? [] : [jsonPart(TITLES.claims, record.claims)]),
    ...transcriptPart(all),
    ...callsPart(all),
    ...observationParts(all),
    jsonPart(TITLES.scores, { schemaVersion: 1, scores: record.scores }, record.scores.length),
  ];
}

function observationParts(all: readonly Observation[]): readonly PartInput[] {
  const byRoot = new Map<string, Observation[]>();
  for (const each of all) {
    const name = partNameOf(each);
    byRoot.set(name, [...(byRoot.get(name) ?? []), each]);
  }
  return [...byRoot]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, observations]) =>
      jsonPart(
        `${OBSERVATIONS}${name}.json`,
        { schemaVersion: 1, observations },
        observations.length,
      ),
    );
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

/** The messages, a line each, for readers that know nothing of observations. */
function transcriptPart(all: readonly Observation[]): readonly PartInput[] {
  for (const { payload } of all)
    if (payload.kind === "conversation")
      return [linesPart(TITLES.transcript, payload.conversation.messages)];
  return [];
}

/** The tool calls, a line each. */
function callsPart(all: readonly Observation[]): readonly PartInput[] {
  for (const { payload } of all)
    if (payload.kind === "tools") return [linesPart(TITLES.calls, payload.calls)];
  return [];
}

function linesPart(title: string, lines: readonly unknown[]): PartInput {
  const total = lines.length;
  const named = { title, mediaType: LINES_TYPE };
  const sizeBytes = lines.reduce<number>(
    (sum, line) => sum + canonicalJsonBytes(line).length + 1,
    0,
  );
  if (sizeBytes > BUNDLE_LIMITS.maxBlobBytes)
    return { state: "omitted", ...named, total, reason: tooLarge(sizeBytes) };
  return { state: "present", ...named, content: { lines }, counts: { shown: total, total } };
}

function tooLarge(sizeBytes: number): string {
  return `${sizeBytes} bytes, at most ${BUNDLE_LIMITS.maxBlobBytes} can be sealed`;
}

function jsonPart(title: string, value: unknown, total: number = 1): PartInput {
  const bytes = canonicalJsonBytes(value);
  const named = { title, mediaType: JSON_TYPE };
  if (bytes.length <= BUNDLE_LIMITS.maxBlobBytes)
    return { state: "present", ...named, content: { bytes } };
  return { state: "omitted", ...named, total, reason: tooLarge(bytes.length) };
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

/**
 * The run that an intact bundle tells of. Throws "bundle_invalid" where a part is missing or of another form, and
 * "observation_changed" where an observation breaks an invariant.
 */
export async function readRunRecord(
  reader: BundleReader,
  statement: EvidenceStatement,
): Promise<RunRecord> {
  const parts = await readParts(reader, statement);
  const head = parsePart(RunPart, TITLES.run, parts.get(TITLES.run));
  const scores = parsePart(Scores, TITLES.scores, parts.get(TITLES.scores));
  const claims = parts.get(TITLES.claims);
  const observations = [...parts]
    .filter(([title]) => title.startsWith(OBSERVATIONS))
    .flatMap(([title, value]) => parsePart(Observations, title, value).observations)
    .map(parseObservation);
  const deltas = new Set<string>(head.deltas);
  return {
    run: head.run,
    roots: head.roots,
    deltas: observations.filter(({ id }) => deltas.has(id)),
    observations: observations.filter(({ id }) => !deltas.has(id)),
    ...(claims === undefined ? {} : { claims: parsePart(ExpectationFile, TITLES.claims, claims) }),
    scores: scores.scores,
  };
}

async function readParts(
  reader: BundleReader,
  statement: EvidenceStatement,
): Promise<ReadonlyMap<string, unknown>> {
  const parts = new Map<string, unknown>();
  for (const part of statement.predicate.parts) {
    if (part.mediaType !== JSON_TYPE) continue;
    if (part.state !== "present" && part.state !== "redacted") continue;
    const name = blobName(part.digest);
    const bytes = await reader.read({ name, sizeBytes: part.sizeBytes });
    parts.set(part.title, parseStrictJsonBytes(bytes));
  }
  return parts;
}

function parsePart<T>(schema: z.ZodType<T>, title: string, value: unknown): T {
  if (value === undefined)
    throw new UpheldError("bundle_invalid", `the bundle holds no part ${title}`);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new UpheldError(
    "bundle_invalid",
    `${title} is not of the published form: ${issuesOf(parsed.error)}`,
    {
      cause: parsed.error,
    },
  );
}
