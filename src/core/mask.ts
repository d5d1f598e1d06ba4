/**
 * What stands in place of a removed secret: the rule that found it, and a name for it that only the run's secret gives, so
 * that one secret has one name within a run and none between runs. "<redacted:dsn:3f2a9c1b2d3e>"
 */
const MASK = "<redacted:[A-Za-z0-9_.-]{1,64}:[0-9a-f]{12}>";
const ANY_MASK = new RegExp(MASK);

/** The mask of a secret. `rule` has letters, digits, dots, dashes and underscores; `name` 12 hex digits. */
export function maskOf(rule: string, name: string): string {
  return `<redacted:${rule}:${name}>`;
}

/** Every mask in a text. */
export function masksIn(text: string): readonly string[] {
  return text.match(new RegExp(MASK, "g")) ?? [];
}

/** True where a mask, or what reads like one, stands in a text. */
export function holdsMask(text: string): boolean {
  return text.includes("<redacted:") && ANY_MASK.test(text);
}

/** What is known of a masked text: the texts between its masks. */
export function knownSpans(text: string): readonly string[] {
  return text.split(new RegExp(MASK));
}

/** Every printable ASCII character: what a name could hold where it is masked, and what a pattern could exclude. */
const CHARACTERS = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index));

/**
 * Texts in place of a masked one, as different from each other as names can be: a pattern that matches all of them does not
 * depend on what was removed.
 */
export function maskVariants(text: string): readonly string[] {
  if (!holdsMask(text)) return [text];
  const mask = new RegExp(MASK, "g");
  return [text, ...CHARACTERS.flatMap((char) => [char, `${char}${char}`])].map((filling, index) =>
    index === 0 ? filling : text.replace(mask, () => filling),
  );
}
