import type { Gap } from "../core/gap.ts";
import { gapsOf, type Observation } from "../core/observation.ts";
import type { LocalFileSurfaceSource } from "../sources/local-files/source.ts";
import type { SqlSurfaceSource } from "../sources/sql/source.ts";
import type { RunRecord } from "../evidence/record/run-record.ts";
import { DEFAULT_ROOT } from "../core/locator.ts";
import { callsGiven } from "./given-calls.ts";
import {
  changesOf,
  entriesOf,
  filesOf,
  gapsOfReading,
  stateOf,
  tablesOf,
  type GivenEvidence,
} from "./given-world.ts";

/** What reads the world of an attempt: the sources that watched it. */
export interface WorldSources {
  readonly files: LocalFileSurfaceSource;
  readonly databases: readonly { readonly name: string; readonly source: SqlSurfaceSource }[];
}

/** Reads the world as it is after the run, through the sources that watched it. Rejects with the signal's reason. */
export async function evidenceOf(
  record: RunRecord,
  sources: WorldSources,
  signal: AbortSignal | undefined,
): Promise<GivenEvidence> {
  const files = await readFiles(sources, signal);
  const rows = await readRows(sources, signal);
  const observed = { files: filesOf(entriesOf(files)), tables: tablesOf(entriesOf(rows)) };
  const { calls, gaps } = callsGiven(record.observations);
  const conversations = record.observations.flatMap(({ payload }) =>
    payload.kind === "conversation" ? [payload] : [],
  );
  return {
    world: {
      ...observed,
      state: stateOf(observed),
      changes: changesOf(record),
      reply: conversations
        .flatMap(({ conversation }) => conversation.messages)
        .filter(({ role }) => role === "assistant")
        .map(({ text }) => text)
        .join("\n"),
    },
    calls,
    gaps: {
      files: gapsOfReading(files),
      // The collections of `state.json` are read as tables, too.
      tables: gapsOfReading([...rows, ...files]),
      changes: gapsIn(record.deltas),
      reply: conversations.flatMap((each) => each.gaps),
      calls: gaps,
    },
  };
}

/** Without a baseline every file is a candidate. */
function readFiles(
  { files }: WorldSources,
  signal: AbortSignal | undefined,
): Promise<readonly Observation[]> {
  const scorable = {
    kind: "surface",
    uri: `${DEFAULT_ROOT}:/**`,
    surface: "file",
    match: "glob",
  } as const;
  return files.observe([{ scorable }], signal === undefined ? {} : { signal });
}

async function readRows(
  { databases }: WorldSources,
  signal: AbortSignal | undefined,
): Promise<readonly Observation[]> {
  const all: Observation[] = [];
  for (const { name, source } of databases) {
    const scorable = {
      kind: "surface",
      uri: `${name}:/**`,
      surface: "sql",
      match: "glob",
    } as const;
    await using baseline = source.nothing();
    const options = { baseline, ...(signal === undefined ? {} : { signal }) };
    all.push(...(await source.observe([{ scorable, extent: "delta" }], options)));
  }
  return all;
}

function gapsIn(observations: readonly Observation[]): readonly Gap[] {
  return observations.flatMap(({ payload }) => gapsOf(payload));
}
