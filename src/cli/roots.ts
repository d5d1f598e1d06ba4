import { realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { LIMITS, limitsOf, type LimitName, type Limits } from "../core/limits.ts";
import { DEFAULT_ROOT, RootName } from "../core/locator.ts";
import { LocalFileSurfaceSource } from "../sources/local-files/source.ts";
import { usage, type Parsed } from "./options.ts";

/** A root as it was named on the command line. */
export interface NamedRoot {
  readonly name: string;
  readonly directory: string;
}

export type WishedAttribution = "auto" | "exact" | "baseline" | "window";

/** How to look: the limits of a question, and those of a baseline and the delta of a whole root. */
export interface GivenLimits {
  readonly limits: Partial<Limits>;
  readonly baselineLimits: Partial<Limits>;
}

export const ROOT_OPTION = {
  value: "NAME=DIR",
  multiple: true,
  help: "a directory to look at, and its name in uris (default workspace=.)",
};
export const LIMIT_OPTION = {
  value: "[baseline.]NAME=N",
  multiple: true,
  help: "a limit of a question, or with baseline. of the baseline and the whole delta",
};
export const STRICT_OPTION = {
  help: "believe nothing of a file with several names: it may lie outside of the root",
};
export const ATTRIBUTION_OPTION = {
  value: "[NAME=]METHOD",
  multiple: true,
  help: "how to know what this run did: auto, exact (with --isolate), baseline or window",
};

/** The roots of `--root NAME=DIR`. Throws "argument_invalid" on a bad or repeated name, or where there is no directory. */
export function rootsOf(parsed: Parsed): readonly NamedRoot[] {
  const given = parsed.many("root");
  const roots = (given.length === 0 ? [`${DEFAULT_ROOT}=.`] : given).map(rootOf);
  const names = new Set<string>();
  for (const { name } of roots) {
    if (names.has(name)) throw usage(`--root names ${name} twice`);
    names.add(name);
  }
  return roots;
}

function rootOf(text: string): NamedRoot {
  const { name, value } = pairOf("--root", text, "NAME=DIR");
  const parsed = RootName.safeParse(name);
  if (!parsed.success)
    throw usage(`--root ${text}: the name must be 2 to 64 letters, digits, dashes or underscores`);
  return { name, directory: directoryOf(text, value) };
}

function directoryOf(text: string, value: string): string {
  try {
    const directory = realpathSync(resolve(value));
    if (statSync(directory).isDirectory()) return directory;
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown";
    throw usage(`--root ${text}: cannot be opened (${code})`, cause);
  }
  throw usage(`--root ${text}: expected a directory`);
}

/** The limits of `--limit`. Throws "argument_invalid" on an unknown name or a number that cannot be. */
export function givenLimits(parsed: Parsed): GivenLimits {
  const limits: Partial<Record<LimitName, number>> = {};
  const baselineLimits: Partial<Record<LimitName, number>> = {};
  for (const text of parsed.many("limit")) {
    const { name, value } = pairOf("--limit", text, "[baseline.]NAME=N");
    const own = name.startsWith("baseline.");
    const limit = limitName(own ? name.slice("baseline.".length) : name);
    if (!/^\d+$/.test(value)) throw usage(`--limit ${text}: expected a whole number`);
    (own ? baselineLimits : limits)[limit] = Number(value);
  }
  limitsOf(limits);
  limitsOf(baselineLimits);
  return { limits, baselineLimits };
}

function limitName(name: string): LimitName {
  if (Object.hasOwn(LIMITS, name)) return name as LimitName;
  throw usage(`--limit ${name}: no such limit (known: ${Object.keys(LIMITS).join(", ")})`);
}

const METHODS: readonly WishedAttribution[] = ["auto", "exact", "baseline", "window"];

/** The method wished for each root. Throws "argument_invalid" on an unknown method or root. */
export function wishedAttributions(
  parsed: Parsed,
  roots: readonly { readonly name: string }[],
): ReadonlyMap<string, WishedAttribution> {
  const wishes = new Map<string, WishedAttribution>(roots.map(({ name }) => [name, "auto"]));
  for (const text of parsed.many("attribution")) {
    const at = text.indexOf("=");
    const method = METHODS.find((each) => each === text.slice(at + 1));
    if (method === undefined)
      throw usage(`--attribution ${text}: expected one of ${METHODS.join(", ")}`);
    const name = at === -1 ? undefined : text.slice(0, at);
    if (name !== undefined && !wishes.has(name))
      throw usage(`--attribution ${text}: no root has the name ${JSON.stringify(name)}`);
    for (const root of name === undefined ? [...wishes.keys()] : [name]) wishes.set(root, method);
  }
  return wishes;
}

/** "NAME=VALUE" as its two parts. Throws "argument_invalid". */
export function pairOf(
  option: string,
  text: string,
  form: string,
): { readonly name: string; readonly value: string } {
  const at = text.indexOf("=");
  if (at < 1 || at === text.length - 1) throw usage(`${option} ${text}: expected ${form}`);
  return { name: text.slice(0, at), value: text.slice(at + 1) };
}

/** The source of one root, with the given limits. `maxFiles` and its like also bound the delta where they are given twice. */
export function sourceOf(
  { name, directory }: NamedRoot,
  { limits, baselineLimits }: GivenLimits,
  { wish, strict }: { readonly wish: WishedAttribution; readonly strict: boolean },
): LocalFileSurfaceSource {
  return new LocalFileSurfaceSource(
    { name, directory },
    { limits, baselineLimits, attribution: wish === "exact" ? "auto" : wish, strict },
  );
}
