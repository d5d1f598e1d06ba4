import type { z } from "zod";

/** Where a value is not of its form, a line each. A union tells of the member that the value is closest to. */
export function issuesOf(error: z.ZodError, limit: number = 20): string {
  const lines = error.issues.flatMap((issue) => linesOf(issue, []));
  const shown = lines.slice(0, limit).join("\n");
  return lines.length > limit ? `${shown}\nand ${lines.length - limit} more` : shown;
}

function linesOf(issue: z.core.$ZodIssue, above: readonly PropertyKey[]): readonly string[] {
  const path = [...above, ...issue.path];
  if (issue.code === "invalid_union" && issue.errors.length > 0) {
    const closest = issue.errors.toSorted((left, right) => depth(right) - depth(left))[0] ?? [];
    return closest.flatMap((inner) => linesOf(inner, path));
  }
  return [`${path.length === 0 ? "the document" : path.map(String).join(".")}: ${issue.message}`];
}

/** How far into the value a member of a union got: fewer complaints about unknown keys and tags come first. */
function depth(issues: readonly z.core.$ZodIssue[]): number {
  return issues.reduce(
    (sum, issue) => sum + issue.path.length - (issue.code === "unrecognized_keys" ? 2 : 1),
    0,
  );
}
