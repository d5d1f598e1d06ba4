import { z } from "zod";
import { UpheldError } from "../../core/errors.ts";
import { ExpectationFile } from "../../core/expectation.ts";
import { gap, type Gap, type GapCode } from "../../core/gap.ts";
import { issuesOf } from "../../core/issues.ts";
import { parseObservation, type Observation } from "../../core/observation.ts";
import type { Hasher } from "../hasher.ts";
import type { BundleReader } from "../reader.ts";
import type { EvidenceStatement } from "../statement.ts";
import { ContentsPart, rejoined, StoredEntries, type Contents } from "./contents.ts";
import { World } from "../world/world.ts";
import { Grading } from "./grading.ts";
import { contentsTitle, isWorldTitle, observationsName, TITLES } from "./part-titles.ts";
import { readParts, type Parts } from "./read-parts.ts";
import { RecordedScore, RunPart, type RunRecord } from "./run-record.ts";

const Scores = z.object({ schemaVersion: z.literal(1), scores: z.array(RecordedScore) });

/** Version 1 held contents, messages and calls in place. */
const Observations = z.object({
  schemaVersion: z.union([z.literal(1), z.literal(2)]),
  observations: z.array(z.unknown()),
});

const LinesReference = z.object({ part: z.string(), count: z.int().min(0) });
const StoredConversation = z.looseObject({
  kind: z.literal("conversation"),
  conversation: z.looseObject({ id: z.string() }),
  gaps: z.array(z.unknown()),
  kept: LinesReference,
});
const StoredCalls = z.looseObject({
  kind: z.literal("tools"),
  scope: z.looseObject({ uri: z.string() }),
  gaps: z.array(z.unknown()),
  kept: LinesReference,
});
const StoredSurface = StoredEntries.extend({ kind: z.literal("surface") });
const StoredObservation = z.looseObject({
  acquisition: z.unknown(),
  payload: z.discriminatedUnion("kind", [StoredSurface, StoredConversation, StoredCalls]),
});
type StoredObservation = z.infer<typeof StoredObservation>;

/**
 * The run that an intact bundle tells of. A withheld or omitted part that others refer to leaves gaps in its place; scores and
 * claims that are not there are none. Throws "bundle_invalid" where the run itself or what an observation names is missing or of
 * another form, and "observation_changed" where an observation breaks an invariant.
 */
export async function readRunRecord(
  reader: BundleReader,
  statement: EvidenceStatement,
  { hasher }: { readonly hasher: Hasher },
): Promise<RunRecord> {
  const parts = await readParts(reader, statement, hasher);
  const head = parsePart(RunPart, TITLES.run, parts);
  const observations = parts.titles.flatMap((title) => observationsIn(title, parts));
  const deltas = new Set<string>(head.deltas);
  return {
    run: head.run,
    roots: head.roots,
    deltas: observations.filter(({ id }) => deltas.has(id)),
    observations: observations.filter(({ id }) => !deltas.has(id)),
    ...(parts.json.has(TITLES.claims)
      ? { claims: parsePart(ExpectationFile, TITLES.claims, parts) }
      : {}),
    ...(parts.json.has(TITLES.grading)
      ? { grading: parsePart(Grading, TITLES.grading, parts) }
      : {}),
    ...worldsIn(parts),
    scores: parts.json.has(TITLES.scores) ? parsePart(Scores, TITLES.scores, parts).scores : [],
  };
}

function worldsIn(parts: Parts): Pick<RunRecord, "worlds"> {
  const titles = parts.titles.filter((title) => isWorldTitle(title) && parts.json.has(title));
  if (titles.length === 0) return {};
  return { worlds: titles.map((title) => parsePart(World, title, parts)) };
}

function observationsIn(title: string, parts: Parts): readonly Observation[] {
  const name = observationsName(title);
  if (name === undefined || !parts.json.has(title)) return [];
  const { schemaVersion, observations } = parsePart(Observations, title, parts);
  if (schemaVersion === 1) return observations.map(parseObservation);
  const contents = contentsOf(contentsTitle(name), parts);
  return observations.map((each) => {
    const stored = parseAs(StoredObservation, title, each);
    return parseObservation(whole(stored, contents, parts));
  });
}

/** The contents of a root; none where nothing was retained of it. */
function contentsOf(title: string, parts: Parts): Contents {
  const missing = parts.missing.get(title);
  if (missing !== undefined) return missing;
  if (!parts.json.has(title)) return new Map();
  const { contents } = parsePart(ContentsPart, title, parts);
  return new Map(contents.map((each) => [each.id, each]));
}

/** An observation with everything in place that other parts hold of it. */
function whole(stored: StoredObservation, contents: Contents, parts: Parts): unknown {
  const { payload } = stored;
  switch (payload.kind) {
    case "surface":
      return { ...stored, payload: rejoined(payload, contents) };
    case "conversation": {
      const { kept, ...told } = payload;
      const { id } = payload.conversation;
      const { lines, gaps } = linesOf(kept, `conversation:/${id}`, parts);
      const conversation = { ...payload.conversation, messages: lines };
      return withGaps(stored, { ...told, conversation }, gaps);
    }
    case "tools": {
      const { kept, ...told } = payload;
      const { lines, gaps } = linesOf(kept, payload.scope.uri, parts);
      return withGaps(stored, { ...told, calls: lines }, gaps);
    }
  }
}

function withGaps(
  stored: StoredObservation,
  payload: { readonly gaps: readonly unknown[]; readonly [name: string]: unknown },
  gaps: readonly Gap[],
): object {
  const isLess = gaps.length > 0 && stored.acquisition === "complete";
  return {
    ...stored,
    ...(isLess ? { acquisition: "partial" } : {}),
    payload: { ...payload, gaps: [...payload.gaps, ...gaps] },
  };
}

/** The lines that a payload refers to, or the gap that stands for all of them. */
function linesOf(
  { part, count }: z.infer<typeof LinesReference>,
  location: string,
  { lines, missing }: Parts,
): { readonly lines: readonly unknown[]; readonly gaps: readonly Gap[] } {
  const code = missing.get(part);
  if (code !== undefined) return { lines: [], gaps: missingGaps(code, { part, count, location }) };
  const found = lines.get(part) ?? [];
  if (found.length >= count) return { lines: found.slice(0, count), gaps: [] };
  throw new UpheldError(
    "bundle_invalid",
    `an observation names ${count} lines of ${part}, which has ${found.length}`,
  );
}

/** A part without lines has nothing to miss. */
function missingGaps(
  code: GapCode,
  { part, count, location }: { part: string; count: number; location: string },
): readonly Gap[] {
  return count === 0 ? [] : [gap(code, location, { detail: part, count })];
}

function parsePart<T>(schema: z.ZodType<T>, title: string, { json, missing }: Parts): T {
  if (!json.has(title)) {
    const state = missing.get(title) === "part_withheld" ? "is withheld" : "is not there";
    throw new UpheldError("bundle_invalid", `${title} ${state}: without it nothing can be read`);
  }
  return parseAs(schema, title, json.get(title));
}

function parseAs<T>(schema: z.ZodType<T>, title: string, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new UpheldError(
    "bundle_invalid",
    `${title} is not of the published form: ${issuesOf(parsed.error)}`,
    { cause: parsed.error },
  );
}
