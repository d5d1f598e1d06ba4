import { z } from "zod";
import { ExpectationFile } from "../core/expectation.ts";
import { Observation } from "../core/observation.ts";
import { Score } from "../core/score.ts";
import { RunPart } from "../evidence/record/run-record.ts";
import { World } from "../evidence/world/world.ts";

/** The names and fixed values of which the evidence is made: a secret that is one of them could not be removed from it. */
export function formatWords(): ReadonlySet<string> {
  const words = new Set<string>();
  for (const schema of [Observation, Score, RunPart, ExpectationFile, World])
    collect(z.toJSONSchema(schema, { unrepresentable: "any", io: "input" }), words);
  return words;
}

function collect(schema: unknown, words: Set<string>): void {
  if (Array.isArray(schema)) {
    for (const each of schema) collect(each, words);
    return;
  }
  if (typeof schema !== "object" || schema === null) return;
  for (const [key, value] of Object.entries(schema)) {
    for (const word of wordsUnder(key, value)) words.add(word);
    collect(value, words);
  }
}

function wordsUnder(key: string, value: unknown): readonly string[] {
  if (key === "properties") return Object.keys(Object(value));
  if (key !== "const" && key !== "enum") return [];
  return [value].flat().filter((each) => typeof each === "string");
}
