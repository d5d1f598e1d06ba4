/**
 * Characters that a reader does not see, or that turn the direction of text, and the tags in which text can hide from people and
 * not from models.
 */
const UNSEEN =
  /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\p{Variation_Selector}|[\u{e0000}-\u{e00ff}]/gu;

/** Words that open or close a block of data, and the marks of chat templates that are not in angle brackets. */
const MARKERS =
  /(?:\b|(?<=\\[bfnrt]))(?:begin|end|start|close)(?=[\s_:*#-]*(?:of[\s_-]+)?(?:the[\s_-]+)?(?:data|evidence|claims?|gaps?|prompt|system|instructions?|input|context|document)\b)|\[(?=\/?inst\])/giu;

/**
 * Evidence in a line of JSON: no line break of it is one of the prompt's. What could pass for a mark of the prompt or of a chat
 * template, and what cannot be seen, is written as an escape, which JSON reads as the same text.
 */
export function fencedLine(json: string): string {
  return json
    .replaceAll("<", escapeOf)
    .replaceAll(MARKERS, (word) => `${escapeOf(word.charAt(0))}${word.slice(1)}`)
    .replaceAll(UNSEEN, (text) =>
      Array.from({ length: text.length }, (_, at) => escapeOf(text.charAt(at))).join(""),
    );
}

function escapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
