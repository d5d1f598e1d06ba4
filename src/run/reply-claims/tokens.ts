import { classifyPath } from "./path.ts";

/** A piece of one line of a reply. `certain` is false for what may be a path, such as `utils` in backticks. */
export type ReplyToken =
  | { readonly kind: "word"; readonly text: string }
  | { readonly kind: "mark"; readonly text: string }
  | { readonly kind: "path"; readonly path: string; readonly certain: boolean };

/** How long a quoted piece may be. */
const MAX_SPAN = 300;
const CLOSERS: Readonly<Record<string, string>> = {
  "`": "`",
  '"': '"',
  "'": "'",
  "\u201C": "\u201D",
  "\u2018": "\u2019",
  "\u00AB": "\u00BB",
};
const LEADING = /^[([{*_~|>]+/;
const TRAILING = /[\])}*_~|>.,;:!?…'"\u201D\u2019]+$/;
const MARKS = /[.,;:!?()&\u2013\u2014]/g;

/** Splits one line into words in lower case, punctuation and paths. One pass; nothing is looked at more than a fixed number of times. */
export function tokensOf(line: string): readonly ReplyToken[] {
  const tokens: ReplyToken[] = [];
  let at = 0;
  while (at < line.length) {
    const char = line[at] ?? "";
    if (/\s/.test(char)) {
      at += 1;
      continue;
    }
    const span = spanAt(line, at);
    if (span !== undefined) {
      tokens.push(...span.tokens);
      at = span.end;
      continue;
    }
    const end = endOfChunk(line, at);
    tokens.push(...chunkTokens(line.slice(at, end)));
    at = end;
  }
  return tokens;
}

interface Span {
  readonly tokens: readonly ReplyToken[];
  readonly end: number;
}

function spanAt(line: string, at: number): Span | undefined {
  return line[at] === "[" ? linkAt(line, at) : quoteAt(line, at);
}

/** A quoted piece that is a path; one that is not is read as plain words. */
function quoteAt(line: string, at: number): Span | undefined {
  const open = line[at] ?? "";
  const close = CLOSERS[open];
  if (close === undefined) return undefined;
  const inside = line.slice(at + 1, at + 1 + MAX_SPAN);
  const length = inside.indexOf(close);
  const quoted = inside.slice(0, Math.max(0, length));
  const found = classifyPath(quoted, open === "`" ? "code" : "quote");
  if (length >= 0 && found !== undefined)
    return { tokens: [{ kind: "path", ...found }], end: at + length + 2 };
  // Code that is no path is one thing, not words: `git commit` claims nothing.
  if (length >= 0 && open === "`")
    return { tokens: [{ kind: "word", text: "`code`" }], end: at + length + 2 };
  return { tokens: [], end: at + 1 };
}

/** A Markdown link: the path is its text, or else its target. */
function linkAt(line: string, at: number): Span | undefined {
  const inside = line.slice(at + 1, at + 1 + MAX_SPAN);
  const middle = inside.indexOf("](");
  if (middle < 0) return undefined;
  const end = inside.indexOf(")", middle);
  if (end < 0) return undefined;
  const text = inside.slice(0, middle).replaceAll("`", "");
  const target = inside.slice(middle + 2, end);
  const external = target.includes("://") || target.startsWith("mailto:");
  const found = external
    ? undefined
    : (classifyPath(text, "quote") ?? classifyPath(target, "quote"));
  const tokens: readonly ReplyToken[] =
    found === undefined ? [{ kind: "word", text: "link" }] : [{ kind: "path", ...found }];
  return { tokens, end: at + 1 + end + 1 };
}

function endOfChunk(line: string, at: number): number {
  let end = at + 1;
  while (end < line.length && !/[\s`"\u201C]/.test(line[end] ?? "")) end += 1;
  return end;
}

function chunkTokens(chunk: string): readonly ReplyToken[] {
  if (chunk.length > MAX_SPAN) return [{ kind: "word", text: "…" }];
  const lead = LEADING.exec(chunk)?.[0] ?? "";
  const rest = chunk.slice(lead.length);
  const tail = TRAILING.exec(rest)?.[0] ?? "";
  const core = rest.slice(0, rest.length - tail.length);
  return [...marksOf(lead), ...(core === "" ? [] : coreTokens(core)), ...marksOf(tail)];
}

function coreTokens(core: string): readonly ReplyToken[] {
  const found = classifyPath(core, "bare");
  if (found !== undefined) return [{ kind: "path", ...found }];
  if (/^[-\u2013\u2014]+>?$|^[\u2192=]+>?$/.test(core)) return [{ kind: "mark", text: "-" }];
  const word = core.toLowerCase().replaceAll("\u2019", "'");
  // Check marks, arrows and other signs are no words.
  return /[\p{L}\p{N}]/u.test(word) ? [{ kind: "word", text: word }] : [];
}

function marksOf(text: string): readonly ReplyToken[] {
  return (text.match(MARKS) ?? []).map((mark) => ({
    kind: "mark",
    text: /[\u2013\u2014]/.test(mark) ? "-" : mark,
  }));
}
