import { z } from "zod";
import { parseStrictJson } from "../core/strict-json.ts";
import type { EntryState, SurfaceEntry } from "../core/entry.ts";
import type { Gap } from "../core/gap.ts";
import { segmentsOf } from "../core/locator.ts";
import { gapsOf, type Observation } from "../core/observation.ts";
import type { Column } from "../core/row.ts";
import type { RunRecord } from "../evidence/record/run-record.ts";

const Collections = z.record(z.string(), z.unknown());

/** Kinds of evidence that a check function can look at. */
export const ReadKind = z.enum(["files", "tables", "changes", "reply", "calls"]);
export type ReadKind = z.infer<typeof ReadKind>;

/** A file as a check function sees it: its text, or its bytes as base64 where it is none. */
export interface GivenFile {
  readonly text?: string;
  readonly base64?: string;
  readonly sizeBytes: number;
  readonly sha256?: string;
}

/** A row: numbers, booleans and JSON where they are exact, all else as the text of the server. */
export type GivenRow = Readonly<Record<string, unknown>>;

/** A change of the run at one place; the states are files or rows. */
export interface GivenChange {
  readonly uri: string;
  readonly change: string;
  readonly from?: string;
  readonly before?: GivenFile | GivenRow;
  readonly after?: GivenFile | GivenRow;
}

/** The world after a run, as check functions get it. Only JSON. */
export interface GivenWorld {
  /** By uri, as "workspace:/out/report.txt". */
  readonly files: Readonly<Record<string, GivenFile>>;
  /** By uri, as "shop:/public/orders". */
  readonly tables: Readonly<Record<string, readonly GivenRow[]>>;
  /** Tables by their plain names, and the collections of `state.json`. */
  readonly state: Readonly<Record<string, unknown>>;
  readonly changes: readonly GivenChange[];
  /** What the agent said. */
  readonly reply: string;
}

/** What a check function of JavaScript gets as its first argument. Looking at a kind of evidence makes the answer rest on it. */
export interface CheckWorld extends Omit<GivenWorld, "state"> {
  /** A file by its path in the world, or by its uri. */
  file(path: string): GivenFile | undefined;
  /** All tables by their plain names, or the rows of one. */
  state(): GivenWorld["state"];
  state(name: string): unknown;
}

/** Everything that a check function is given, and what each kind of it lacks. */
export interface GivenEvidence {
  readonly world: GivenWorld;
  readonly calls: readonly GivenCall[];
  readonly gaps: Readonly<Record<ReadKind, readonly Gap[]>>;
}

/** A tool call: what was asked, what came back, and how it ended. */
export interface GivenCall {
  readonly name: string;
  readonly arguments: unknown;
  readonly result: unknown;
  readonly outcome: string;
  readonly ok: boolean;
  readonly refused: boolean;
  readonly error: boolean;
}

/** About what the run changed, which a reading of the world as it is does not ask. */
const OF_CHANGES: ReadonlySet<string> = new Set([
  "baseline_missing",
  "baseline_partial",
  "baseline_released",
  "prior_content_unknown",
  "clock_uncertain",
  "scope_not_applied",
]);

/** The gaps of a reading of the world as it is. */
export function gapsOfReading(observations: readonly Observation[]): readonly Gap[] {
  return observations
    .flatMap(({ payload }) => gapsOf(payload))
    .filter(({ code }) => !OF_CHANGES.has(code));
}

export function entriesOf(observations: readonly Observation[]): readonly SurfaceEntry[] {
  return observations.flatMap(({ payload }) => (payload.kind === "surface" ? payload.entries : []));
}

/** The files of a reading. */
export function filesOf(entries: readonly SurfaceEntry[]): GivenWorld["files"] {
  return Object.fromEntries(
    entries.flatMap(({ uri, now }) =>
      now === undefined || now.type === "row" || now.type === "table" ? [] : [[uri, fileOf(now)]],
    ),
  );
}

/** The rows of a reading, by their tables; a table without rows is there, too. */
export function tablesOf(entries: readonly SurfaceEntry[]): GivenWorld["tables"] {
  const tables = new Map<string, GivenRow[]>();
  for (const { uri, now, partOf } of entries) {
    if (now?.type === "table") tables.set(uri, tables.get(uri) ?? []);
    if (now?.row === undefined || partOf === undefined) continue;
    tables.set(partOf, [...(tables.get(partOf) ?? []), rowOf(now.row.columns)]);
  }
  return Object.fromEntries(tables);
}

/** Tables by their plain names, where a name is of one alone, else by schema and name; and the collections of `state.json`. */
export function stateOf({
  files,
  tables,
}: Pick<GivenWorld, "files" | "tables">): GivenWorld["state"] {
  const names = Object.keys(tables).map((uri) => segmentsOf(uri));
  const last = names.map((segments) => segments.at(-1) ?? "");
  const plain = Object.entries(tables).map(([uri, rows], index) => {
    const name = last[index] ?? "";
    const isUnique = last.filter((each) => each === name).length === 1;
    return [isUnique ? name : segmentsOf(uri).join("."), rows];
  });
  return {
    ...collectionsIn(files["workspace:/state.json"]?.text ?? ""),
    ...Object.fromEntries(plain),
  };
}

/** The collections that a text of JSON holds by name; none where it is something else. */
export function collectionsIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const parsed = Collections.safeParse(parseStrictJson(text));
    return parsed.success ? parsed.data : {};
  } catch {
    return {};
  }
}

/** What the deltas of a run say. */
export function changesOf({ deltas }: RunRecord): readonly GivenChange[] {
  return entriesOf(deltas).map(({ uri, change, from, before, now }) => ({
    uri,
    change,
    ...(from === undefined ? {} : { from }),
    ...(before === undefined ? {} : { before: stateGiven(before) }),
    ...(now === undefined ? {} : { after: stateGiven(now) }),
  }));
}

function stateGiven(state: EntryState): GivenFile | GivenRow {
  return state.row === undefined ? fileOf(state) : rowOf(state.row.columns);
}

function fileOf({ content, sizeBytes, sha256 }: EntryState): GivenFile {
  const kept =
    content === undefined || content.truncated
      ? {}
      : content.encoding === "binary"
        ? { base64: content.value }
        : { text: content.value };
  return { ...kept, sizeBytes, ...(sha256 === undefined ? {} : { sha256 }) };
}

function rowOf(columns: readonly Column[]): GivenRow {
  return Object.fromEntries(columns.map((column) => [column.name, cellOf(column)]));
}

const NUMBER =
  /^(smallint|integer|bigint|int[248]?|real|double precision|float[48]?|numeric|decimal)/i;

/** A value that has one exact form in JSON, else its text. */
function cellOf({ type, value }: Column): unknown {
  if (value === null) return null;
  if (/^bool/i.test(type)) return value === "t" || value === "true" || value === "1";
  if (NUMBER.test(type)) return String(Number(value)) === value ? Number(value) : value;
  if (!/^jsonb?$/i.test(type)) return value;
  try {
    return parseStrictJson(value);
  } catch {
    return value;
  }
}
