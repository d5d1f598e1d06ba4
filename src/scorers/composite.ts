import type { Composite } from "../core/condition.ts";
import type { Decision } from "../core/scorer.ts";
import { all, any, majority, not, type Verdict } from "../core/verdict.ts";

/** Joins the decisions of a composite's parts, in their order. It never changes what a part came to. */
export function joinDecisions(kind: Composite["kind"], parts: readonly Decision[]): Decision {
  const verdict = join(
    kind,
    parts.map((part) => part.verdict),
  );
  const told = parts.map(
    (part, index) =>
      `${index + 1}. ${part.verdict.value}: ${part.rationale.replaceAll("\n", "\n   ")}`,
  );
  const values = parts.map((part) => part.verdict.value).join(", ");
  return { verdict, rationale: [`${kind} of ${parts.length}: ${values}`, ...told].join("\n") };
}

function join(kind: Composite["kind"], verdicts: readonly Verdict[]): Verdict {
  switch (kind) {
    case "all":
      return all(verdicts);
    case "any":
      return any(verdicts);
    case "majority":
      return majority(verdicts);
    case "not": {
      const [only] = verdicts;
      return only === undefined ? all([]) : not(only);
    }
  }
}
