import type { SecretSpan } from "./secret-span.ts";

const EDGE = /-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;

/** What a key without its end is made of: lines of base64, also with their ends escaped. */
const BODY = /(?:\\{1,15}[nrt]|[\s\\]){0,8}(?:[\w+/=]{16,}(?:\\{1,15}[nrt]|[\s\\]){0,8})+/y;

/** Private keys in PEM, also one whose end was cut off. */
export function privateKeys(text: string): readonly SecretSpan[] {
  if (!text.includes("PRIVATE KEY")) return [];
  const edges = [...text.matchAll(EDGE)].map(({ 0: edge, 1: kind, index }) => ({
    kind,
    start: index,
    end: index + edge.length,
  }));
  return edges.flatMap(({ kind, start, end }, index) => {
    if (kind === "END") return [];
    const next = edges[index + 1];
    const last = next?.kind === "END" ? next.end : endOfBody(text, end);
    return last === end ? [] : [{ start, end: last, rule: "private-key" }];
  });
}

function endOfBody(text: string, from: number): number {
  BODY.lastIndex = from;
  return BODY.test(text) ? BODY.lastIndex : from;
}
