import { UpheldError } from "./errors.ts";
import { parseLocator, rootOf, segmentsOf } from "./locator.ts";
import { literalName, parseNamePattern } from "./name-pattern.ts";

/** How many alternatives the braces of one pattern may expand to. */
export const MAX_ALTERNATIVES = 256;

type Segment =
  | { readonly kind: "any_depth" }
  | { readonly kind: "name"; readonly matches: (name: string) => boolean };

/** Where a walk stands in a pattern: for each alternative, the segments that may come next. */
export type Progress = readonly (readonly number[])[];

/**
 * A pattern over locations, read segment by segment, so that a walk knows where it cannot lead.
 * `*`, `?`, `[...]`, `{a,b}`; `**` is any number of directories, and at the end every location beneath.
 * Dotfiles match; names are compared as stored and under NFC; upper and lower case differ.
 */
export interface Glob {
  readonly text: string;
  readonly root: string;
  /** Where a walk starts: at the root. */
  readonly start: Progress;
  /** Where it stands one name deeper. */
  step(progress: Progress, name: string): Progress;
  /** Where it stands after these names, from the root on. */
  reach(names: readonly string[]): Progress;
  /** True where the location reached so is one of the pattern's. */
  accepts(progress: Progress): boolean;
  /** True where something beneath could still be one. */
  leadsOn(progress: Progress): boolean;
  /** True where everything beneath, at any depth, is one. */
  coversBeneath(progress: Progress): boolean;
  /** True for the uri of a location that is one of the pattern's. */
  matches(uri: string): boolean;
}

/** Reads a pattern such as `workspace:/data/**`. Throws "glob_invalid" or "locator_invalid". */
export function parseGlob(text: string): Glob {
  const locator = parseLocator(text);
  const alternatives = expandBraces(locator.segments.join("/")).map(compileAlternative);
  return globOf(locator.root, locator.text, alternatives);
}

/** The pattern that matches one location literally, whatever characters its name holds. */
export function exactGlob(text: string): Glob {
  const locator = parseLocator(text);
  return globOf(locator.root, locator.text, [locator.segments.map(literalSegment)]);
}

/**
 * Whether a pattern could name a part of a place, such as `shop:/public/orders?id=1` of `shop:/public/orders`. Errs towards
 * yes: it compares what the pattern spells out.
 */
export function mayNameParts(glob: Glob, place: readonly string[]): boolean {
  const spelled = segmentsOf(glob.text)[place.length - 1];
  const last = place.at(-1)?.normalize("NFC");
  if (spelled === undefined || last === undefined || glob.text.includes("{")) return true;
  const [prefix = ""] = /^[^*?[]*/.exec(spelled.normalize("NFC")) ?? [];
  return last.startsWith(prefix);
}

function globOf(root: string, text: string, alternatives: readonly (readonly Segment[])[]): Glob {
  const start = alternatives.map((segments) => closure(segments, [0]));
  const glob: Glob = {
    text,
    root,
    start,
    step: (progress, name) =>
      alternatives.map((segments, index) => advance(segments, progress[index] ?? [], name)),
    reach: (names) => names.reduce<Progress>((at, name) => glob.step(at, name), start),
    accepts: (progress) =>
      alternatives.some((segments, index) => accepted(segments, progress[index] ?? [])),
    leadsOn: (progress) =>
      alternatives.some((segments, index) =>
        (progress[index] ?? []).some((at) => at < segments.length),
      ),
    coversBeneath: (progress) =>
      alternatives.some((segments, index) =>
        (progress[index] ?? []).some(
          (at) => at === segments.length - 1 && segments[at]?.kind === "any_depth",
        ),
      ),
    matches: (uri) => {
      if (rootOf(uri) !== root) return false;
      let progress: Progress = start;
      for (const name of segmentsOf(uri)) {
        if (glob.coversBeneath(progress)) return true;
        progress = glob.step(progress, name);
      }
      return glob.accepts(progress);
    },
  };
  return glob;
}

/** `**` may stand for no directory at all: the segment after it is open too, unless it is the last. */
function closure(segments: readonly Segment[], positions: readonly number[]): readonly number[] {
  const open = new Set<number>();
  for (let at of positions) {
    open.add(at);
    while (segments[at]?.kind === "any_depth" && at + 1 < segments.length) {
      at += 1;
      open.add(at);
    }
  }
  return [...open];
}

function advance(
  segments: readonly Segment[],
  positions: readonly number[],
  name: string,
): readonly number[] {
  if (positions.length === 0) return positions;
  const next: number[] = [];
  for (const at of positions) {
    const segment = segments[at];
    if (segment === undefined) continue;
    if (segment.kind === "any_depth") {
      next.push(at);
      if (at === segments.length - 1) next.push(at + 1);
    } else if (segment.matches(name)) next.push(at + 1);
  }
  return closure(segments, next);
}

function accepted(segments: readonly Segment[], positions: readonly number[]): boolean {
  return positions.includes(segments.length);
}

function compileAlternative(pattern: string): readonly Segment[] {
  const segments = pattern.split("/").filter((segment) => segment !== "");
  if (segments.length === 0)
    throw new UpheldError("glob_invalid", `pattern ${JSON.stringify(pattern)} names nothing`);
  return segments.map(compileSegment);
}

function compileSegment(segment: string): Segment {
  if (segment === "**") return { kind: "any_depth" };
  return { kind: "name", matches: parseNamePattern(segment) };
}

function literalSegment(segment: string): Segment {
  return { kind: "name", matches: literalName(segment) };
}

/** Writes `{a,b}` out into its alternatives, innermost last; a brace without a comma stands for itself. */
export function expandBraces(pattern: string): readonly string[] {
  const done: string[] = [];
  const open = [pattern];
  while (open.length > 0) {
    const current = open.pop() ?? "";
    const group = findGroup(current);
    if (group === undefined) done.push(current);
    else
      for (const option of group.options.toReversed())
        open.push(`${current.slice(0, group.from)}${option}${current.slice(group.to)}`);
    if (done.length + open.length > MAX_ALTERNATIVES)
      throw new UpheldError(
        "glob_invalid",
        `the braces of ${JSON.stringify(pattern)} expand to more than ${MAX_ALTERNATIVES} alternatives`,
      );
  }
  return done;
}

interface Group {
  readonly from: number;
  readonly to: number;
  readonly options: readonly string[];
}

function findGroup(pattern: string): Group | undefined {
  for (let from = pattern.indexOf("{"); from !== -1; from = pattern.indexOf("{", from + 1)) {
    const group = readGroup(pattern, from);
    if (group !== undefined && group.options.length > 1) return group;
  }
  return undefined;
}

function readGroup(pattern: string, from: number): Group | undefined {
  let depth = 0;
  let start = from + 1;
  const options: string[] = [];
  for (let at = from; at < pattern.length; at += 1) {
    const char = pattern[at];
    if (char === "{") depth += 1;
    else if (char === "," && depth === 1) {
      options.push(pattern.slice(start, at));
      start = at + 1;
    } else if (char === "}") {
      depth -= 1;
      if (depth === 0) return { from, to: at + 1, options: [...options, pattern.slice(start, at)] };
    }
  }
  return undefined;
}
