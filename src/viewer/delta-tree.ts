import type { Change } from "../core/change.ts";
import { contentOfState, type EntryState, type SurfaceEntry } from "../core/entry.ts";
import { segmentsOf } from "../core/locator.ts";
import type { Observation, SurfacePayload } from "../core/observation.ts";
import { byteSize, count, counted } from "../report/bounds.ts";
import { printable } from "../report/printable.ts";
import { element, folded, type Child } from "./element.ts";
import { blockText, inlineText, placeText } from "./evidence-text.ts";
import { paged } from "./paged.ts";
import { rowTables } from "./row-table.ts";
import { textDiff } from "./text-diff.ts";

const WORDS: Readonly<Record<Change, string>> = {
  created: "created",
  modified: "modified",
  deleted: "deleted",
  moved: "moved",
  touched: "touched",
  unknown: "not known",
  unchanged: "unchanged",
};

const MARKS: Readonly<Record<Change, string>> = {
  created: "+",
  modified: "~",
  deleted: "−",
  moved: "→",
  touched: "·",
  unknown: "?",
  unchanged: "=",
};

/** Changes below which a directory is open at first. */
const OPEN_BELOW = 20;

/** What the run changed, a root after the other: files as a tree, rows as tables. */
export function deltaSection(deltas: readonly Observation[]): readonly Child[] {
  if (deltas.length === 0)
    return [element("p", { class: "empty" }, "No delta was observed in this run.")];
  return deltas.flatMap(({ payload }) => (payload.kind === "surface" ? [rootOf(payload)] : []));
}

function rootOf(payload: SurfacePayload): HTMLElement {
  const entries = payload.entries.filter(({ change }) => change !== "unchanged");
  const rows = entries.filter(isRow);
  const places = entries.filter((entry) => !isRow(entry));
  const { attribution, coverage } = payload;
  return element(
    "div",
    { class: "root" },
    element("h3", {}, placeText(payload.scope.uri), " ", summary(entries)),
    element(
      "p",
      { class: "method" },
      `Known by: ${attribution.method}`,
      attribution.reason === undefined ? null : inlineText(` (${attribution.reason})`),
      coverage.unchanged === undefined
        ? null
        : `; ${counted(coverage.unchanged, "location")} unchanged`,
      coverage.total > coverage.shown
        ? `; ${count(coverage.total - coverage.shown)} were not kept`
        : null,
    ),
    entries.length === 0 ? element("p", { class: "empty" }, "Nothing changed.") : null,
    places.length === 0 ? null : treeOf(places),
    ...rowTables(rows),
  );
}

function isRow({ now, before }: SurfaceEntry): boolean {
  return (now ?? before)?.type === "row";
}

function summary(entries: readonly SurfaceEntry[]): HTMLElement {
  const counts = new Map<Change, number>();
  for (const { change } of entries) counts.set(change, (counts.get(change) ?? 0) + 1);
  return element(
    "span",
    { class: "counts" },
    ...[...counts].map(([change, of]) =>
      element("span", { class: `count ${change}` }, `${count(of)} ${WORDS[change]}`),
    ),
  );
}

interface Folder {
  readonly folders: Map<string, Folder>;
  readonly entries: SurfaceEntry[];
}

function treeOf(entries: readonly SurfaceEntry[]): HTMLElement {
  const top: Folder = { folders: new Map(), entries: [] };
  for (const entry of entries) {
    let folder = top;
    for (const name of segmentsOf(entry.uri).slice(0, -1)) {
      const next = folder.folders.get(name) ?? { folders: new Map(), entries: [] };
      folder.folders.set(name, next);
      folder = next;
    }
    folder.entries.push(entry);
  }
  return element("div", { class: "tree" }, ...childrenOf(top));
}

/** Directories first, each by its name; one that holds but another is shown with it in one line. */
function childrenOf(folder: Folder): readonly Child[] {
  const folders = [...folder.folders].toSorted(([left], [right]) => (left < right ? -1 : 1));
  return [
    ...folders.map(([name, inner]) => folderElement(name, inner)),
    folder.entries.length === 0
      ? null
      : paged(folder.entries, "Changes", (page) =>
          element("ul", { class: "entries" }, ...page.map((entry) => entryElement(entry))),
        ),
  ];
}

function folderElement(name: string, folder: Folder): HTMLElement {
  const [only, ...others] = folder.folders;
  if (only !== undefined && others.length === 0 && folder.entries.length === 0)
    return folderElement(`${name}/${only[0]}`, only[1]);
  const changes = countIn(folder);
  return folded(
    [
      element("bdi", { class: "place" }, `${printable(name)}/`),
      element("span", { class: "count" }, counted(changes, "change")),
    ],
    () => childrenOf(folder),
    { open: changes < OPEN_BELOW },
  );
}

function countIn({ folders, entries }: Folder): number {
  return [...folders.values()].reduce((sum, each) => sum + countIn(each), entries.length);
}

function entryElement(entry: SurfaceEntry): HTMLElement {
  const name = segmentsOf(entry.uri).at(-1) ?? entry.uri;
  return element(
    "li",
    { class: `entry ${entry.change}` },
    folded(
      [
        element("span", { class: "mark", "aria-hidden": "true" }, MARKS[entry.change]),
        element("bdi", { class: "place" }, printable(name)),
        element("span", { class: "word" }, WORDS[entry.change]),
        entry.from === undefined ? null : element("span", {}, " from ", placeText(entry.from)),
        element("span", { class: "size" }, sizeText(entry)),
      ],
      () => detailOf(entry),
    ),
  );
}

function sizeText({ before, now }: SurfaceEntry): string {
  const state = now ?? before;
  if (state === undefined || state.type !== "file") return state?.type.replaceAll("_", " ") ?? "";
  const is = byteSize(state.sizeBytes);
  const isOther = before !== undefined && now !== undefined && before.sizeBytes !== now.sizeBytes;
  return isOther ? `${byteSize(before.sizeBytes)} → ${is}` : is;
}

function detailOf(entry: SurfaceEntry): readonly Child[] {
  const { before, now, reasons } = entry;
  return [
    element("p", {}, placeText(entry.uri)),
    reasons === undefined
      ? null
      : element("p", {}, `Why the change is not known: ${reasons.join(", ")}`),
    ...contentsOf(before, now),
    stateTable(before, now),
  ];
}

/** A difference where both texts are whole, else what was kept. */
function contentsOf(before: EntryState | undefined, now: EntryState | undefined): readonly Child[] {
  const [old, text] = [wholeText(before), wholeText(now)];
  if (old !== undefined && text !== undefined && old !== text) return [textDiff(old, text)];
  const state = now ?? before;
  return state === undefined ? [] : [keptContent(state)];
}

function wholeText(state: EntryState | undefined): string | undefined {
  const content = state?.content;
  if (content === undefined || content.truncated || content.encoding === "binary") return undefined;
  return content.value;
}

function keptContent(state: EntryState): Child {
  const content = contentOfState(state);
  if (content === undefined) return null;
  if (content.encoding === "binary")
    return element("p", {}, `${byteSize(content.bytes.length)} of binary content were kept.`);
  return element(
    "div",
    {},
    blockText(content.text),
    content.whole ? null : element("p", { class: "cut" }, "Only the beginning was kept."),
  );
}

/** What is known of a location besides its content: before beside after, what differs marked. */
function stateTable(before: EntryState | undefined, now: EntryState | undefined): HTMLElement {
  const [old, after] = [factsOf(before), factsOf(now)];
  const names = [...new Set([...old.keys(), ...after.keys()])];
  return element(
    "table",
    { class: "state" },
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        ...["State", "Before", "After"].map((name) => element("th", { scope: "col" }, name)),
      ),
    ),
    element(
      "tbody",
      {},
      ...names.map((name) => {
        const [was, is] = [old.get(name), after.get(name)];
        const differs = was !== undefined && is !== undefined && was !== is;
        return element(
          "tr",
          {},
          element("th", { scope: "row" }, name),
          element("td", {}, differs ? element("del", {}, cell(was)) : cell(was)),
          element("td", {}, differs ? element("ins", {}, cell(is)) : cell(is)),
        );
      }),
    ),
  );
}

function cell(value: string | undefined): Child {
  return value === undefined ? "" : element("bdi", {}, value);
}

function factsOf(state: EntryState | undefined): ReadonlyMap<string, string> {
  if (state === undefined) return new Map();
  const { type, sizeBytes, mode, linkTarget, modifiedAt, sha256, unread } = state;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["type", type.replaceAll("_", " ")],
    ["size", `${count(sizeBytes)} B`],
    ["mode", mode === undefined ? undefined : (mode & 0o7777).toString(8)],
    ["leads to", linkTarget === undefined ? undefined : printable(linkTarget)],
    ["modified at", modifiedAt],
    ["digest", sha256],
    ["not read", unread === undefined ? undefined : `${unread.code} ${unread.detail ?? ""}`],
  ];
  return new Map(rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
