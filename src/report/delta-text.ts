import type { EntryState, SurfaceEntry } from "../core/entry.ts";
import type { Change } from "../core/change.ts";
import { segmentsOf } from "../core/locator.ts";
import { noiseOf, type NoiseName } from "../core/noise.ts";
import type { Observation } from "../core/observation.ts";
import { byteSize, count, counted, cut } from "./bounds.ts";
import { foldTree, type FoldedLine } from "./fold-tree.ts";
import { lineDiff } from "./line-diff.ts";
import { printable } from "./printable.ts";
import { rowChangeText, rowText } from "./row-text.ts";
import type { Paint } from "./paint.ts";

/** Lines of a delta shown per root. */
export const MAX_DELTA_LINES = 20;
const NAME_WIDTH = 72;

const MARKS: Readonly<Record<Change, string>> = {
  created: "+",
  modified: "~",
  deleted: "-",
  moved: ">",
  touched: ".",
  unknown: "?",
  unchanged: "=",
};

const ORDER: readonly Change[] = ["created", "modified", "deleted", "moved", "touched", "unknown"];

interface PlacedEntry {
  readonly segments: readonly string[];
  readonly entry: SurfaceEntry;
  readonly noise: NoiseName | undefined;
}

const isNoise = ({ noise }: PlacedEntry): boolean => noise !== undefined;

/** The delta of one root: a line of counts, then at most `MAX_DELTA_LINES` lines, large groups and noise folded. */
export function deltaText(observation: Observation, paint: Paint): readonly string[] {
  const { payload } = observation;
  if (payload.kind !== "surface") return [];
  const root = payload.scope.uri.slice(0, payload.scope.uri.indexOf(":"));
  const entries = payload.entries.filter((entry) => entry.change !== "unchanged");
  const shown = worthALine(entries);
  const method = payload.attribution.method;
  const head = `  changed    ${summary(entries)}   ${root}:/  (${method})`;
  const noise = noiseOf(root);
  const placed = shown.map((entry) => ({
    segments: segmentsOf(entry.uri),
    entry,
    noise: noise(entry.uri),
  }));
  const { lines, left } = foldTree(placed, MAX_DELTA_LINES, isNoise);
  const width = Math.min(NAME_WIDTH, Math.max(0, ...lines.map((line) => nameOf(line).length)));
  return [
    head,
    ...lines.map((line) => lineText(line, width, paint)),
    ...(left.length === 0 ? [] : [`               and ${count(left.length)} more`]),
    ...hiddenText(payload.coverage.total - payload.coverage.shown),
    ...reasonText(payload.attribution.reason),
  ];
}

function hiddenText(hidden: number): readonly string[] {
  return hidden <= 0
    ? []
    : [`               and ${count(hidden)} that were not kept (see not seen)`];
}

function reasonText(reason: string | undefined): readonly string[] {
  return reason === undefined ? [] : [`             attribution: ${printable(reason)}`];
}

/** Directories whose files are shown tell nothing more; those left empty or touched on purpose do. */
function worthALine(entries: readonly SurfaceEntry[]): readonly SurfaceEntry[] {
  const parents = new Set(
    entries
      .filter((entry) => typeOf(entry) !== "directory")
      .flatMap((entry) => [entry.uri, ...(entry.from === undefined ? [] : [entry.from])])
      .flatMap(ancestorsOf),
  );
  const worth = entries.filter((entry) => typeOf(entry) !== "directory" || !parents.has(entry.uri));
  return worth;
}

function ancestorsOf(uri: string): readonly string[] {
  const ancestors: string[] = [];
  for (let at = uri.lastIndexOf("/"); at > uri.indexOf(":") + 1; at = uri.lastIndexOf("/", at - 1))
    ancestors.push(uri.slice(0, at));
  return ancestors;
}

function typeOf(entry: SurfaceEntry): EntryState["type"] | undefined {
  return (entry.now ?? entry.before)?.type;
}

function summary(entries: readonly SurfaceEntry[]): string {
  if (entries.length === 0) return "nothing";
  return ORDER.flatMap((change) => {
    const of = entries.filter((entry) => entry.change === change);
    if (of.length === 0) return [];
    const words = NOUNS.flatMap(([one, many, isOne]) => {
      const found = of.filter((entry) => isOne(typeOf(entry))).length;
      return found === 0 ? [] : [counted(found, one, many)];
    });
    return [`${MARKS[change]} ${words.join(" and ")}${wordOf(change)}`];
  }).join("   ");
}

/** What is counted apart, and what a type counts as. */
const NOUNS: readonly (readonly [string, string, (type: string | undefined) => boolean])[] = [
  ["file", "files", (type) => type !== "directory" && type !== "row" && type !== "table"],
  ["directory", "directories", (type) => type === "directory"],
  ["table", "tables", (type) => type === "table"],
  ["row", "rows", (type) => type === "row"],
];

/** The rarer marks are said in words too. */
function wordOf(change: Change): string {
  if (change === "moved" || change === "touched") return ` ${change}`;
  return change === "unknown" ? " not known" : "";
}

function nameOf(line: FoldedLine<PlacedEntry>): string {
  if (line.kind === "folder") return `/${printable(line.segments.join("/"))}/`;
  const { entry } = line.item;
  const path = pathText(entry.uri) + (typeOf(entry) === "directory" ? "/" : "");
  return entry.from === undefined ? path : `${pathText(entry.from)} -> ${path}`;
}

function pathText(uri: string): string {
  return printable(uri.slice(uri.indexOf(":") + 1));
}

function lineText(line: FoldedLine<PlacedEntry>, width: number, paint: Paint): string {
  const name = cut(nameOf(line), NAME_WIDTH).padEnd(width);
  if (line.kind === "folder") {
    const text = summary(line.items.map(({ entry }) => entry));
    return `               ${paint.faint("*")} ${name}   ${text}${noiseText(line.items)}`;
  }
  const { entry } = line.item;
  const mark = paint.change(entry.change, MARKS[entry.change]);
  return `               ${mark} ${name}   ${detailOf(entry)}`.trimEnd();
}

/** By which names `@noise` would let a folder pass, where it would. */
function noiseText(items: readonly PlacedEntry[]): string {
  const names = new Set(items.map(({ noise }) => noise));
  if (names.has(undefined)) return "";
  return `   (@noise: ${[...names].join(", ")})`;
}

function detailOf(entry: SurfaceEntry): string {
  switch (entry.change) {
    case "created":
      return stateText(entry.now);
    case "modified":
      return modifiedText(entry);
    case "touched":
      return touchedText(entry);
    case "deleted":
      return wasText(entry);
    case "moved":
      return stateText(entry.now);
    case "unknown":
      return `not known: ${(entry.reasons ?? []).join(", ")}`;
    case "unchanged":
      return "";
  }
}

function wasText({ before }: SurfaceEntry): string {
  return before === undefined ? "" : `was ${stateText(before)}`;
}

function stateText(state: EntryState | undefined): string {
  if (state === undefined) return "";
  if (state.linkTarget !== undefined) return `link to ${printable(cut(state.linkTarget, 60))}`;
  if (state.row !== undefined) return rowText(state.row);
  if (state.type !== "file") return state.type.replaceAll("_", " ");
  const kind = state.content === undefined ? "" : kindOf(state.content.encoding);
  return `${byteSize(state.sizeBytes)}${kind}`;
}

function kindOf(encoding: string): string {
  return encoding === "binary" ? "   binary" : "   text";
}

function rowOrTableText({ before, now }: SurfaceEntry): string | undefined {
  if (now?.row !== undefined) return rowChangeText(before?.row, now.row);
  return now?.type === "table" ? "definition changed" : undefined;
}

function modifiedText(entry: SurfaceEntry): string {
  return rowOrTableText(entry) ?? fileText(entry);
}

function fileText({ before, now }: SurfaceEntry): string {
  const diff = textDiff(before, now);
  if (diff !== undefined) return diff;
  if (before !== undefined && now !== undefined && before.type !== now.type)
    return `${before.type} -> ${stateText(now)}`;
  if (now?.linkTarget !== undefined) return stateText(now);
  const old = before === undefined ? "" : `${byteSize(before.sizeBytes)} -> `;
  return `${old}${stateText(now)}`;
}

function textDiff(before: EntryState | undefined, now: EntryState | undefined): string | undefined {
  const old = wholeText(before);
  const text = wholeText(now);
  const diff = old === undefined || text === undefined ? undefined : lineDiff(old, text);
  if (diff === undefined) return undefined;
  // The last line's ending alone differs.
  if (diff.added + diff.removed === 0) return "line endings";
  return `+${count(diff.added)} -${count(diff.removed)} lines`;
}

function wholeText(state: EntryState | undefined): string | undefined {
  const content = state?.content;
  if (content === undefined || content.truncated || content.encoding === "binary") return undefined;
  return content.value;
}

function touchedText({ before, now }: SurfaceEntry): string {
  if (now?.row !== undefined) return "rewritten with equal values";
  if (before === undefined || now === undefined) return "metadata only";
  const modes = [before.mode, now.mode].filter((mode) => mode !== undefined).map(octal);
  if (modes.length === 2 && modes[0] !== modes[1]) return `mode ${modes.join(" -> ")}`;
  return ownerOf(before) === ownerOf(now) ? "times only" : "owner changed";
}

function ownerOf({ owner }: EntryState): string {
  return owner === undefined ? "" : `${owner.uid}:${owner.gid}`;
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(3, "0");
}
