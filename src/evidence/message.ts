/** Characters of a reason or a failure message that a receipt carries. */
export const MAX_MESSAGE_CHARACTERS = 2_000;

/**
 * A message of at most `MAX_MESSAGE_CHARACTERS` characters. One that is cut ends in a mark that counts what is gone.
 * Redact before: a secret that is cut in half is one no longer.
 */
export function boundedMessage(text: string): string {
  // Fewer code units are never more characters.
  if (text.length <= MAX_MESSAGE_CHARACTERS) return text;
  const characters = Array.from(text);
  if (characters.length <= MAX_MESSAGE_CHARACTERS) return text;
  const kept = MAX_MESSAGE_CHARACTERS - markOf(characters.length).length;
  return `${characters.slice(0, kept).join("")}${markOf(characters.length - kept)}`;
}

function markOf(characters: number): string {
  return `... [cut: ${characters} more characters]`;
}
