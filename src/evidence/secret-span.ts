/** A secret in a text: where it starts and ends, and the rule that found it. */
export interface SecretSpan {
  readonly start: number;
  readonly end: number;
  readonly rule: string;
}

/** Every match of a pattern, or of one of its groups; `rule` names it. The pattern needs the flags "g" and "d". */
export function spansOf(
  text: string,
  pattern: RegExp,
  { rule, group = 0 }: { readonly rule: string; readonly group?: number },
): readonly SecretSpan[] {
  return [...text.matchAll(pattern)].flatMap(({ indices }) => {
    const [start, end] = indices?.[group] ?? [0, 0];
    return end > start ? [{ start, end, rule }] : [];
  });
}

/** In order, with those that overlap or touch made one. The first gives the rule. */
export function mergedSpans(spans: readonly SecretSpan[]): readonly SecretSpan[] {
  const merged: SecretSpan[] = [];
  for (const span of spans.toSorted(
    (left, right) => left.start - right.start || right.end - left.end,
  )) {
    const last = merged.at(-1);
    if (last === undefined || span.start > last.end) merged.push(span);
    else if (span.end > last.end) merged[merged.length - 1] = { ...last, end: span.end };
  }
  return merged;
}
