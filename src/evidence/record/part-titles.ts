export const JSON_TYPE = "application/json";
export const LINES_TYPE = "application/x-ndjson";

/** The titles of the parts that a run has once at most. */
export const TITLES = {
  run: "run.json",
  claims: "claims.json",
  scores: "scores.json",
  grading: "grading.json",
} as const;

/** The parts with one line each: messages and tool calls. */
export const STEMS = { messages: "transcript", calls: "tool-calls" } as const;

const OBSERVATIONS = "observations/";
const CONTENTS = "contents/";
const WORLD = "world/";

/** `observations/ROOT.json`: what was seen, without contents. */
export function observationsTitle(name: string): string {
  return `${OBSERVATIONS}${name}.json`;
}

/** `contents/ROOT.json`: what was retained of a root, with its digests and what it was before. */
export function contentsTitle(name: string): string {
  return `${CONTENTS}${name}.json`;
}

/** `world/ROOT.json`: what was there at the end of the run. */
export function worldTitle(name: string): string {
  return `${WORLD}${name}.json`;
}

/** True of the title of a world. */
export function isWorldTitle(title: string): boolean {
  return title.startsWith(WORLD);
}

/** The part that holds the same rows as this one: it has to be withheld with it. Undefined where there can be none. */
export function twinTitle(title: string): string | undefined {
  if (title.startsWith(CONTENTS)) return `${WORLD}${title.slice(CONTENTS.length)}`;
  return title.startsWith(WORLD) ? `${CONTENTS}${title.slice(WORLD.length)}` : undefined;
}

/** The name in the title of observations, or undefined for another part. */
export function observationsName(title: string): string | undefined {
  return title.startsWith(OBSERVATIONS)
    ? title.slice(OBSERVATIONS.length, -".json".length)
    : undefined;
}
