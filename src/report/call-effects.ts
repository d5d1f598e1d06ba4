import type { Change } from "../core/change.ts";
import { segmentsOf } from "../core/locator.ts";
import { argumentsOf, type ToolCall } from "../core/tool-call.ts";

/** A change of the world that a call names: beside each other they show what is only said. */
export interface Effect {
  readonly uri: string;
  readonly change: Change;
}

/** Finds the changes that a call may have made. A hint: no verdict rests on it. */
export interface EffectIndex {
  effectsOf(targets: readonly string[], tool: string): readonly Effect[];
}

const MAX_TARGETS = 10;
const MAX_TARGET_LENGTH = 300;
const MAX_DEPTH = 4;
const MAX_EFFECTS = 20;

/** The names of places among a call's arguments: paths and keys, as they stand there. Other arguments are not told. */
export function targetsOf(call: ToolCall): readonly string[] {
  const given = argumentsOf(call);
  if (given.kind !== "known" || given.value.kind !== "json") return [];
  const found = new Set<string>();
  collect(JSON.parse(given.value.text), "", 0, found);
  return [...found];
}

function collect(value: unknown, key: string, depth: number, found: Set<string>): void {
  if (found.size >= MAX_TARGETS || depth > MAX_DEPTH) return;
  if (typeof value === "string" || typeof value === "number") {
    if (isPlace(String(value)) || isKey(key, String(value))) found.add(String(value));
    return;
  }
  if (typeof value !== "object" || value === null) return;
  for (const [name, each] of Object.entries(value)) collect(each, name, depth + 1, found);
}

/** True for a path, or a name with an ending. */
export function isPlace(text: string): boolean {
  if (text.length > MAX_TARGET_LENGTH || /[\n\r\0]/.test(text)) return false;
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return text.startsWith("file://");
  return /[^/ ]\/|\/[^/ ]/.test(text)
    ? !/\s{2}/.test(text)
    : /^[\w@+-][\w@+. -]*\.\w{1,8}$/.test(text);
}

/** "order_id": "A-7" names a row. */
function isKey(key: string, value: string): boolean {
  return (
    /(?:^|[_-])(?:id|key|number|no)$|[a-z](?:Id|Key|Number)$/.test(key) &&
    /^[\w.:@-]{1,64}$/.test(value)
  );
}

/** An index over the changes of a run. */
export function effectIndex(
  changes: readonly (Effect & { readonly from?: string })[],
): EffectIndex {
  const byName = new Map<string, Effect[]>();
  const rows: Effect[] = [];
  for (const { uri, change, from } of changes)
    for (const place of from === undefined ? [uri] : [uri, from]) {
      const effect = { uri: place, change };
      if (place.includes("?")) rows.push(effect);
      const name = segmentsOf(place).at(-1) ?? "";
      const others = byName.get(name);
      if (others === undefined) byName.set(name, [effect]);
      else others.push(effect);
    }
  return {
    effectsOf(targets, tool) {
      const found = new Map<string, Effect>();
      for (const target of targets) {
        const path = pathOf(target);
        const sameName = byName.get(path.at(-1) ?? "") ?? [];
        for (const effect of sameName)
          if (isSamePlace(segmentsOf(effect.uri), path)) found.set(effect.uri, effect);
        for (const row of rows) if (isRowOf(row.uri, target, tool)) found.set(row.uri, row);
      }
      return [...found.values()].slice(0, MAX_EFFECTS);
    },
  };
}

function pathOf(target: string): readonly string[] {
  return target
    .replace(/^file:\/\//, "")
    .split("/")
    .filter((segment) => segment !== "" && segment !== ".");
}

/** One ends with the other: a call names a place from its own directory, or from the top of the machine. */
function isSamePlace(one: readonly string[], other: readonly string[]): boolean {
  const length = Math.min(one.length, other.length);
  if (length === 0) return false;
  return one.slice(-length).every((segment, index) => segment === other.slice(-length)[index]);
}

/** "shop:/public/orders?id=42" and a call of cancel_order with 42. */
function isRowOf(uri: string, target: string, tool: string): boolean {
  const [place = "", query = ""] = uri.split("?");
  const hasKey = query.split("&").some((pair) => pair.slice(pair.indexOf("=") + 1) === target);
  const table = (segmentsOf(place).at(-1) ?? "").toLowerCase();
  return (
    hasKey &&
    wordsOf(tool).some((word) => word.length > 2 && table.startsWith(word.replace(/s$/, "")))
  );
}

function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
}

const WRITING = new Set(
  "add append apply cancel change copy create delete edit insert mkdir move patch put remove rename replace save set update upload write".split(
    " ",
  ),
);

/** True where a tool's name says that it changes something. */
export function saysItWrites(tool: string): boolean {
  return wordsOf(tool).some((word) => WRITING.has(word));
}
