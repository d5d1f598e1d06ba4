import { canonicalJson } from "../core/canonical-json.ts";
import { nonEmpty } from "../core/gap.ts";
import { masksIn } from "../core/mask.ts";
import type { PartContent } from "./salt.ts";
import type { PartInput } from "./seal.ts";
import type { PartRedaction } from "./statement.ts";

/** Says of each part how often each rule removed something that would stand in it. `made` has the masks with their rules. */
export function withRedactions(
  parts: readonly PartInput[],
  made: ReadonlyMap<string, string>,
): readonly PartInput[] {
  return made.size === 0 ? parts : parts.map((part) => withCounts(part, made));
}

function withCounts(part: PartInput, made: ReadonlyMap<string, string>): PartInput {
  if (part.state !== "present") return part;
  const redactions = nonEmpty(countsOf(masksIn(textOf(part.content)), made));
  return redactions === undefined ? part : { ...part, state: "redacted", redactions };
}

function countsOf(
  masks: readonly string[],
  made: ReadonlyMap<string, string>,
): readonly PartRedaction[] {
  const counts = new Map<string, number>();
  for (const mask of masks) {
    const rule = made.get(mask);
    if (rule !== undefined) counts.set(rule, (counts.get(rule) ?? 0) + 1);
  }
  return [...counts]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([rule, count]) => ({ rule, count }));
}

function textOf(content: PartContent): string {
  if ("json" in content) return canonicalJson(content.json);
  if ("lines" in content) return content.lines.map(canonicalJson).join("\n");
  return new TextDecoder().decode(content.bytes);
}
